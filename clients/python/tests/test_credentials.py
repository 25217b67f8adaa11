"""Credentials: the sources of a token, and the file that stores it."""

from __future__ import annotations

import asyncio
import json
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import arbiter_client as arb
import pytest
from arbiter_client import credentials

if TYPE_CHECKING:
    from conftest import Peer


class Idle(arb.Bot):
    """Never gets a turn."""

    name = "idle"

    def choose(self, turn: arb.Turn) -> str:
        raise AssertionError(turn)


def test_only_the_owner_can_read_a_stored_token(no_surroundings: Path) -> None:
    credentials.save("127.0.0.1:7400", "alice", 'se"cret')
    credentials.save("127.0.0.1:7400", "bob.2", "other")
    credentials.save("there:1", "alice", "third")
    assert stat.S_IMODE(no_surroundings.stat().st_mode) == 0o600
    assert credentials.find("127.0.0.1:7400", "alice") == 'se"cret'
    assert credentials.find("127.0.0.1:7400", "bob.2") == "other"
    assert credentials.find("there:1", "bob.2") is None
    assert credentials.forget("127.0.0.1:7400", "alice")
    assert not credentials.forget("127.0.0.1:7400", "alice")
    assert credentials.entries() == {"127.0.0.1:7400": {"bob.2": "other"}, "there:1": {"alice": "third"}}


def test_tokens_that_are_stored_simultaneously_are_all_kept() -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: credentials.save("here:1", f"bot-{n}", str(n)), range(40)))
    assert credentials.entries()["here:1"] == {f"bot-{n}": str(n) for n in range(40)}


def test_the_environment_names_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ARBITER_CREDENTIALS")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert credentials.path() == tmp_path / "config" / "arbiter" / "credentials.json"
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert credentials.path() == tmp_path / ".config" / "arbiter" / "credentials.json"


TOML = '["here:1"]\nalice = "TOKEN"\n'


def test_a_file_of_an_earlier_version_is_rewritten_as_soon_as_it_is_read(no_surroundings: Path) -> None:
    no_surroundings.write_text(TOML)
    assert credentials.find("here:1", "alice") == "TOKEN"
    assert json.loads(no_surroundings.read_text()) == {"here:1": {"alice": "TOKEN"}}
    assert stat.S_IMODE(no_surroundings.stat().st_mode) == 0o600
    assert credentials.find("here:1", "alice") == "TOKEN"


def test_a_file_with_the_name_of_an_earlier_version_moves(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ARBITER_CREDENTIALS")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "arbiter").mkdir()
    earlier = tmp_path / "arbiter" / "credentials.toml"
    earlier.write_text(TOML)
    credentials.save("here:1", "bob", "SECOND")
    assert credentials.entries() == {"here:1": {"alice": "TOKEN", "bob": "SECOND"}}
    assert json.loads(credentials.path().read_text()) == credentials.entries()
    assert not earlier.exists()
    earlier.write_text('["here:1"]\ncarol = "LATER"\n')  # written by an older client: the new file counts
    assert credentials.find("here:1", "carol") is None


def test_an_earlier_file_that_can_not_be_written_is_only_read(
    monkeypatch: pytest.MonkeyPatch, no_surroundings: Path
) -> None:
    no_surroundings.write_text(TOML)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.mkstemp", full)
    assert credentials.find("here:1", "alice") == "TOKEN"
    assert no_surroundings.read_text() == TOML


def test_the_argument_overrides_the_environment_which_overrides_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    assert credentials.token_for("here:1", "alice") == ""
    credentials.save("here:1", "alice", "kept")
    assert credentials.token_for("here:1", "alice") == "kept"
    monkeypatch.setenv("ARBITER_TOKEN", "from environment")
    assert credentials.token_for("here:1", "alice") == "from environment"
    assert credentials.token_for("here:1", "alice", "given") == "given"


@pytest.mark.parametrize("content", ["[", "alice = 1", "[here]\nalice = 1", "\xff"])
def test_a_broken_file_is_named(no_surroundings: Path, content: str) -> None:
    no_surroundings.write_text(content, encoding="latin-1")
    with pytest.raises(arb.CredentialsError, match=str(no_surroundings)):
        credentials.entries()


async def first_token(peer: Peer, **more: Any) -> str:
    """Play until the stream is open, and return the token that opened it."""
    task = asyncio.create_task(arb.play(Idle(), peer.address, **more))
    stream = await peer.stream()
    task.cancel()
    await asyncio.wait([task])
    return str(dict(stream.context.invocation_metadata())["authorization"])


async def test_a_new_bot_is_registered_and_recognised_the_next_time(peer: Peer) -> None:
    assert await first_token(peer, name="alice") == "Bearer token-1"
    assert credentials.find(peer.address, "alice") == "token-1"
    assert await first_token(peer, name="alice") == "Bearer token-1"
    assert await first_token(peer) == "Bearer token-2"  # the bot's own name
    assert peer.tokens == {"token-1": "alice", "token-2": "idle"}


async def test_a_bot_registers_again_on_a_server_with_a_new_store(peer: Peer) -> None:
    credentials.save(peer.address, "alice", "of the last life")
    assert await first_token(peer, name="alice") == "Bearer token-1"
    assert credentials.find(peer.address, "alice") == "token-1"


@pytest.fixture
def broken_file(no_surroundings: Path) -> None:
    no_surroundings.write_text("{")


@pytest.mark.usefixtures("broken_file")
@pytest.mark.parametrize("from_environment", [True, False])
async def test_with_a_token_the_file_is_not_read(
    peer: Peer, monkeypatch: pytest.MonkeyPatch, from_environment: bool
) -> None:
    if from_environment:
        monkeypatch.setenv("ARBITER_TOKEN", "secret")
    token = {} if from_environment else {"token": "secret"}
    assert await first_token(peer, name="alice", **token) == "Bearer secret"


async def test_a_taken_name_needs_its_token(peer: Peer) -> None:
    peer.tokens["somebody's"] = "alice"
    with pytest.raises(arb.ArbiterError, match="there is a player alice already: give its token") as caught:
        await arb.play(Idle(), peer.address, name="alice")
    assert caught.value.reason is arb.Reason.PLAYER_EXISTS


async def test_a_bot_needs_a_name(peer: Peer) -> None:
    bot = Idle()
    bot.name = ""
    with pytest.raises(arb.CredentialsError, match="who plays"):
        await arb.play(bot, peer.address)
