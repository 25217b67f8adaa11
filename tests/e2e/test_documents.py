"""What the pages for operators and organisers show, typed as it stands there."""

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


class Desk:
    """A folder, and a terminal in it: commands find the server on a port of its own."""

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
            "ARBITER_CREDENTIALS": str(folder / "credentials.toml"),
            "PYTHONUNBUFFERED": "1",
            "NO_COLOR": "1",
        }
        for part in ("clients", "deploy"):
            (folder / part).symlink_to(ROOT / part)

    def typed(self, command: str, **names: str) -> str:
        """Run a command, with words of its page replaced by others; return what it printed. It must succeed."""
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
        """Run a command for as long as the context lasts. Its end is in order."""
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
        """Return a client with the token that the first start has shown."""
        return arb.BlockingClient(self.address, token=self.token, patience_s=WAIT_S)


def _replaced(command: str, names: Mapping[str, str]) -> str:
    for word, other in names.items():
        command = command.replace(word, other)
    return command


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_an_operators_day(desk: Desk) -> None:
    (desk.folder / "arbiter.toml").write_text('registration = "invitation"\n')
    runbook = "deploy/README.md"
    backups = {"/backups/2026-11-23": str(desk.folder / "backup")}
    check, rebuild = commands(block(runbook, "arbiter store check"))
    backup, restore = commands(block(runbook, "arbiter store backup"))
    with desk.running(block(runbook, "arbiter serve --config arbiter.toml").strip(), "Next:"):
        invite, create, revoke, suspend = commands(block(runbook, "arbiter player invite"))
        assert desk.typed(invite).strip()
        assert desk.typed(create, NAME="ann").strip()
        token_id = re.findall(r"^\S+", desk.typed("arbiter token list ann"), re.MULTILINE)[-1]
        assert token_id in desk.typed(revoke, TOKEN_ID=token_id)
        assert desk.typed(suspend, NAME="ann") == "Suspended ann.\n"
        assert "No fault found" in desk.typed(check)
        desk.typed(backup, **backups)
    assert "is rebuilt from its log" in desk.typed(rebuild)
    for file in desk.folder.glob("arbiter.*"):
        if file.suffix != ".toml":
            file.unlink()
    assert "is restored" in desk.typed(restore, **backups)
    metrics = f"127.0.0.1:{free_port()}"
    with desk.running(block("deploy/METRICS.md", "arbiter serve").strip(), "Next:", **{"127.0.0.1:9464": metrics}):
        assert "arbiter_matches" in httpx.get(f"http://{metrics}/metrics").text
        assert "ann" in desk.typed("arbiter player list"), "as the backup has it"


def test_an_organisers_day(desk: Desk) -> None:
    require("node", "curl", why="a page calls both")
    page = f"127.0.0.1:{free_port()}"
    ports = {"127.0.0.1:7480": page}
    tournaments = "deploy/TOURNAMENTS.md"
    (desk.folder / "cup.toml").write_text(block(tournaments, 'name = "Cup"'))
    create, enter, start, watch, pause, cancel = commands(block(tournaments, "arbiter tournament create"))
    with (
        desk.running(block("deploy/README.md", "--web-proxy").strip(), "Next:", **ports),
        contextlib.ExitStack() as bots,
    ):
        asked = block("protos/README.md", "curl").strip()
        assert '"publicKeys"' in desk.typed(f"{asked} --silent --fail-with-body", **ports)
        for name in BOTS:
            command = f"{sys.executable} -m arbiter_client.bots.random --quiet --name {name}"
            bots.enter_context(desk.running(command))
        desk.typed("arbiter token create carol")  # who never comes, so that the tournament goes on
        with desk.client() as admin:
            until(lambda: set(BOTS) <= {player.name for player in admin.list_players()})
            match = desk.typed("arbiter match create hop-it alice bob --time 10s+100ms --rated").strip()
            desk.typed(f"arbiter watch {match}")
            cup = {"TOURNAMENT": desk.typed(create).strip()}
            assert "Entered carol." in desk.typed(enter, **cup)
            desk.typed(start, **cup)
            with desk.running(watch, "Cup", **cup) as watcher:
                assert "paused" in desk.typed(pause, **cup)
                assert "cancelled" in desk.typed(cancel, **cup)
                assert watcher.wait() == 0
        board, rating, compare, export, recompute = commands(block(tournaments, "arbiter leaderboard"))
        assert "alice" in desk.typed(board)
        assert "alice" in desk.typed(rating)
        assert "hop-it" in desk.typed(compare)
        desk.typed(export)
        assert "alice" in desk.typed(recompute)
        for command in commands(block("clients/javascript/README.md", "verify.mjs")):
            said = desk.typed(command, MATCH=match)
        assert "match.jsonl: holds: " in said


@pytest.mark.soak
def test_a_tournament_from_a_file(desk: Desk) -> None:
    said = desk.typed(block("deploy/TOURNAMENTS.md", "arbiter tournament run").strip())
    assert "mcts" in said
    assert (desk.folder / "arbiter-runs").is_dir()


@pytest.mark.soak
def test_a_badge(desk: Desk) -> None:
    shutil.copy(ROOT / "clients" / "python" / "samples" / "first_move.py", desk.folder)
    (command,) = commands(block("deploy/TOURNAMENTS.md", "arbiter conformance"))
    with desk.running("arbiter serve", "Next:"):
        desk.typed("arbiter token create first-move")
        bot = f"{sys.executable} {desk.folder / 'first_move.py'}"
        said = desk.typed(f"{command} --sandbox off", COMMAND=bot, PLAYER="first-move")
    assert "badge" in said
