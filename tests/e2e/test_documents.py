"""The commands on the pages for operators and organisers, typed literally."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import arbiter_client as arb
import httpx
import pytest

from arbiter.runtime.loopback import free_port
from tests.clients.toolchains import require
from tests.documents import ROOT, block, commands
from tests.e2e.processes import BIN
from tests.processes import WAIT_S, until

pytestmark = pytest.mark.long

BOTS = ("alice", "bob")


class Shell:
    """A shell in a folder: commands find the server on a port of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.token = ""
        self.address = f"127.0.0.1:{free_port()}"
        path = os.pathsep.join((str(BIN), os.environ["PATH"]))
        self.environment = {
            **os.environ,
            "PATH": path,
            "ARBITER_LISTEN": self.address,
            "ARBITER_SERVER": self.address,
            "ARBITER_CREDENTIALS": str(folder / "credentials.json"),
            "PYTHONUNBUFFERED": "1",
            "NO_COLOR": "1",
        }
        for part in ("clients", "deploy"):
            (folder / part).symlink_to(ROOT / part)

    def typed(self, command: str, **names: str) -> str:
        """Run a command, with some words of its page replaced; return the output. The command must succeed."""
        ran = subprocess.run(
            ["bash", "-c", _replaced(command, names)],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, f"{command}: {ran.stdout}{ran.stderr}"
        return ran.stdout

    @contextlib.contextmanager
    def running(self, command: str, until_it_says: str = "", **names: str) -> Iterator[subprocess.Popen[str]]:
        """Run a command while the context lasts; assert that it ends without an error."""
        process = subprocess.Popen(
            ["bash", "-c", f"exec {_replaced(command, names)}"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        with process:
            assert process.stdout is not None
            said = ""
            while until_it_says not in said:
                line = process.stdout.readline()
                assert line, said
                said += line
            self.token = next(iter(re.findall(r"shown only now: (\S+)", said)), self.token)
            try:
                yield process
            finally:
                process.terminate()
                process.stdout.read()
        assert process.returncode == 0

    def client(self) -> arb.BlockingClient:
        """Return a client with the token that the server showed at its first start."""
        return arb.BlockingClient(self.address, token=self.token, patience_s=WAIT_S)


def _replaced(command: str, names: Mapping[str, str]) -> str:
    for word, other in names.items():
        command = command.replace(word, other)
    return command


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_an_operators_day(shell: Shell) -> None:
    (shell.folder / "arbiter.toml").write_text('registration = "invitation"\n')
    page, store = "deploy/OPERATING.md", "deploy/STORE.md"
    backups = {"/backups/2026-11-23": str(shell.folder / "backup")}
    check, rebuild = commands(block(store, "arbiter store check"))
    backup, restore = commands(block(store, "arbiter backup"))
    with shell.running(block(page, "arbiter serve --config arbiter.toml").strip(), "Next:"):
        invite, create, revoke, suspend = commands(block(page, "arbiter player invite"))
        assert shell.typed(invite).strip()
        assert shell.typed(create, NAME="ann").strip()
        token_id = re.findall(r"^\S+", shell.typed("arbiter token list ann"), re.MULTILINE)[-1]
        assert token_id in shell.typed(revoke, TOKEN_ID=token_id)
        assert shell.typed(suspend, NAME="ann") == "Suspended ann.\n"
        assert "No fault found" in shell.typed(check)
        shell.typed(backup, **backups)
    assert "is rebuilt from its log" in shell.typed(rebuild)
    for file in shell.folder.glob("arbiter.*"):
        if file.suffix != ".toml":
            file.unlink()
    assert "is restored" in shell.typed(restore, **backups)
    metrics = f"127.0.0.1:{free_port()}"
    with shell.running(block("deploy/METRICS.md", "arbiter serve").strip(), "Next:", **{"127.0.0.1:9464": metrics}):
        assert "arbiter_matches" in httpx.get(f"http://{metrics}/metrics").text
        assert "ann" in shell.typed("arbiter player list"), "as in the backup"


def test_an_organisers_day(shell: Shell) -> None:
    require("node", "curl", why="a page calls both")
    page = f"127.0.0.1:{free_port()}"
    ports = {"127.0.0.1:7480": page}
    tournaments = "deploy/TOURNAMENTS.md"
    (shell.folder / "cup.toml").write_text(block(tournaments, 'name = "Cup"'))
    create, enter, start, watch, pause, cancel = commands(block(tournaments, "arbiter tournament create"))
    with (
        shell.running(block("deploy/OPERATING.md", "--web-proxy").strip(), "Next:", **ports),
        contextlib.ExitStack() as bots,
    ):
        asked = block("protos/README.md", "curl").strip()
        assert '"publicKeys"' in shell.typed(f"{asked} --silent --fail-with-body", **ports)
        for name in BOTS:
            command = f"{sys.executable} -m arbiter_client.bots.random --quiet --name {name}"
            bots.enter_context(shell.running(command))
        shell.typed("arbiter token create carol")  # carol never connects, so the tournament is still running below
        with shell.client() as admin:
            until(lambda: set(BOTS) <= {player.name for player in admin.list_players()})
            match = shell.typed("arbiter match create hop-it alice bob --time 10s+100ms --rated").strip()
            shell.typed(f"arbiter watch {match}")
            cup = {"TOURNAMENT": shell.typed(create).strip()}
            assert "Entered carol." in shell.typed(enter, **cup)
            shell.typed(start, **cup)
            with shell.running(watch, "Cup", **cup) as watcher:
                assert "paused" in shell.typed(pause, **cup)
                assert "cancelled" in shell.typed(cancel, **cup)
                assert watcher.wait() == 0
        board, rating, compare, export, recompute = commands(block(tournaments, "arbiter leaderboard"))
        assert "alice" in shell.typed(board)
        assert "alice" in shell.typed(rating)
        assert "hop-it" in shell.typed(compare)
        shell.typed(export)
        assert "alice" in shell.typed(recompute)
        for command in commands(block("clients/javascript/README.md", "verify.mjs")):
            said = shell.typed(command, MATCH=match)
        assert "match.jsonl: holds: " in said


@pytest.mark.soak
def test_a_tournament_from_a_file(shell: Shell) -> None:
    said = shell.typed(block("deploy/TOURNAMENTS.md", "arbiter tournament run").strip())
    assert "mcts" in said
    assert (shell.folder / "arbiter-runs").is_dir()


@pytest.mark.soak
def test_a_badge(shell: Shell) -> None:
    shutil.copy(ROOT / "clients" / "python" / "samples" / "first_move.py", shell.folder)
    (command,) = commands(block("deploy/TOURNAMENTS.md", "arbiter conformance"))
    with shell.running("arbiter serve", "Next:"):
        shell.typed("arbiter token create first-move")
        bot = f"{sys.executable} {shell.folder / 'first_move.py'}"
        said = shell.typed(f"{command} --sandbox off", COMMAND=bot, PLAYER="first-move")
    assert "badge" in said
