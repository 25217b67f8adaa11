"""The command line as a whole: help, mistakes, and which modules each command imports."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from cyclopts import App

from arbiter.cli.app import COMMANDS, build
from tests.cli.command import Arbiter

LARGE = ("bench", "player", "tournament")  #: commands with so many subcommands that `make quick` leaves out their help


def with_subcommands(app: App, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the words of a command, and those of all its subcommands."""
    yield words
    for name in app:
        if not name.startswith("-"):
            yield from with_subcommands(app[name], (*words, name))


def test_help_lists_the_commands(arbiter: Arbiter) -> None:
    ran = arbiter("--help")
    assert ran.code == 0
    for command in COMMANDS:
        assert f" {command.name} " in ran.out


@pytest.mark.parametrize(
    "name", [pytest.param(each.name, marks=pytest.mark.long if each.name in LARGE else ()) for each in COMMANDS]
)
def test_every_command_explains_itself_and_its_subcommands(arbiter: Arbiter, name: str) -> None:
    for words in with_subcommands(build(name)[name], (name,)):
        ran = arbiter(*words, "--help")
        assert (ran.code, ran.err) == (0, ""), words
        assert f"Usage: arbiter {' '.join(words)}" in ran.out


def test_subcommands_are_found() -> None:
    assert ("match", "create") in with_subcommands(build("match")["match"], ("match",))


@pytest.mark.long
def test_help_imports_no_server_code() -> None:
    program = (
        "import sys; from arbiter.cli.app import run; run(['--help']);"
        "sys.exit(', '.join({'grpc', 'sqlalchemy', 'numpy', 'arbiter.games.registry'} & set(sys.modules)) or 0)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "unwanted"),
    [
        ("accounts", "sqlalchemy"),
        ("match", "arbiter.tournaments"),
        ("serve", "arbiter_client"),
        ("serve_here", "arbiter_client psycopg sqlalchemy.dialects.postgresql"),
    ],
)
def test_no_command_imports_what_only_another_one_or_another_database_needs(command: str, unwanted: str) -> None:
    program = f"import sys, arbiter.cli.{command}; sys.exit(' '.join({{*{unwanted.split()}}} & {{*sys.modules}}) or 0)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("frobnicate",), 'Unknown command "frobnicate".'),
        (("games", "pods", "elevation"), "nothing here takes 'elevation'"),
        (("match", "create", "pods"), "requires an argument"),
        (("token", "create", "alice", "--scope", "everything"), "everything"),
        (("play", "pods", "--seat", "3"), "--seat"),
    ],
)
def test_wrong_usage_is_one_line_and_code_2(arbiter: Arbiter, words: tuple[str, ...], complaint: str) -> None:
    ran = arbiter(*words)
    assert ran.code == 2
    assert complaint in ran.complaint


def test_version(arbiter: Arbiter) -> None:
    assert arbiter("--version").out.strip() == "0.1.0"


@pytest.mark.long
def test_a_closed_standard_output_is_no_error() -> None:
    writer = subprocess.Popen(
        [sys.executable, "-m", "arbiter", "rules", "hop-it"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert writer.stdin is not None
    assert writer.stdout is not None
    writer.stdout.close()
    _, err = writer.communicate("new\n" * 10)
    assert (writer.returncode, err) == (1, "")
