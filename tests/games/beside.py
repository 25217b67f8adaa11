"""Random games of each home game beside a second implementation, which others have written, move by move.

A seed is one game, so that parts add up. `python -m tests.games.beside [GAME…] [--games N] [--minutes M]` goes on where
it has stopped: with the rules as they are now, until each game has N seeds, or for so many minutes. It notes in
`build/beside.json` how many there were of each, for the hash of the rules. `nice -n 19` lets others go first. With the
compiled modules it takes half as long: `make native`, then `PYTHONSAFEPATH=1 PYTHONPATH=.venv/compiled:.` before the
command.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from time import monotonic, process_time
from typing import Final, NamedTuple

from arbiter.games import registry
from tests.games import beside_open_spiel as spiel
from tests.games import beside_python_chess as python_chess

NOTED: Final = Path(__file__).parents[2] / "build" / "beside.json"
ENOUGH: Final = 100_000  #: games of each
NOTED_EVERY_S: Final = 10.0

Play = Callable[[Random], set[str]]
"""Plays a game on both, and returns what has happened in it. Raises AssertionError where the two differ."""


class Beside(NamedTuple):
    """A comparison: the other implementation; the game; how many in `make test`; what must happen in these.

    of_a_seed: how many games a seed of `make soak` is.
    """

    other: str
    play: Play
    few: int
    happens: frozenset[str]
    of_a_seed: int = 50


OPEN_SPIEL: Final = "OpenSpiel"
BESIDE: Final = {
    "connect-four": Beside(
        OPEN_SPIEL, spiel.Alike("connect-four", "connect_four", spiel.column), 25, frozenset({"won"})
    ),
    "othello": Beside(OPEN_SPIEL, spiel.Alike("othello", "othello", str), 25, frozenset({"won"})),
    "breakthrough": Beside(
        OPEN_SPIEL, spiel.Alike("breakthrough", "breakthrough", spiel.mirrored), 25, frozenset({"won"})
    ),
    "hex": Beside(OPEN_SPIEL, spiel.Alike("hex(swap=false)", "hex(board_size=11)", str), 25, frozenset({"won"})),
    "checkers": Beside(OPEN_SPIEL, spiel.Checkers(), 25, frozenset({"won", "drawn"})),
    "go": Beside(OPEN_SPIEL, spiel.Go(), 25, frozenset({"won", "suicide"})),
    "amazons": Beside(OPEN_SPIEL, spiel.Amazons(), 10, frozenset({"won"})),
    "chess": Beside("python-chess", python_chess.chess, 8, frozenset({"castling"}), 5),
    "chess960": Beside("python-chess", python_chess.chess_960, 4, frozenset({"castling"}), 5),
}
"""The comparisons, by game."""


def played(name: str, seed: int) -> set[str]:
    """Play the game of a seed; return what has happened in it. Raises AssertionError where the two differ."""
    return BESIDE[name].play(Random(f"{name} {seed}"))


class Notes:
    """How many seeds of each game there were, in a file, for the rules as they are now."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._all: dict[str, dict[str, dict[str, int]]] = json.loads(path.read_text()) if path.exists() else {}

    def of(self, name: str) -> Counter[str]:
        """Return what has happened how often in the seeds of a game; `games` is their number."""
        return Counter(self._all.get(name, {}).get(registry.code(name).sha256, {}))

    def write(self, name: str, found: Counter[str]) -> None:
        """Note it."""
        self._all.setdefault(name, {})[registry.code(name).sha256] = dict(found)
        self._path.parent.mkdir(exist_ok=True)
        fresh = self._path.with_suffix(".new")
        fresh.write_text(json.dumps(self._all, indent=2) + "\n")
        fresh.replace(self._path)


def go_on(name: str, games: int, until: float, notes: Notes) -> str:
    """Play seeds of a game until there are so many, or until an instant; return what there is, as a line."""
    found, began, noted = notes.of(name), process_time(), monotonic()
    first = found["games"]
    while found["games"] < games and monotonic() < until:
        try:
            found.update(("games", *played(name, found["games"])))
        except AssertionError as difference:
            notes.write(name, found)
            raise SystemExit(f"{name}: seed {found['games']} differs: {difference}") from difference
        if monotonic() - noted > NOTED_EVERY_S:
            notes.write(name, found)
            noted = monotonic()
    notes.write(name, found)
    happened = ", ".join(f"{word} {count:,}" for word, count in sorted(found.items()) if word != "games")
    seconds = process_time() - began
    return (
        f"{name}: seeds 0 to {found['games'] - 1:,} agree with {BESIDE[name].other} ({happened}); "
        f"{found['games'] - first:,} of them now, in {seconds:.0f} s of processor time"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("game", nargs="*", choices=[*BESIDE, []], default=list(BESIDE))
    parser.add_argument("--games", type=int, default=ENOUGH, help="how many of each, with the earlier ones")
    parser.add_argument("--minutes", type=float, default=60.0, help="the longest time in all")
    given = parser.parse_args()
    until, notes = monotonic() + 60 * given.minutes, Notes(NOTED)
    for name in given.game:
        print(go_on(name, given.games, until, notes), flush=True)


if __name__ == "__main__":
    main()
