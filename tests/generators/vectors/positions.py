"""Positions, moves and counts of one game, which a client's own implementation of the rules must reproduce.

Lines of play come from the scripts of the playthroughs, which a person chose to cover rare cases of the rules, and from
a random generator. Counts come from the hand-written perft files. Invalid moves, positions and variants come from the
table `WRONG`, and from valid ones in which one character was changed at random.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from arbiter.errors import Refusal
from arbiter.games import registry
from arbiter.games.contract import AnyGame
from arbiter.games.line import Line, follow
from arbiter.games.perft import perft
from tests.generators.playthroughs import read_script
from tests.generators.transcripts import Dice
from tests.generators.vectors.meals import meals
from tests.generators.vectors.wrong import ALWAYS_WRONG, WRONG, Wrong

LISTED: Final = 64  #: a list of legal moves is written in full if it is no longer than this
LISTED_FIRST: Final = 1_300  #: the same, for the start of the game
MOST_COUNTED: Final = 25_000  #: maximum number of move sequences in a count
CHANGED: Final = 40  #: changed moves and positions of each kind


class Draw(NamedTuple):
    """Random lines of play: the variant, the number of lines, and after how many plies each stops."""

    variant: str
    lines: int
    plies: int


DRAWS: Final[dict[str, tuple[Draw, ...]]] = {
    "circle-of-life": (
        Draw("circle-of-life", 4, 120),
        Draw("circle-of-life(target=5)", 3, 120),
        Draw("circle-of-life(target=1)", 2, 120),
        Draw("circle-of-life(target=60)", 1, 200),
    ),
    "elevation": (
        Draw("elevation", 2, 40),
        Draw("elevation(tiles=0)", 1, 40),
        Draw("elevation(tiles=1,start=SSDDFF)", 1, 30),
    ),
    "hop-it": (
        Draw("hop-it", 2, 60),
        Draw("hop-it(duty=frog)", 1, 40),
        Draw("hop-it(duty=none)", 1, 40),
        Draw("hop-it(start=frogs)", 1, 40),
        Draw("hop-it(start=frogs-ahead)", 1, 40),
    ),
    "pods": (Draw("pods(size=3)", 3, 150), Draw("pods(size=4)", 1, 80), Draw("pods", 1, 60)),
    "pondlife": (
        Draw("pondlife", 2, 60),
        Draw("pondlife(eel=true)", 1, 40),
        Draw("pondlife(lines=3)", 1, 30),
        Draw("pondlife(handicap=2)", 1, 30),
    ),
}


def vectors(game: str, golden: Path) -> dict[str, Any]:
    """Return the content of positions/GAME.json, from the scripts and counts below `golden`/GAME."""
    drawn = [(name, line) for draw in DRAWS[game] for name, line in _drawn(draw)]
    scripts = sorted((golden / game).glob("scripts/*.txt"))
    lines = [*drawn, *((path.stem, _scripted(path)) for path in scripts)]
    wrong = WRONG[game]
    return {
        "game": game,
        "lines": [_as_json(name, line) for name, line in lines],
        "turns": [_turn(name, *turn) for name, *turn in TURNS.get(game, list)()],
        "perft": list(_counts(golden / game)),
        "refused_moves": list(_refused_moves(game, [line for _, line in lines], wrong)),
        "positions": list(_judged_positions(game, [line for _, line in lines], wrong)),
        "variants": [_judged_variant(text) for text in wrong.variants],
    }


# Lines of play


def _drawn(draw: Draw) -> Iterator[tuple[str, Line]]:
    game = registry.game(draw.variant)
    for number in range(1, draw.lines + 1):
        dice = Dice(f"{draw.variant} {number}")
        positions, moves = [game.initial()], list[str]()
        while positions[-1].outcome is None and len(moves) < draw.plies:
            legal = sorted(game.moves(positions[-1]))
            moves.append(legal[dice.below(len(legal))])
            positions.append(game.play(positions[-1], moves[-1]))
        yield f"{draw.variant}, drawn {number}", Line(game, tuple(moves), tuple(positions))


def _scripted(path: Path) -> Line:
    script = read_script(path.read_text("utf-8"))
    game = registry.game(script.variant)
    return follow(game, game.initial() if script.start is None else game.parse(script.start), script.moves)


def _as_json(name: str, line: Line) -> dict[str, Any]:
    game = line.game
    initial = line.positions[0] == game.initial()
    return {
        "name": name,
        "variant": game.variant,
        "start": None if initial else game.text(line.positions[0]),
        "moves": list(line.moves),
        "plies": [
            _prospects(game, position, LISTED_FIRST if initial and not ply else LISTED)
            for ply, position in enumerate(line.positions)
        ],
    }


def _prospects(game: AnyGame, position: Any, listed: int) -> dict[str, Any]:
    moves = sorted(game.moves(position))
    return {
        "position": game.text(position),
        "turn": position.turn,
        "outcome": _outcome(position),
        "draw_claim": game.claim(position) or "",
        "count": len(moves),
        "sha256": sha256("\n".join(moves).encode()).hexdigest(),
        "legal": moves if len(moves) <= listed else None,
    }


def _outcome(position: Any) -> dict[str, Any] | None:
    outcome = position.outcome
    return None if outcome is None else {"winner": outcome.winner, "reason": outcome.reason}


# Single turns


def _turn(name: str, variant: str, start: str, move: str) -> dict[str, Any]:
    game = registry.game(variant)
    after = game.play(game.parse(start), move)
    return {
        "name": name,
        "variant": variant,
        "position": start,
        "move": move,
        "after": game.text(after),
        "outcome": _outcome(after),
    }


TURNS: Final[dict[str, Callable[[], Iterable[tuple[str, str, str, str]]]]] = {"circle-of-life": meals}
"""Single turns of some games: their name, variant, position and move."""


# Counts


def _counts(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the counts of the hand-written file up to the depth at which they are still small, each counted again."""
    for case in json.loads((folder / "perft.json").read_text("utf-8"))["cases"]:
        game = registry.game(case["variant"])
        start = game.initial() if "position" not in case else game.parse(case["position"])
        depth = 0
        while depth < len(case["counts"]) and case["counts"][depth] <= MOST_COUNTED:
            depth += 1
        if depth:
            yield {
                "variant": case["variant"],
                "position": case.get("position"),
                "counts": [perft(game, start, plies) for plies in range(1, depth + 1)],
            }


