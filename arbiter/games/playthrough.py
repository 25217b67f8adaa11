"""Playthroughs: a script reaches a rare rule, its story shows a person what happens there, move by move.

A script is what a person writes:

    # The twin of the first group is eaten at once.       (why this playthrough is worth keeping)
    variant circle-of-life(target=3)
    new                                                   (or: set TEXT)
    play e5 a1 e6                                         (as many of these as read well)
    outcome 1 target_eaten                                (or: outcome none)

A story is made from it by playing: the text of every position, the visible steps of every move, how many moves are
legal and what they hash to, and the outcome. Stories are kept beside the scripts and compared on every test run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from typing import Any

from arbiter.games import registry
from arbiter.games.contract import AnyGame, Step
from arbiter.games.line import Line, follow

SHOWN_MOVES = 6  #: how many legal moves a story spells out at each position
LISTED_MOVES = 120  #: a snapshot of the order of moves lists no more than this of one position
HEAD_OF_LONG_LIST = 50  #: and of a longer list only so many, with a hash of all of them


_FOLLOW = {
    "": ("variant",),
    "variant": ("new", "set"),
    "new": ("play", "outcome"),
    "set": ("play", "outcome"),
    "play": ("play", "outcome"),
    "outcome": (),
}
"""Which lines of a script may come after which."""


class ScriptError(ValueError):
    """A script, or a snapshot, that can't be read, or whose moves do not do what it says; names the line."""


@dataclass(frozen=True, slots=True)
class Script:
    """What a script says. `start` is a position's text, or None for the initial position."""

    why: tuple[str, ...]
    variant: str
    start: str | None
    moves: tuple[str, ...]
    outcome: str


def read_script(text: str) -> Script:
    """Return the script that a text describes. Raises ScriptError with the number of the first bad line."""
    why: list[str] = []
    said: dict[str, str] = {}
    moves: list[str] = []
    last = ""
    for number, line in enumerate(text.splitlines(), start=1):
        word, _, rest = line.partition(" ")
        if word == "#":
            why.append(rest)
        elif line:
            if word not in _FOLLOW[last]:
                raise ScriptError(f"line {number}: {word!r} does not belong here")
            last = word
            said[word] = rest
            moves.extend(rest.split() if word == "play" else ())
    if not why or "outcome" not in said:
        raise ScriptError("a script says why (# …), a variant, new or set TEXT, its moves, and ends with an outcome")
    return Script(tuple(why), said["variant"], said.get("set"), tuple(moves), said["outcome"])


def story(script: Script) -> str:
    """Return the story of a script. Raises Refusal for a bad move; ScriptError where the outcome is another."""
    game = registry.game(script.variant)
    line = follow(game, game.initial() if script.start is None else game.parse(script.start), script.moves)
    outcome = str(line.final.outcome or "none")
    if outcome != script.outcome:
        raise ScriptError(f"the outcome is {outcome!r}, and the script says {script.outcome!r}")
    return "\n".join([*(f"# {why}" for why in script.why), *_tell(line), f"outcome {outcome}", ""])


def _tell(line: Line) -> Iterator[str]:
    game = line.game
    yield f"variant {game.variant}"
    yield ""
    yield f"start {game.text(line.positions[0])}"
    yield from _prospects(game, line.positions[0])
    for ply, (before, after) in enumerate(pairwise(line.positions)):
        move = line.moves[ply]
        yield ""
        yield f"{ply + 1}. {game.facts.seat_name(before.turn)} {move}: {said_steps(game.steps(before, move))}"
        yield f"  {game.text(after)}"
        yield from _prospects(game, after)
    yield ""


def _prospects(game: AnyGame, position: Any) -> Iterator[str]:
    """Tell what may follow: the legal moves, sorted bytewise, in number, hash and first examples; a claim."""
    moves = sorted(game.moves(position))
    some = " ".join(moves[:SHOWN_MOVES]) + (" …" if len(moves) > SHOWN_MOVES else "")
    yield f"  {len(moves)} legal ({digest(moves)}): {some}" if moves else "  no legal move"
    if counters := game.counters(position):
        yield "  " + ", ".join(f"{label} {number}" for label, number in counters.items())
    if claim := game.claim(position):
        yield f"  {game.facts.seat_name(position.turn)} may claim a draw: {claim}"


def said_steps(steps: Sequence[Step]) -> str:
    """Return the visible parts of a move in words: `move e1 e2, hatch F3 at e1`."""
    return ", ".join(_said(step) for step in steps)


def _said(step: Step) -> str:
    what = step.piece + (str(step.facing) if step.facing >= 0 else "")
    where = f"{step.source} to {step.target}" if step.source and step.target else step.source or step.target
    return " ".join(word for word in (step.action, what, where) if word)


def digest(moves: Sequence[str]) -> str:
    """Return the first eight hexadecimal digits of the SHA-256 of moves, joined by newlines, in the order given."""
    return sha256("\n".join(moves).encode()).hexdigest()[:8]


def order_snapshot(text: str) -> str:
    """Return a snapshot of the order of moves as the engines list them now, for the positions that a snapshot names.

    A snapshot is a list of blocks: a line `# VARIANT | POSITION`, then the legal moves in the engine's order, one a
    line. A list of more than LISTED_MOVES is cut after its head and closed by a line that counts and hashes all of it.
    Raises ScriptError for a line before the first block or a header of another form.
    """
    lines: list[str] = []
    for number, header in ((n, line) for n, line in enumerate(text.splitlines(), 1) if line.startswith("#") or n == 1):
        variant, bar, position = header.removeprefix("# ").partition(" | ")
        if not header.startswith("# ") or not bar:
            raise ScriptError(f"line {number}: expected a header `# VARIANT | POSITION`")
        game = registry.game(variant)
        moves = game.moves(game.parse(position))
        lines.append(header)
        if len(moves) > LISTED_MOVES:
            lines.extend(moves[:HEAD_OF_LONG_LIST])
            lines.append(f"… {len(moves)} in all ({digest(moves)})")
        else:
            lines.extend(moves)
    return "\n".join([*lines, ""])
