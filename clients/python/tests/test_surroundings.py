"""Where and as whom a bot plays: options, and the environment for each option that is not given."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import arbiter_client as arb
import pytest
from arbiter_client import cli
from arbiter_client.bots.random import RandomBot
from arbiter_client.channel import NO_TLS, security

if TYPE_CHECKING:
    from conftest import Messages, Peer

pytestmark = pytest.mark.long

SAMPLES = Path(__file__).parents[1] / "samples"
PROGRAMS = {
    "first-move": [str(SAMPLES / "first_move.py")],
    "search": [str(SAMPLES / "search.py")],
    **{name: ["-m", f"arbiter_client.bots.{name}"] for name in ("random", "wire", "greedy", "mcts")},
}


@pytest.mark.parametrize("bot", PROGRAMS)
async def test_a_bot_needs_no_argument_if_the_environment_has_all(peer: Peer, bot: str) -> None:
    said = {"ARBITER_SERVER": peer.address, "ARBITER_TOKEN": "secret", "ARBITER_NAME": "alice"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, *PROGRAMS[bot], env={**os.environ, **said}, stderr=asyncio.subprocess.PIPE
    )
    stream = await peer.stream()
    hello = await stream.meet()
    assert hello.bot_name == bot
    assert dict(stream.context.invocation_metadata())["authorization"] == "Bearer secret"
    process.terminate()
    _, error = await asyncio.wait_for(process.communicate(), 240)
    assert process.returncode == 0
    assert re.fullmatch(rf"\S+ \S+ INFO connected to {peer.address} as alice\n", error.decode())


IDLE = """
import sys
import arbiter_client as arb

class Idle(arb.Bot):
    name = "idle"

    async def choose(self, turn):
        raise AssertionError

