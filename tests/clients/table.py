"""The results of the conformance kit in clients/BEHAVIOUR.md: `python -m tests.clients.table` updates the table.

With names of languages, only these are measured. Builds every client for which this machine has the tools, and runs the
kit on its bot; a language that can't be built here keeps its column.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence

import pytest

from arbiter.conformance.catalogue import clauses
from arbiter.conformance.clauses import CHAPTERS, Clause
from arbiter.conformance.kit import ClauseResult, ClauseVerdict, Kit
from tests.clients.languages import BRIDGE, Language, built, languages
from tests.clients.toolchains import CLIENTS, require

PAGE = CLIENTS / "BEHAVIOUR.md"
BEGIN, END = "<!-- measured by the conformance kit -->\n", "<!-- end of what was measured -->\n"
SCALE = 5.0  #: other tests may run at the same time
TURNS = ["rust", "go", "cpp", "typescript", "rust", "go", "cpp", "python", "rust", "go", "java", "lines"]
"""The languages among which `make test` divides the clauses, in turn: a language with a fast start is named more often.
"""
TWICE = {"lines": ("reconnect.next-address", "reconnect.draining-address")}
"""Clauses that `make test` runs on a language beside its part: the bridge's command takes several addresses too."""
ENTRIES_SHOWN = 40  #: lines from the end of the trace of a clause that did not pass


def measured(language: Language, wanted: Sequence[Clause]) -> tuple[ClauseResult, ...]:
    """Build a client and run each clause once on its bot; return the outcomes."""
    with built(language):
        return tuple(asyncio.run(Kit(language.command, SCALE, folder=language.folder).run(wanted)))


def part(name: str) -> list[Clause]:
    """Return the clauses of a language in `make test`, which runs each clause on one language, and some on two."""
    also = TWICE.get(name, ())
    return [each for number, each in enumerate(clauses()) if TURNS[number % len(TURNS)] == name or each.id in also]


def everything() -> dict[str, Language]:
    """Return all languages that have a column in the table, by name."""
    return {language.name: language for language in (*languages().values(), BRIDGE)}


def check(name: str, whole: bool) -> None:
    """Fail the test if a bot fails a clause (of its part, or if `whole` of all), or if the table is out of date."""
    language = everything()[name]
    require(*language.missing, why=f"the client in {name} needs it")
    outcomes = measured(language, clauses() if whole else part(name))
    wrong = failures(outcomes)
    if whole:
        wrong = wrong or differences(name, outcomes, PAGE.read_text(encoding="utf-8"))
    if wrong:
        pytest.fail(f"the bot in {name} and the conformance kit:\n" + "\n".join(wrong), pytrace=False)


def failures(outcomes: Sequence[ClauseResult]) -> list[str]:
    """Return a description of each clause that did not pass."""
    return [description(one) for one in outcomes if one.verdict in (ClauseVerdict.FAILED, ClauseVerdict.NOT_JUDGED)]


def differences(name: str, outcomes: Sequence[ClauseResult], page: str) -> list[str]:
    """Return the cells of a page's table that differ from the outcomes of all clauses."""
    rows = zip(CHAPTERS.values(), columns_of(page)[name], column(outcomes), strict=True)
    return [
        f"{PAGE.name} says {stands!r} of {title!r}, the kit {found!r}: run `python -m tests.clients.table {name}`"
        for title, stands, found in rows
        if stands != found
    ]


def description(outcome: ClauseResult) -> str:
    """Return a description of a clause that did not pass: the reason, its trace, and the bot's last output."""
    lines = [f"{outcome.clause.id} {outcome.verdict.value} after {outcome.seconds:.1f} s: {outcome.why}"]
    lines += [f"  {entry.at_s:8.3f} {entry.who:8} {entry.text}" for entry in outcome.trace[-ENTRIES_SHOWN:]]
    lines += [f"  the bot wrote: {line}" for line in outcome.last_words.splitlines()]
    return "\n".join(lines)


def column(outcomes: Sequence[ClauseResult]) -> tuple[str, ...]:
    """Return the column of a language: for each chapter, how many of how many clauses passed."""
    cells = []
    for chapter in CHAPTERS:
        tried = [outcome for outcome in outcomes if outcome.clause.chapter == chapter]
        passed = sum(outcome.verdict is ClauseVerdict.PASSED for outcome in tried)
        judged = sum(outcome.verdict is not ClauseVerdict.NOT_APPLICABLE for outcome in tried)
        cells.append(f"{passed} of {judged}")
    return tuple(cells)


def table(columns: Mapping[str, Sequence[str]]) -> str:
    """Return the table: a row for each chapter, a column for each language."""
    head = ["|  | " + " | ".join(columns) + " |", "| -- |" + " -- |" * len(columns)]
    rows = [
        f"| {title} | " + " | ".join(cells[n] for cells in columns.values()) + " |"
        for n, title in enumerate(CHAPTERS.values())
    ]
    return "\n".join([*head, *rows]) + "\n"


def columns_of(page: str) -> dict[str, tuple[str, ...]]:
    """Return the columns of the table in a page, by language. Raises ValueError if the page has no table."""
    text = page[page.index(BEGIN) + len(BEGIN) : page.index(END)]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.strip().splitlines()]
    names, rows = lines[0][1:], lines[2:]
    return {name: tuple(row[n] for row in rows) for n, name in enumerate(names, 1)}


def main() -> int:
    """Measure, and write the table. Returns the exit status: 1 if a bot failed a clause."""
    page = PAGE.read_text(encoding="utf-8")
    columns = columns_of(page)
    failed: list[str] = []
    for language in everything().values():
        if sys.argv[1:] and language.name not in sys.argv[1:]:
            continue
        if language.missing:
            print(f"{language.name}: left out, without {', '.join(language.missing)}", file=sys.stderr)
            continue
        outcomes = measured(language, clauses())
        columns[language.name] = column(outcomes)
        bad = [outcome for outcome in outcomes if outcome.verdict in (ClauseVerdict.FAILED, ClauseVerdict.NOT_JUDGED)]
        failed += [f"{language.name}: {outcome.clause.id}: {outcome.why}" for outcome in bad]
        print(f"{language.name}: {json.dumps(columns[language.name])}", file=sys.stderr)
    columns = {name: columns[name] for name in everything() if name in columns}
    before, after = page[: page.index(BEGIN) + len(BEGIN)], page[page.index(END) :]
    PAGE.write_text(f"{before}\n{table(columns)}\n{after}", encoding="utf-8")
    print("\n".join(failed), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
