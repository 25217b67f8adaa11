"""Games, boards and lines of play as messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from arbiter_protos.v1 import game_pb2 as pb

from arbiter.boards.board import Board, Tile
from arbiter.games import registry
from arbiter.games.contract import AnyGame, Basis, Facts, Parameter, value_text
from arbiter.service.gate.game_calls import At, LineAt, MatchAt
from arbiter.service.ports.rules import ListedMove, Listing, PlayedLine
from arbiter.wire.copied_fields import copied

_TILES = {
    Tile.HEX_ROWS: pb.TILE_HEX_ROWS,
    Tile.HEX_FILES: pb.TILE_HEX_FILES,
    Tile.SQUARE: pb.TILE_SQUARE,
}
_BASES = {Basis.TEXT: pb.BASIS_TEXT, Basis.SOURCE: pb.BASIS_SOURCE, Basis.OURS: pb.BASIS_OURS}

PART: Final = 50  #: positions and cells of boards, after which a part of a line is full: a third of a millisecond or so


def summary_message(facts: Facts) -> pb.GameSummary:
    """Return a game's entry in a list."""
    return pb.GameSummary(id=facts.id, name=facts.name, designer=facts.designer, summary=facts.summary)


@lru_cache(maxsize=64)
def game_message(variant: str) -> pb.GetGameResponse:
    """Return all information about a variant. Raises Refusal GAME_UNKNOWN, PARAMETER_INVALID."""
    game = registry.game(variant)
    facts = game.facts
    return pb.GetGameResponse(
        summary=summary_message(facts),
        game=game.variant,
        seats=facts.seats,
        parameters=[_parameter(game, parameter) for parameter in facts.parameters],
        reasons=[pb.EndReason(name=r.name, text=r.text, basis=_BASES[r.basis]) for r in facts.reasons],
        rulings=[pb.Ruling(topic=r.topic, text=r.text, basis=_BASES[r.basis]) for r in facts.rulings],
        rules_text=registry.rules_text(game),
        board=board_message(game.board),
        initial_position=game.text(game.initial()),
        most_plies=game.bound,
        draw_offers=facts.draw_offers,
        pieces=dict(facts.letters or {}),
        material=facts.material,
    )


def _parameter(game: AnyGame, parameter: Parameter) -> pb.Parameter:
    default, value = value_text(parameter.default), value_text(game.values[parameter.name])
    return copied(pb.Parameter, parameter, default_value=default, value=value)


def board_message(board: Board) -> pb.Board:
    """Return a board as cells."""
    names = board.names
    return pb.Board(
        title=board.title,
        tile=_TILES[board.tile],
        directions=board.directions,
        cells=[
            pb.Cell(
                name=name,
                x=centre[0],
                y=centre[1],
                neighbours=[names[other] if other >= 0 else "" for other in neighbours],
            )
            for name, centre, neighbours in zip(names, board.centres, board.neighbours, strict=True)
        ],
        lines=[pb.CellLine(cells=[names[cell] for cell in line]) for line in board.lines],
    )


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


def contents(game: AnyGame, position: object) -> list[pb.CellContent]:
    """Return the non-empty cells of a position's board."""
    return [
        content_message(name, piece.owner, piece.letter, piece.facing, piece.height, piece.mark)
        for name, piece in zip(game.board.names, game.pieces(position), strict=True)
        if piece.letter or piece.mark or piece.height >= 0
    ]


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


def legal_moves_parts(listing: Listing) -> Iterator[tuple[int, bytes]]:
    """Yield encoded messages with legal moves, each with their number; one without moves if there are none.

    Encoded messages can be joined: together they are one message with the moves of all.
    """
    if not listing.total:
        yield 0, pb.LegalMovesResponse(position=listing.position).SerializeToString()
    for chunk in listing.chunks:
        moves = move_messages(chunk)
        message = pb.LegalMovesResponse(total=listing.total, position=listing.position, moves=moves)
        yield len(chunk), message.SerializeToString()


def at_of(request: pb.LegalMovesRequest) -> At | None:
    """Return the position for which legal moves are requested, None if the request names none."""
    match request.WhichOneof("at"):
        case "line":
            return line_of(request.line)
        case "match":
            return MatchAt(request.match.match_id, request.match.ply if request.match.HasField("ply") else None)
        case _:
            return None


def line_of(message: pb.LineOfPlay) -> LineAt:
    """Return a line of play."""
    return LineAt(message.game, message.position, message.moves)


def line_parts(line: PlayedLine) -> Iterator[bytes]:
    """Yield encoded messages with some of the positions of a line each; joined they are the whole answer."""
    positions: list[pb.PlayedPosition] = []
    size = 0
    for played in line.positions:
        positions.append(
            pb.PlayedPosition(
                ply=played.ply,
                position=played.position,
                turn=played.turn,
                board=[content_message(*cell) for cell in played.board],
                claim=played.claim,
            )
        )
        size += 1 + len(played.board)
        if size >= PART:
            yield pb.PlayMovesResponse(positions=positions).SerializeToString()
            positions, size = [], 0
    outcome = pb.GameOutcome(winner=line.outcome[0], reason=line.outcome[1]) if line.outcome else None
    yield pb.PlayMovesResponse(positions=positions, outcome=outcome).SerializeToString()