arb.run(Idle(), sys.argv[1], token=sys.argv[2], patience_s=float(sys.argv[3]), quiet=len(sys.argv) > 4)
"""


async def program(*arguments: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(sys.executable, "-c", IDLE, *arguments, stderr=pipe)


async def test_a_program_prints_where_it_plays_and_the_results(peer: Peer, message: type[Messages]) -> None:
    process = await program(peer.address, "secret", "10")
    stream = await peer.stream()
    await stream.meet()
    await stream.say(match=message.match())
    await stream.say(ended=message.ended())
    await stream.read("acknowledge")
    process.terminate()
    _, said = await asyncio.wait_for(process.communicate(), 240)
    assert [line.split(" INFO ")[1] for line in said.decode().splitlines()] == [
        f"connected to {peer.address} as alice",
        "m1 begins: pods as seat 1 against bob",
        "m1 has ended: won, by territory",
    ]


async def test_a_program_may_be_quiet(peer: Peer, message: type[Messages]) -> None:
    process = await program(peer.address, "secret", "10", "quiet")
    stream = await peer.stream()
    await stream.meet()
    await stream.say(ended=message.ended())
    await stream.read("acknowledge")
    process.terminate()
    assert (await asyncio.wait_for(process.communicate(), 240))[1] == b""


@pytest.mark.long
@pytest.mark.parametrize("token", ["secret", ""])
async def test_a_missing_server_is_waited_for_with_a_line_and_given_up_with_another(token: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    process = await program(address, token, "600")
    assert process.stderr is not None
    line = (await asyncio.wait_for(process.stderr.readline(), 240)).decode()
    assert re.search(rf"WARNING no arbiter answers at {address}: .*; trying for 600 s$", line)
    process.terminate()
    _, said = await asyncio.wait_for(process.communicate(), 240)
    assert said == b""
    process = await program(address, token, "0.2")
    _, said = await asyncio.wait_for(process.communicate(), 240)
    assert process.returncode == 1
    *waited, given_up = said.decode().splitlines()
    assert all("; trying for 0.2 s" in line for line in waited)  # none, if the first attempt took longer
    assert given_up.startswith(f"-c: no arbiter answers at {address}")


async def test_the_name_of_the_environment_is_registered(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    class Idle(arb.Bot):
        name = "idle"

        async def choose(self, turn: arb.Turn) -> str:
            raise AssertionError(turn)

    monkeypatch.setenv("ARBITER_NAME", "carol")
    for name, expected in (("", "carol"), ("dave", "dave")):
        task = asyncio.create_task(arb.play(Idle(), peer.address, name=name))
        await (await peer.stream()).meet()
        task.cancel()
        await asyncio.wait([task])
        assert list(peer.tokens.values())[-1] == expected


def test_the_certificates_of_the_environment_are_used_if_no_others_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    assert security(None) is NO_TLS
    monkeypatch.setenv("ARBITER_CLIENT_KEY", "")
    assert security(None) is NO_TLS
    monkeypatch.setenv("ARBITER_ROOT_CERTIFICATE", "root.pem")
    assert security(None) == arb.Tls("root.pem")
    monkeypatch.setenv("ARBITER_CLIENT_CERTIFICATE", "mine.pem")
    monkeypatch.setenv("ARBITER_CLIENT_KEY", "mine.key")
    assert security(None) == arb.Tls("root.pem", "mine.pem", "mine.key")
    assert security(arb.Tls("other.pem")) == arb.Tls("other.pem")
    assert security(NO_TLS) is NO_TLS


Runs = list[tuple[arb.Bot, str | None, dict[str, Any]]]  #: bot, server, options


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    """Return what the command line would run: bots, servers and options."""
    runs: Runs = []
    monkeypatch.setattr(cli, "run", lambda bot, server, **more: runs.append((bot, server, more)))
    return runs


def test_each_missing_certificate_is_taken_from_the_environment(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.main(RandomBot, "Plays.", [])
    cli.main(RandomBot, "Plays.", ["--tls"])
    monkeypatch.setenv("ARBITER_ROOT_CERTIFICATE", "root.pem")
    monkeypatch.setenv("ARBITER_CLIENT_CERTIFICATE", "mine.pem")
    cli.main(RandomBot, "Plays.", ["--client-certificate", "given.pem", "--client-key", "given.key"])
    assert [more["tls"] for _, _, more in runs] == [None, arb.Tls(), arb.Tls("root.pem", "given.pem", "given.key")]


def test_options_of_the_command_line_set_those_of_the_bot(runs: Runs) -> None:
    cli.main(
        RandomBot,
        "Plays.",
        [
            *("--seek", "pods(size=5) 1m+1s rated seat=2", "--seek", "hop-it"),
            *("--accept-seeks", "--enter-tournaments", "--matches", "7", "--seed", "3"),
        ],
    )
    ((bot, server, more),) = runs
    assert bot.seeks == [arb.Terms("pods(size=5)", "1m+1s", rated=True, seat=2), arb.Terms("hop-it")]
    assert (bot.accept_seeks, bot.enter_tournaments, server, more["matches"]) == (True, True, None, 7)


def test_a_bot_is_described_by_its_class(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(RandomBot, argv=["--help"])
    assert "Chooses among the legal moves at random" in capsys.readouterr().out


def test_options_that_are_not_given_are_the_bots_own(runs: Runs) -> None:
    class Sociable(RandomBot):
        accept_seeks = True
        enter_tournaments = True
        seeks = (arb.Terms("pods"),)
        games = ("pods",)
        most_matches = 2

    bot = Sociable()
    cli.main(bot, "Plays.", [])
    assert runs[0][0] is bot
    assert (bot.accept_seeks, bot.enter_tournaments, bot.most_matches) == (True, True, 2)
    assert (bot.seeks, bot.games) == ((arb.Terms("pods"),), ("pods",))


@pytest.mark.parametrize(
    "text", ["", "pods rated rated", "pods seat=3", "pods 1m 2m", "pods seat=1 seat=2", "pods colour=red"]
)
def test_malformed_terms_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(cli._SEEK)):
        cli.seek_terms(text)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--nonsense"],
        ["--matches", "many"],
        ["--seek", "pods in blue=1"],
        ["--server", "nowhere"],
        ["--root-certificate", "/there/is/none.pem"],
        ["--client-key", "alone.key"],
        ["more"],
    ],
)
def test_every_mistake_is_one_line_and_exit_code_1(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        cli.main(RandomBot, "Plays.", ["--name", "alice", "--token", "x", *arguments])
    assert done.value.code == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_the_observer_has_the_options_of_the_connection() -> None:
    ran = subprocess.run(
        [sys.executable, SAMPLES / "observer.py", "--help"], capture_output=True, text=True, check=True, timeout=240
    )
    for option in ("--server", "--token", "--root-certificate", "--client-key"):
        assert option in ran.stdout


def test_the_first_sample_is_short_and_equals_that_of_the_readme() -> None:
    sample = (SAMPLES / "first_move.py").read_text("utf-8")
    assert len(sample.splitlines()) <= 40
    shown = re.findall(r"```python\n(.*?)```", (SAMPLES.parent / "README.md").read_text("utf-8"), re.DOTALL)[0]
    assert sample.endswith(f"\n\n{shown}")
