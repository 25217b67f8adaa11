"""Every command that prints a table also writes it as CSV, JSON and Markdown, whatever its texts are."""

from __future__ import annotations

import ast
import csv
import io
import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

import arbiter.cli
from arbiter.bench.report import Report
from arbiter.cli import conformance
from arbiter.cli.table_options import TableOptions
from arbiter.plain_text import plain
from arbiter.ratings.rulings import Decision, Ruling, Rulings, Selection
from tests.cli.command import Arbiter
from tests.documents import block, commands
from tests.options.enumerated import COMMANDS, table_options, takes
from tests.options.reaching import required
from tests.test_plain_text import HOSTILE

GOLDEN: Final = Path(__file__).parents[1] / "golden" / "transcripts"
FOLDER: Final = Path(arbiter.cli.__file__).parent

WITH_TABLES: Final = [command for command in COMMANDS if takes(command, TableOptions)]

WITHOUT: Final = {
    "compare": 1,  # for people, on a terminal
    "rating": 2,  # for people, on a terminal
    "tournament_watch": 1,  # `tournament watch`, whose output is events
    "command": 1,  # `tournament run`, whose output is a report; --export writes its standings
}
"""Calls that print a table in no other form, by module."""

MORE: Final = {
    "bench ratios": [],
    "conformance": ["--list"],
    "rules check": [str(GOLDEN)],
    "ratings recompute": [str(GOLDEN / "pods.jsonl"), "--key", str(GOLDEN / "keys.json")],
    "ratings arranged": [str(GOLDEN / "pods.jsonl"), "--key", str(GOLDEN / "keys.json")],
    "simulate": ["--seed", "8", "--matches", "2"],
}
"""What these commands need to print a table without a server."""


def figures() -> Report:
    report = Report("moves", "about")
    report.add("moves", "moves", 7.0, "moves")
    return report


def hostile_rulings() -> Rulings:
    """Return a log with a hostile ruling, and one that takes it back."""
    log, given = Rulings(), ("org", "r", Decision.UNRATED, Selection((HOSTILE,), HOSTILE, HOSTILE))
    log.all += [Ruling(7, *given, ("m1",), note=HOSTILE), Ruling(8, *given, ruling=1)]
    return log


@pytest.mark.parametrize("command", WITH_TABLES)
@pytest.mark.parametrize("on_terminal", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_command_writes_its_table_in_each_form(
    arbiter: Arbiter, hostile_server: str, monkeypatch: pytest.MonkeyPatch, command: str, on_terminal: bool
) -> None:
    """Also on a terminal, where it would otherwise draw it: a table and nothing else is on standard output."""
    monkeypatch.setenv("ARBITER_SERVER", hostile_server)
    monkeypatch.setenv("ARBITER_TOKEN", "secret")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: on_terminal)
    kind, _, name = command.partition(" ")
    if kind == "bench" and name != "ratios":
        target = "arbiter.bench.clocks.measured" if name == "clocks" else f"arbiter.bench.{name}.bench_{name}"
        found = SimpleNamespace(
            **dict.fromkeys(("p50_ms", "p99_ms", "most_ms", "hand_over_p99_ms", "lag_ms", "moves"), 7.0)
        )
        monkeypatch.setattr(target, lambda plan, progress=None: found if name == "clocks" else figures())
    if command == "ratings rulings":  # which the hostile server has none of
        monkeypatch.setattr("arbiter.cli.rating_rulings.rulings_of", lambda client: hostile_rulings())
    words = [*command.split(), *MORE.get(command, required(command))]
    own_json = "--json" not in table_options(command)
    printed = arbiter(*words).out
    assert printed or command == "bench ratios"
    written: dict[str, str] = {}
    for form in ("--csv", "--markdown", *([] if own_json else ["--json"])):
        ran = arbiter(*words, form)
        assert ran.code == 0, ran.err
        assert ran.out
        assert ran.out.replace("\n", "").isprintable()
        written[form] = ran.out
    rows = list(csv.reader(io.StringIO(written["--csv"]), strict=True))
    headings = [row for number, row in enumerate(rows) if not number or not rows[number - 1]]
    if command not in ("tournament standings", "tournament series"):  # a tie-break, and a tournament, is there twice
        assert all(len(set(row)) == len(row) for row in headings), "each column has a name of its own"
    lines = written["--markdown"].splitlines()
    assert all(line.startswith("| ") and line.endswith(" |") for line in lines if line)
    assert sum(line.startswith("| ---") for line in lines) == len(headings)
    assert len([line for line in lines if line]) == len([row for row in rows if row]) + len(headings)
    if not own_json:
        value = json.loads(written["--json"])
        listed = [*value.values()] if isinstance(value, dict) else [value]
        assert sum(map(len, listed)) == len([row for row in rows if row]) - len(headings)
        names = [dict.fromkeys(row) for row in headings]
        assert all(dict.fromkeys(map(plain, row)) in names for rows_of in listed for row in rows_of)


def test_the_commands_of_the_page(arbiter: Arbiter, hostile_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARBITER_SERVER", hostile_server)
    monkeypatch.setenv("ARBITER_TOKEN", "secret")
    for line in commands(block("deploy/FILES.md", "tournament standings last --csv")):
        program, *words = shlex.split(line)
        ran = arbiter(*words)
        assert (program, ran.code) == ("arbiter", 0), ran.err
        assert ran.out.startswith({"--csv": "place,", "--json": "[", "--markdown": "| place |"}[words[-1]])


def test_a_command_has_one_form_at_a_time(arbiter: Arbiter) -> None:
    assert "Mutually exclusive" in arbiter("games", "--csv", "--json").complaint
    assert "Mutually exclusive" in arbiter("leaderboard", "--csv", "--json").complaint
    assert "leave out pods" in arbiter("games", "pods", "--csv").complaint


@pytest.mark.long
def test_every_table_has_the_forms() -> None:
    """A command that calls `table` without its options is named here, with the reason."""
    found: dict[str, int] = {}
    for file in FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("table", "tables"):
                last = node.args[-1] if node.args else None
                if isinstance(last, ast.Constant) and last.value is None:
                    found[file.stem] = found.get(file.stem, 0) + 1
    assert found == WITHOUT


def test_the_report_of_the_kit_is_a_table(
    arbiter: Arbiter, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = SimpleNamespace(clause=SimpleNamespace(id="moves.once"), verdict=SimpleNamespace(value="passed"))
    words: Callable[[Any], str] = lambda outcome: "=1+1"  # noqa: E731
    said: dict[str, Any] = {"counts": {}, "bot": "b", "software": "s", "seconds": 1.0, "passed": True, "words": words}
    report: Any = SimpleNamespace(outcomes=[outcome], failures=(), mended=(), **said)
    conformance._print_report(report, "", TableOptions(csv=True))
    out, err = capsys.readouterr()
    assert out == "clause,verdict,why\nmoves.once,passed,'=1+1\n"
    assert "b (s)" in err
