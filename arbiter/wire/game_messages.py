"""Games, boards, and requests about lines of play as messages."""

from __future__ import annotations

from functools import lru_cache

from arbiter_protos.v1 import game_pb2 as pb

from arbiter.boards.board import Board, Tile
from arbiter.games import registry
from arbiter.games.contract import AnyGame, Basis, Facts, Parameter, value_text
from arbiter.service.gate.game_calls import At, LineAt, MatchAt
from arbiter.wire.copied_fields import copied
from arbiter.wire.rules_messages import content_message

_TILES = {
    Tile.HEX_ROWS: pb.TILE_HEX_ROWS,
    Tile.HEX_FILES: pb.TILE_HEX_FILES,
    Tile.SQUARE: pb.TILE_SQUARE,
}
_BASES = {Basis.TEXT: pb.BASIS_TEXT, Basis.SOURCE: pb.BASIS_SOURCE, Basis.OURS: pb.BASIS_OURS}


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


def contents(game: AnyGame, position: object) -> list[pb.CellContent]:
    """Return the non-empty cells of a position's board."""
    return [
        content_message(name, piece.owner, piece.letter, piece.facing, piece.height, piece.mark)
        for name, piece in zip(game.board.names, game.pieces(position), strict=True)
        if piece.letter or piece.mark or piece.height >= 0
    ]


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
