"""How long the commands take, and each part of `make test`: the table in tests/README.md, "What runs where".

The `Makefile` adds a line to `build/minutes` when a command or a part ends: its name, and its seconds in all, in
programs and in the system. What the shell says of a part that was killed stands there too. `python -m tests.minutes`
writes the last line of each into the table; the row of what was not run here stays as it is.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
NOTED = ROOT / "build" / "minutes"
PAGE = ROOT / "tests" / "README.md"
PARTS = {
    "demo": "`make demo`, after `make setup`",
    "check": "`make check`",
    "quick": "`make quick`",
    "test": "`make test`",
    "compile": "in it: the modules are compiled, beside the tests",
    "tests": "every test, beside those of the compiled modules",
    "long-compiled": "the long tests of the compiled modules",
    "short-compiled": "their short tests",
    "again": "what failed is played again",
    "soak-goldens": "`make soak-goldens`",
    "soak-simulation": "`make soak-simulation`",
    "soak-servers": "`make soak-servers`",
    "soak-marked": "`make soak-marked`",
    "soak-compiled": "`make soak-compiled`",
    "soak-kills": "`make soak-kills`",
    "soak-seeds": "`make soak-seeds`",
    "soak-players": "`make soak-players`",
    "soak-minutes": "`make soak-minutes`",
    "soak-properties": "`make soak-properties`",
    "soak-fuzzing": "`make soak-fuzzing`",
    "soak-clocks": "`make soak-clocks`",
    "soak-budget": "`make soak-budget`",
}
HEAD = "| part | minutes | of a processor |\n| -- | -- | -- |\n"


def place(page: str) -> slice:
    """Return where the rows of the table are in a page. Raises ValueError if there is none."""
    start = page.index(HEAD) + len(HEAD)
    return slice(start, page.index("\n\n", start) + 1)


def written(page: str, noted: str) -> str:
    """Return the page with the minutes that were noted in its table. Raises ValueError if it has none."""
    rows = {row.split(" | ")[0].removeprefix("| "): row for row in page[place(page)].splitlines()}
    for part, *seconds in map(str.split, noted.splitlines()):
        if part in PARTS:
            whole, *of_processor = map(float, seconds)
            rows[PARTS[part]] = f"| {PARTS[part]} | {whole / 60:.1f} | {sum(of_processor) / 60:.1f} |"
    kept = "".join(f"{rows[name]}\n" for name in PARTS.values() if name in rows)
    return page[: place(page).start] + kept + page[place(page).stop :]


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(), NOTED.read_text()))
