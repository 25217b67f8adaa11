"""How long each part of the two commands takes: the table in CONTRIBUTING.md, "What runs where".

The `Makefile` adds a line to `build/minutes` when a part ends: its name, and its seconds in all, in programs and in the
system. What the shell says of a part that was killed stands there too. `python -m tests.minutes` writes the last line
of each part into the table.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
NOTED = ROOT / "build" / "minutes"
PAGE = ROOT / "CONTRIBUTING.md"
PARTS = {
    "demo": "`make demo`, after `make setup`",
    "check": "`make check`",
    "quick": "the tests of `make quick`, beside `make check`",
    "compile": "the modules are compiled, beside the tests",
    "tests": "every test, beside those of the compiled modules",
    "long-compiled": "the long tests of the compiled modules",
    "short-compiled": "their short tests",
    "again": "what failed is played again",
}
HEAD = "| part | minutes | of a processor |"


def table(noted: str) -> str:
    """Return the table of the noted parts, in minutes."""
    times = {part: tuple(map(float, seconds)) for part, *seconds in map(str.split, noted.splitlines()) if part in PARTS}
    rows = [
        f"| {PARTS[part]} | {times[part][0] / 60:.1f} | {sum(times[part][1:]) / 60:.1f} |"
        for part in PARTS
        if part in times
    ]
    return "\n".join([HEAD, "| -- | -- | -- |", *rows])


def written(page: str, new: str) -> str:
    """Return the page with the new table in the place of the old one.

    Raises ValueError if the page has no such table.
    """
    start = page.index(HEAD)
    return page[:start] + new + page[page.index("\n\n", start) :]


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(), table(NOTED.read_text())))
