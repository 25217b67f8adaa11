"""Legal moves as a sequence of picks: a piece, its target, a cell to dig, an animal to hatch.

The picks of a move follow from its steps alone, so a page needs no rules: it offers the next picks of the moves that
begin with the picks so far. Moves share picks, so a list of thousands of moves stays small.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from arbiter.games.contract import AnyGame, Step


class Pick(NamedTuple):
    """One pick: its kind, the number of its cell (-1 for none), and its description in words.

    Kinds: piece, to, place, dig, onto, shoot, mark and unmark are cells; hatch, face, become, swap, pay, pass, agree
    and dispute are not.
    """

    kind: str
    cell: int
    words: str


def choices(game: AnyGame, moves: Iterable[tuple[str, Sequence[Step]]]) -> dict[str, Any]:
    """Return legal moves as JSON values: `picks`, and `moves` as (text, the numbers of its picks)."""
    numbers: dict[Pick, int] = {}
    listed = [
        (text, [numbers.setdefault(pick, len(numbers)) for pick in picks(game, text, way)])
        for text, steps in moves
        for way in _ways(steps)
    ]
    return {"picks": [list(pick) for pick in numbers], "moves": listed}


def _ways(steps: Sequence[Step]) -> Iterator[Sequence[Step]]:
    """Yield the steps of a move; if it marks a chain, each alone: a click on any of the stones is enough."""
    if steps and steps[0].action in ("mark", "unmark"):
        yield from ([step] for step in steps)
    else:
        yield steps


def picks(game: AnyGame, move: str, steps: Sequence[Step]) -> Iterator[Pick]:
    """Yield the picks of a move with its steps."""
    at = game.actor(move)
    # Where castling is the king's move onto its rook, as in Fischer random, its target could be that of a simple move.
    onto = next((step.source for step in steps if step.action == "castle" and move.endswith(step.source)), "")
    if at:
        yield _at(game, "piece", at, "the piece on")
    for step in steps:
        match step.action:
            case "move" | "hop":
                if step.source != at:
                    yield _at(game, "piece", step.source, "the piece on")
                yield _at(game, "to", onto or step.target, "to")
                at = step.target
            case "place" | "shoot":
                yield _at(game, step.action, step.target, "place on" if step.action == "place" else "shoot at")
            case "dig":
                yield _at(game, "dig", step.source, "dig at")
                yield _at(game, "onto", step.target, "put it on")
            case "hatch" | "become":
                yield Pick(step.action, -1, f"{step.action}: {_name(game, step.piece)}")
                if step.facing >= 0:
                    yield Pick("face", -1, _facing(game, step))
            case "mark" | "unmark":
                yield _at(game, step.action, step.target, step.action)
            case "castle":
                pass  # the king's move says it
            case "pay":
                yield Pick("pay", -1, "pay an egg")
            case _:
                yield Pick(step.action, -1, step.action)


def _at(game: AnyGame, kind: str, cell: str, words: str) -> Pick:
    return Pick(kind, game.board.index[cell], f"{words} {cell}")


def _name(game: AnyGame, letter: str) -> str:
    return (game.facts.letters or {}).get(letter.upper(), letter)


def _facing(game: AnyGame, step: Step) -> str:
    is_face = step.piece.upper() in game.facts.faces
    return f"face {step.facing}" if is_face else f"facing {game.board.directions[step.facing]}"
