"""Command lines with any arguments: a command runs, or one line says what is wrong; never a traceback."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.cli.app import COMMANDS, run
from arbiter.games import registry
from tests.cli.command import clean_environment
from tests.fuzz import effort, near, sendable, texts

pytestmark = pytest.mark.long

GOLDEN = Path(__file__).parents[1] / "golden" / "transcripts"
STARTS = tuple(registry.game(name).text(registry.game(name).initial()) for name in registry.BUNDLED)
WORDS = (*registry.BUNDLED, "pods(size=3)", "e5", "--moves", "-m", "--svg", "--key", "a" * 64, "--", "-", "", *STARTS)
DEEDS = (
    "create",
    "list",
    "revoke",
    "show",
    "export",
    "rotate",
    "register",
    "invite",
    "suspend",
    "abort",
    "--all",
    "-o",
)
NOWHERE = "127.0.0.1:1"  #: no server listens there, so that every call fails
# Commands that need no server and end by themselves; and commands that call a server, which does not exist here.
OFFLINE = ("games", "show", "verify")
ASKING = (
    *("match", "transcript", "key", "player", "token", "tournament", "watch", "web-hook"),
    *("leaderboard", "rating", "compare"),
)
LEFT_OUT = {
    **dict.fromkeys(("serve", "demo", "play", "top", "rules", "mcp"), "runs until it is stopped"),
    **dict.fromkeys(("bot", "conformance"), "starts the program that it is given"),
    **dict.fromkeys(("store", "export", "archive", "backup", "restore", "migrate", "doctor"), "opens a store"),
    **dict.fromkeys(("bench", "simulate", "ratings"), "computes for as long as it is told to"),
}


def test_every_command_is_fuzzed_or_left_out_for_a_reason() -> None:
    assert sorted(command.name for command in COMMANDS) == sorted([*OFFLINE, *ASKING, *LEFT_OUT])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Change to an empty folder with credentials, where no server can be found."""
    place = tmp_path_factory.mktemp("fuzz")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        for name in set(os.environ) - set(clean_environment()):
            patch.delenv(name)
        patch.setenv("ARBITER_CREDENTIALS", str(place / "credentials.json"))
        patch.setenv("ARBITER_SERVER", NOWHERE)
        yield place


def ran(*arguments: str) -> int:
    """Run a command; assert that it ends with a documented exit code and message."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(arguments)
    said = err.getvalue()
    assert code in (0, 1, 2), said
    assert "Traceback" not in out.getvalue() + said
    if code:
        assert said.startswith("arbiter: "), said
        assert said.count("\n") == 1, said
    return code


def written(text: str) -> str:
    """Return a text as a command line can carry it."""
    return sendable(text[:2_000]).replace("\0", "")


@pytest.mark.parametrize("command", OFFLINE)
@effort(0.3)
@given(arguments=st.lists(st.one_of(st.sampled_from(WORDS), texts(WORDS)).map(written), max_size=4))
def test_commands_without_a_server(folder: Path, command: str, arguments: list[str]) -> None:
    ran(command, *arguments)


@effort(0.3)
@given(data=st.data())
def test_transcripts_and_keys_from_files(folder: Path, data: st.DataObject) -> None:
    true = (GOLDEN / "hop-it.jsonl").read_text()
    keys = (GOLDEN / "keys.json").read_text()
    content, given_keys = written_file(data, true), written_file(data, keys)
    (folder / "t.jsonl").write_bytes(content)
    (folder / "k.json").write_bytes(given_keys)
    code = ran("verify", "t.jsonl", "--key", "k.json")
    assert code or content == true.encode()


def written_file(data: st.DataObject, text: str) -> bytes:
    """Draw the content of a file: correct, nearly correct, or anything."""
    return data.draw(
        st.one_of(
            st.just(text.encode()), near([text], 2).map(lambda one: sendable(one).encode()), st.binary(max_size=60)
        )
    )


@pytest.mark.parametrize("command", ASKING)
@effort(0.2)
@given(arguments=st.lists(st.one_of(st.sampled_from((*DEEDS, *WORDS)), texts(DEEDS)).map(written), max_size=4))
def test_commands_whose_server_does_not_answer(folder: Path, command: str, arguments: list[str]) -> None:
    ran(command, *arguments)


@effort(0.5)
@given(arguments=st.lists(texts([*OFFLINE, "--help", "--version", "games"]).map(written), max_size=3))
def test_unknown_commands(folder: Path, arguments: list[str]) -> None:
    if not arguments or arguments[0] not in {command.name for command in COMMANDS}:
        ran(*arguments)


@effort(0.2)
@given(data=st.data())
def test_configuration_files_and_addresses(folder: Path, data: st.DataObject) -> None:
    text = data.draw(near(['listen = "nowhere"\nstore = "sqlite:///:memory:"\n'], 3))
    (folder / "arbiter.toml").write_text(sendable(text))
    listen = written(data.draw(near(["nowhere", "127.0.0.1:99999", "0.0.0.0:7400"], 0)))
    assert ran("serve", "--config", "arbiter.toml", "--store", "nothing://here", "--listen", listen)