# What is refused


def _refused_moves(game: str, lines: Sequence[Line], wrong: Wrong) -> Iterator[dict[str, Any]]:
    """Yield invalid moves with the reason: texts of the table, changed moves, and moves of another ply."""
    dice = Dice(f"{game}: moves")
    first = registry.game(game)
    tried = {(game, first.text(first.initial()), move) for move in (*ALWAYS_WRONG, *wrong.moves)}
    for _ in range(CHANGED):
        line = lines[dice.below(len(lines))]
        if not line.moves:
            continue
        position = line.game.text(line.positions[dice.below(len(line.positions))])
        elsewhere = line.moves[dice.below(len(line.moves))]
        tried |= {(line.game.variant, position, elsewhere), (line.game.variant, position, _changed(elsewhere, dice))}
    for variant, position, move in sorted(tried):
        played = registry.game(variant)
        try:
            played.play(played.parse(position), move)
        except Refusal as refusal:
            yield {"variant": variant, "position": position, "move": move, "reason": refusal.reason.value}


def _judged_positions(game: str, lines: Sequence[Line], wrong: Wrong) -> Iterator[dict[str, Any]]:
    """Yield texts, changed ones and those of the table, each with the reason of its refusal or with its position."""
    dice = Dice(f"{game}: positions")
    first = registry.game(game).initial()
    initial = registry.game(game).text(first)
    texts = {(game, text) for text in (*ALWAYS_WRONG, *(_replaced(initial, change) for change in wrong.positions))}
    for _ in range(CHANGED):
        line = lines[dice.below(len(lines))]
        text = line.game.text(line.positions[dice.below(len(line.positions))])
        texts.add((line.game.variant, _changed(text, dice)))
    for variant, text in sorted(texts):
        judge = registry.game(variant)
        try:
            position = judge.parse(text)
        except Refusal as refusal:
            yield {"variant": variant, "text": text, "reason": refusal.reason.value}
        else:
            yield {"variant": variant, "text": text, "reason": "", **_prospects(judge, position, LISTED)}


def _judged_variant(text: str) -> dict[str, Any]:
    try:
        return {"variant": text, "canonical": registry.game(text).variant, "reason": ""}
    except Refusal as refusal:
        return {"variant": text, "canonical": "", "reason": refusal.reason.value}


def _replaced(text: str, change: tuple[str, str]) -> str:
    """Return a text in which the first occurrence of a part is replaced; '' stands for the end of the text."""
    old, new = change
    assert old in text, f"{old!r} is not in {text!r}"
    return text.replace(old, new, 1) if old else text + new


def _changed(text: str, dice: Dice) -> str:
    """Return a text in which one character is left out, doubled, or replaced by one from elsewhere in the text."""
    place = dice.below(len(text))
    other = text[dice.below(len(text))]
    middle = ("", text[place] * 2, other)[dice.below(3)]
    return text[:place] + middle + text[place + 1 :]
