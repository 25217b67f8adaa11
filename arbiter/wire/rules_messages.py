"""The answers about rules as messages. The workers for rules load this module, which needs little else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from arbiter_protos.v1 import game_pb2 as pb

from arbiter.service.ports.rules import ListedMove, Listing, PlayedLine

PART_BYTES: Final = 131_072  #: after which a part of a line is full


def move_messages(moves: Sequence[ListedMove]) -> list[pb.LegalMove]:
    """Return legal moves."""
    return [
        pb.LegalMove(text=move.text, steps=map(_step_message, move.steps))
        if move.steps
        else pb.LegalMove(text=move.text)  # a field that is given, if only as empty, takes as long as all the rest
        for move in moves
    ]


def _step_message(step: tuple[str, str, str, str, int]) -> pb.Step:
    action, source, target, piece, facing = step
    return pb.Step(action=action, source=source, target=target, piece=piece, facing=None if facing < 0 else facing)


def list_messages(listing: Listing) -> Iterator[bytes]:
    """Yield a message for each chunk of a list of legal moves; one without moves if there are none."""
    position, total = listing.position, listing.total
    if not total:
        yield pb.LegalMovesResponse(position=position).SerializeToString()
    for chunk in listing.chunks:
        message = pb.LegalMovesResponse(position=position, total=total, moves=move_messages(chunk))
        yield message.SerializeToString()


def content_message(cell: str, owner: int, piece: str, facing: int, height: int, mark: str) -> pb.CellContent:
    """Return the content of a cell; facing and height -1 mean that it has none."""
    return pb.CellContent(
        cell=cell,
        owner=owner,
        piece=piece,
        facing=facing if facing >= 0 else None,
        height=height if height >= 0 else None,
        mark=mark,
    )


def line_parts(line: PlayedLine) -> Iterator[bytes]:
    """Yield the message with the positions of a line in parts, which are joined."""
    part = bytearray()
    for played in line.positions:
        position = pb.PlayedPosition(
            ply=played.ply,
            position=played.position,
            turn=played.turn,
            board=[content_message(*cell) for cell in played.board],
            claim=played.claim,
        )
        part += pb.PlayMovesResponse(positions=[position]).SerializeToString()
        if len(part) >= PART_BYTES:
            yield bytes(part)
            part.clear()
    outcome = pb.GameOutcome(winner=line.outcome[0], reason=line.outcome[1]) if line.outcome else None
    yield bytes(part) + pb.PlayMovesResponse(outcome=outcome).SerializeToString()
