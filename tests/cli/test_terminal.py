"""Nothing that other people wrote does anything to a terminal, nor forges a line or a column."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from rich.table import Table
from rich.text import Text

import arbiter.cli
from arbiter.cli import terminal
from arbiter.cli.app import build
from arbiter.cli.table_options import AnyTableOptions, TableOptions
from tests.cli.command import Arbiter
from tests.cli.test_app import with_subcommands
from tests.test_plain_text import HOSTILE

OWN = re.compile(r"\x1b\[[0-9;]*m")  #: the colours and styles that commands themselves write
FOLDER = Path(arbiter.cli.__file__).parent
GAME = ("t1", "1")
COMMANDS: dict[str, tuple[str, ...]] = {
    "compare": ("alice", "bob"),
    "key export": (),
    "key show": (),
    "leaderboard": (),
    "match abort": ("m1", "--note", "over"),
    "match adjudicate": ("m1", "--winner", "1", "--note", "over"),
    "match create": ("pods", "alice", "bob"),
    "match list": (),
    "match show": ("m1",),
    "player delete": ("--player", "alice", "--yes"),
    "player hide": (),
    "player invite": (),
    "player list": (),
    "player register": ("alice",),
    "player rename": ("bob",),
    "player retire": (),
    "player show": ("alice",),
    "player suspend": ("alice",),
    "player unsuspend": ("alice",),
    "rating": ("alice",),
    "ratings arranged": (),
    "ratings export": ("rated",),
    "ratings rule": ("unrated", "m1"),
    "ratings rulings": (),
    "ratings take-back": ("1",),
    "token create": ("alice",),
    "token list": (),
    "token revoke": ("t1",),
    "tournament allow": ("t1", "alice", "bob"),
    "tournament bye": ("t1", "alice", "2"),
    "tournament cancel": ("t1",),
    "tournament change": ("t1",),
    "tournament create": ("cup.toml",),
    "tournament disqualify": ("t1", "alice"),
    "tournament enter": ("t1",),
    "tournament export": ("t1", "out"),
    "tournament forbid": ("t1", "alice", "bob"),
    "tournament games": ("t1",),
    "tournament hold": ("t1",),
    "tournament import": ("t1", "cup.trf"),
    "tournament list": (),
    "tournament lot": ("t1", "alice", "bob"),
    "tournament pair": ("t1", "1", "alice", "bob"),
    "tournament pair-round": ("t1", "2"),
    "tournament pause": ("t1",),
    "tournament points": ("t1", "alice", "1"),
    "tournament reinstate": ("t1", "alice"),
    "tournament replay": GAME,
    "tournament resume": ("t1",),
    "tournament rule": (*GAME, "draw"),
    "tournament series": ("t1",),
    "tournament show": ("t1",),
    "tournament standings": ("t1",),
    "tournament start": ("t1",),
    "tournament watch": ("t1",),
    "tournament withdraw": ("t1",),
    "transcript": ("m1",),
    "watch": ("m1",),
    "web-hook create": ("t1", "https://example.org"),
    "web-hook delete": ("t1", "w1"),
    "web-hook list": ("t1",),
    "web-hook retry": ("t1", "w1"),
}
"""All commands that ask a server, each with arguments."""

ELSEWHERE = {"play", "bot run", "mcp", "conformance", "match import"}
"""Commands with tests of their own: they play, or make a match for each game of a file."""

LIVE = {"ratings arranged", "ratings export", "tournament watch", "watch"}
"""What these draw on a terminal moves; their console has a test of its own."""


def test_every_command_that_asks_a_server_is_here() -> None:
    app, found = build(), set()
    for words in with_subcommands(app, ()):
        command = app
        for word in words:
            command = command[word]
        if command.default_command and _asks_a_server(command.default_command):
            found.add(" ".join(words))
    assert found == COMMANDS.keys() | ELSEWHERE


def _asks_a_server(command: Callable[..., object]) -> bool:
    """Return whether a command has the options of a connection, by themselves or in a class of options."""
    hints = get_type_hints(command)
    kinds = {kind for hint in hints.values() for kind in (hint, *get_args(hint))}
    return "connection" in hints or any("connection" in getattr(kind, "__dataclass_fields__", ()) for kind in kinds)


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


@pytest.mark.long
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


@pytest.mark.parametrize(
    ("command", "on_terminal"),
    [
        pytest.param(command, shown, marks=pytest.mark.long if shown else ())
        for command in COMMANDS
        for shown in (False, True)
        if not (shown and command in LIVE)
    ],
    ids=str,
)
def test_a_command_shows_any_text_of_a_server_safely(
    arbiter: Arbiter,
    hostile_server: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    command: str,
    on_terminal: bool,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cup.toml").write_text('name = "cup"\nformat = "round_robin"\ngames = ["hop-it"]\ntime = "10s"\n')
    Path("cup.trf").write_text("001    1")
    monkeypatch.setenv("ARBITER_SERVER", hostile_server)
    monkeypatch.setenv("ARBITER_TOKEN", "secret")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: on_terminal)
    for form in ((), ("--json",)) if command in ("leaderboard", "compare") else ((),):
        ran = arbiter(*command.split(), *COMMANDS[command], *form)
        assert ran.out or ran.err
        assert ran.code != 2, ran.err
        _check(ran.out + ran.err, on_terminal)
