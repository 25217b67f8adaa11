"""The jobs of the workers for rules (`arbiter.workers.process`)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any

from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.games.contract import AnyGame
from arbiter.games.line import Line, follow, replay
from arbiter.service.ports.rules import LinePosition, ListedMove, Listing, PlayedLine
from arbiter.workers.process import Jobs


def legal_moves(*arguments: Any) -> Iterator[object]:
    """Yield the chunks of a `listing`, then (position, total)."""
    found = listing(*arguments)
    yield from found.chunks
    yield found.position, found.total


def listing(
    variant: str, start: str, moves: Sequence[str], steps: bool, most_line: int, most_moves: int, chunk: int
) -> Listing:
    """Return the legal moves at the end of a line. Raises Refusal."""
    _, line = _line(variant, start, moves, most_line, len(moves))
    game, position = line.game, line.final
    texts = sorted(game.moves(position))
    if len(texts) > most_moves:
        raise Refusal(
            Reason.BUDGET_SPENT,
            f"this position has {len(texts)} legal moves: at most {most_moves} are listed",
            limit=most_moves,
            retry_after_ms=0,
        )
    chunks = (
        [ListedMove(text, _steps(game, position, text) if steps else ()) for text in texts[first : first + chunk]]
        for first in range(0, len(texts), chunk)
    )
    return Listing(game.text(position), len(texts), chunks)


def played_line(
    variant: str, start: str, moves: Sequence[str], from_ply: int, board: bool, most_line: int
) -> PlayedLine:
    """Return the positions of a line from a ply on, and its outcome. Raises Refusal."""
    first, line = _line(variant, start, moves, most_line, from_ply)
    game, outcome = line.game, line.final.outcome
    played = (
        LinePosition(
            ply,
            game.text(position),
            position.turn,
            game.claim(position) or "",
            _board(game, position) if board else (),
        )
        for ply, position in enumerate(line.positions, first)
        if ply >= from_ply
    )
    return PlayedLine(played, (outcome.winner, outcome.reason) if outcome else None)


_KEPT = 256  #: cached ends of lines: callers mostly ask about the continuation of a line next
_LOOK_BACK = 4  #: how many moves shorter than the request a cached line may be
_ends: OrderedDict[tuple[str, str, tuple[str, ...]], Any] = OrderedDict()


def _line(variant: str, start: str, moves: Sequence[str], most: int, from_ply: int) -> tuple[int, Line]:
    """Return a line of play from a ply on, at most `from_ply`, and that ply. Raises as `replay` does."""
    whole = tuple(moves)
    # no cached line for a line that is too long: it is refused
    shortest = max(0, len(whole) - _LOOK_BACK) if len(whole) <= most else len(whole) + 1
    for ply in range(min(from_ply, len(whole)), shortest - 1, -1):
        position = _ends.get((variant, start, whole[:ply]))
        if position is not None:
            line = follow(registry.game(variant), position, whole[ply:], ply)
            break
    else:
        ply, line = 0, replay(variant, start or None, whole, most)
    _ends[variant, start, whole] = line.final
    _ends.move_to_end((variant, start, whole))
    if len(_ends) > _KEPT:
        _ends.popitem(last=False)
    return ply, line


def _steps(game: AnyGame, position: Any, move: str) -> tuple[tuple[str, str, str, str, int], ...]:
    # Plain tuples: the reader does not need the code of the games.
    return tuple((s.action, s.source, s.target, s.piece, s.facing) for s in game.steps(position, move))


def _board(game: AnyGame, position: Any) -> tuple[tuple[str, int, str, int, int, str], ...]:
    return tuple(
        (name, piece.owner, piece.letter, piece.facing, piece.height, piece.mark)
        for name, piece in zip(game.board.names, game.pieces(position), strict=True)
        if piece.letter or piece.mark or piece.height >= 0
    )


def jobs() -> Jobs:
    """Return the job handlers, by kind, once the modules of the arbiter's own games are loaded.

    A package's game is loaded with the first job that names it: it may hang. The tables of a game are computed with its
    first job too: a tenth of a second.
    """
    for name in registry.BUNDLED:
        registry.load(name)
    return {"legal_moves": legal_moves}
