"""Nothing that other people wrote does anything to a terminal, nor forges a line or a column."""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

import arbiter.cli
from arbiter.cli import terminal
from arbiter.cli.table_options import AnyTableOptions, TableOptions
from tests.cli.command import Arbiter
from tests.test_plain_text import HOSTILE

OWN = re.compile(r"\x1b\[[0-9;]*m")  #: the colours and styles that commands themselves write
FOLDER = Path(arbiter.cli.__file__).parent
COMMANDS = (
    ("player", "show", "alice"),
    ("player", "list"),
    ("token", "list"),
    ("token", "create", "alice"),
    ("match", "list"),
    ("match", "show", "m1"),
    ("tournament", "list"),
    ("tournament", "show", "t1"),
    ("tournament", "standings", "t1"),
    ("tournament", "games", "t1"),
    ("tournament", "watch", "t1"),
    ("leaderboard",),
    ("leaderboard", "--json"),
    ("rating", "alice"),
    ("compare", "alice", "bob"),
    ("compare", "alice", "bob", "--json"),
    ("ratings", "suspects"),
    ("watch", "m1"),
    ("transcript", "m1"),
)


def _outlets() -> None:
    terminal.say(HOSTILE, "bold")
    terminal.say_lines(HOSTILE)
    terminal.write_text(HOSTILE + "\n")
    terminal.write_line(HOSTILE, HOSTILE)
    terminal.table(("one", "two"), [(HOSTILE, "1"), ("2", HOSTILE)], HOSTILE, None)
    terminal.table(("one",), [], HOSTILE, None)
    for form in (TableOptions(csv=True), TableOptions(markdown=True), AnyTableOptions(json=True)):
        terminal.table(("one",), [(HOSTILE,)], HOSTILE, form)
        terminal.remark(HOSTILE, form)
    terminal.write_json({HOSTILE: HOSTILE})
    terminal.write_drawing(HOSTILE + "\n")
    terminal.tell(HOSTILE)
    drawn = Table(HOSTILE)
    drawn.add_row(HOSTILE)
    terminal.PlainConsole().print(Text(HOSTILE), drawn, HOSTILE)


@pytest.mark.parametrize("on_terminal", [False, True])
def test_no_outlet_writes_what_cannot_be_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, on_terminal: bool
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: on_terminal)
    _outlets()
    captured = capsys.readouterr()
    _check(captured.out + captured.err, on_terminal)


def test_a_cell_and_a_line_stay_one(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.table(("one", "two"), [("a\tb\nc", "d")], "", None)
    terminal.say("a\nb")
    assert capsys.readouterr().out == "one\ttwo\na\\tb\\nc\td\na\\nb\n"


def test_json_keeps_the_values(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.write_json([HOSTILE])
    assert json.loads(capsys.readouterr().out) == [HOSTILE]


def test_commands_write_through_one_module() -> None:
    """`print` is ruff's to find; a console of another kind, and bare writes, are found here."""
    allowed = {
        "games.py": 1,  # the console of a game, whose answers are one line each
        "transcript.py": 1,  # the bytes of a signed record, into a file or a pipe
        "terminal.py": 4,
    }
    found: dict[str, int] = {}
    for file in FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "Console",
                "sys.stdout.write",
                "sys.stdout.buffer.write",
                "sys.stderr.write",
            ):
                found[file.name] = found.get(file.name, 0) + 1
    assert found == allowed


def _check(text: str, on_terminal: bool) -> None:
    if on_terminal:
        text = OWN.sub("", text)
    for line in text.split("\n"):
        assert all(cell.isprintable() for cell in line.split("\t")), line


# Live pictures go on until their match ends; their console is tested above.
@pytest.mark.parametrize(
    ("command", "on_terminal"),
    [(command, shown) for command in COMMANDS for shown in (False, True) if not (shown and "watch" in command)],
    ids=str,
)
def test_a_command_shows_any_text_of_a_server_safely(
    arbiter: Arbiter,
    hostile_server: str,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    on_terminal: bool,
) -> None:
    monkeypatch.setenv("ARBITER_SERVER", hostile_server)
    monkeypatch.setenv("ARBITER_TOKEN", "secret")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: on_terminal)
    ran = arbiter(*command)
    assert ran.out or ran.err
    _check(ran.out + ran.err, on_terminal)
