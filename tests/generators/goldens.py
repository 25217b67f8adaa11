"""The golden files of the games: which parts of them are generated, and the command that generates them.

    tests/golden/GAME/perft.json             counts, written by hand from the rules: never generated
    tests/golden/GAME/scripts/NAME.txt       scripts of playthroughs, written by hand
    tests/golden/GAME/playthroughs/NAME.txt  playthroughs, generated from the scripts
    tests/golden/GAME/moves.txt              the order of moves; headers are written by hand, moves are generated
    tests/golden/transcripts/                signed transcripts, generated: see `tests.generators.transcripts`

`python -m tests.generators.goldens tests/golden` writes the files that differ; review the difference like code. With a
second argument, `slow`, it counts the cases that take too long for the test suite, and fails if a count differs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from arbiter.errors import Refusal
from arbiter.games import registry
from arbiter.games.perft import perft
from tests.generators import transcripts
from tests.generators.playthroughs import ScriptError, order_snapshot, playthrough, read_script


class Count(NamedTuple):
    """A line of a perft file: what is counted, to which depth, and the expected number."""

    variant: str
    position: str | None
    depth: int
    expected: int

    def actual(self) -> int:
        """Return the number that the engine counts."""
        game = registry.game(self.variant)
        return perft(game, game.initial() if self.position is None else game.parse(self.position), self.depth)


def counts(folder: Path, key: str = "cases") -> Iterator[Count]:
    """Yield the counts of a game's perft file under a key: `cases`, or `slow_cases`, which take minutes."""
    for case in json.loads((folder / "perft.json").read_text("utf-8")).get(key, []):
        for depth, expected in enumerate(case["counts"], start=1):
            yield Count(case["variant"], case.get("position"), depth, expected)


def missing(folder: Path) -> list[str]:
    """Return which of the three kinds of golden files a game's folder lacks: counts, order of moves, a playthrough."""
    nets = {
        "perft.json": (folder / "perft.json").is_file() and any(counts(folder)),
        "moves.txt": (folder / "moves.txt").is_file(),
        "scripts/*.txt": any(folder.glob("scripts/*.txt")),
    }
    return [name for name, there in nets.items() if not there]


def generated(folder: Path) -> dict[Path, str]:
    """Return the expected content of the generated files of a game's folder.

    Raises ScriptError, with the name of the file, if a script or a snapshot cannot be read or played.
    """
    sources = {folder / "playthroughs" / script.name: script for script in sorted(folder.glob("scripts/*.txt"))}
    files = {
        target: _from_source(source, lambda text: playthrough(read_script(text))) for target, source in sources.items()
    }
    order = folder / "moves.txt"
    if order.is_file():
        files[order] = _from_source(order, order_snapshot)
    return files


def _from_source(source: Path, make: Callable[[str], str]) -> str:
    try:
        return make(source.read_text("utf-8"))
    except (Refusal, ScriptError) as error:
        raise ScriptError(f"{source}: {error}") from error


def stale(folder: Path) -> list[Path]:
    """Return the playthroughs of a game's folder that have no script any more."""
    return [
        path for path in sorted(folder.glob("playthroughs/*.txt")) if not (folder / "scripts" / path.name).is_file()
    ]


def regenerate(directory: Path) -> list[Path]:
    """Write every generated file of every game below a directory again; return the files that changed."""
    changed: list[Path] = []
    for folder in sorted(path for path in directory.iterdir() if path.name in registry.classes()):
        for path, text in generated(folder).items():
            if not path.is_file() or path.read_text("utf-8") != text:
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, "utf-8")
                changed.append(path)
        for path in stale(folder):
            path.unlink()
            changed.append(path)
    return changed


def recount(directory: Path, write: Callable[[str], object]) -> bool:
    """Count the slow cases of every game below a directory and print each; return whether all match the files."""
    good = True
    for folder in sorted(path for path in directory.iterdir() if path.name in registry.classes()):
        for count in counts(folder, "slow_cases"):
            actual = count.actual()
            good = good and actual == count.expected
            verdict = "as kept" if actual == count.expected else f"NOT the {count.expected:,} kept"
            write(f"{count.variant} | {count.position or 'new'} | depth {count.depth}: {actual:,}, {verdict}\n")
    return good


def main(arguments: list[str]) -> int:
    """Regenerate the goldens in the directory given as first argument; if the second is `slow`, recount instead."""
    if not arguments or not Path(arguments[0]).is_dir() or arguments[1:] not in ([], ["slow"]):
        sys.stderr.write("usage: python -m tests.generators.goldens DIRECTORY [slow] (such as tests/golden)\n")
        return 2
    if arguments[1:]:
        return 0 if recount(Path(arguments[0]), _say) else 1
    try:
        changed = regenerate(Path(arguments[0])) + transcripts.regenerate(Path(arguments[0]) / "transcripts")
    except ScriptError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    _say("".join(f"wrote {path}\n" for path in changed) or "every golden file is up to date\n")
    return 0


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
