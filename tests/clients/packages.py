"""The clients as a user gets them: from an archive of the tree, by the commands and code that their READMEs show."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import arbiter_client as arb
import pytest

from arbiter.runtime.loopback import free_port
from tests.clients.toolchains import CLIENTS
from tests.documents import blocks
from tests.e2e.processes import BIN, Server
from tests.processes import WAIT_S, until

TREE = "path/to/arbiter"  #: the folder where the READMEs have a checkout or an unpacked archive of the tree
TIMEOUT_S = 1_500


def block(client: str, language: str, has: str) -> str:
    """Return the one code block of a language in a client's README that contains these words."""
    page = f"clients/{client}/README.md"
    found = [each.text for each in blocks(page) if each.language == language and has in each.text]
    assert len(found) == 1, f"{len(found)} blocks of {page} have {has!r}"
    return found[0]


def unpack(folder: Path, *parts: str) -> Path:
    """Unpack an archive of committed parts of the tree to the folder that the READMEs name; return that folder."""
    tree = folder / TREE
    tree.mkdir(parents=True)
    command = ("git", "archive", "HEAD", *parts)
    archive = subprocess.run(command, cwd=CLIENTS.parent, capture_output=True, check=True)
    subprocess.run(("tar", "-x"), cwd=tree, input=archive.stdout, check=True)
    return tree


def shell(commands: str, folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """Run a block of shell commands in a folder; return the output. The test fails if a command fails."""
    ran = subprocess.run(
        ("bash", "-euo", "pipefail", "-c", commands),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
        env={**os.environ, **(environment or {})},
    )
    if ran.returncode != 0:
        said = f"{ran.stdout[-4_000:]}\n{ran.stderr[-4_000:]}"
        pytest.fail(f"these commands ended with {ran.returncode}:\n{commands}\n{said}", pytrace=False)
    return ran.stdout


def meet(
    commands: str, folder: Path, reader: str, environment: Mapping[str, str] | None = None, programs: Path | None = None
) -> None:
    """Have two bots play a match on a real server, by the commands of a README, typed line by line.

    `arbiter serve` runs on a free port. Lines that start bots run in the background; the lines after them wait until
    the players are registered. The match has to end by the rules of the game.

    reader: the command of a README that shows a MATCH: where reading is public it needs no token.
    environment: variables of that command beside those of this process.
    programs: a folder of programs that take precedence over those of the tests, such as another Python.
    """
    server = Server(folder, free_port(), options=["--public"])
    server.start()
    try:
        path = os.pathsep.join(map(str, (*([programs] if programs else []), BIN, os.environ["PATH"])))
        _meet(server, commands, folder, reader, {**(environment or {}), "PATH": path})
    finally:
        status = server.stop()
    assert status == 0


def _are_there(
    organiser: arb.BlockingClient, names: Sequence[str], bots: Sequence[subprocess.Popen[str]], folder: Path
) -> bool:
    """Return whether the players of the bots are registered. The test fails if a bot has ended."""
    assert all(bot.poll() is None for bot in bots), (folder / "programs.log").read_text()
    return set(names) <= {player.name for player in organiser.list_players()}


def _meet(server: Server, commands: str, folder: Path, reader: str, environment: Mapping[str, str]) -> None:
    where = {**server.environment, "PATH": environment["PATH"]}
    names = re.findall(r"--name (\w+)", commands)
    made = ""
    started: list[subprocess.Popen[str]] = []
    with server.client(WAIT_S) as organiser, ExitStack() as bots:
        for line in commands.splitlines():
            command = line.partition("#")[0].strip()
            if command.startswith("arbiter match create"):
                until(lambda: _are_there(organiser, names, started, folder))
                # A match on the default board has a thousand moves, so this one is on the smallest board.
                made = shell(command.replace(" pods ", " 'pods(size=3)' "), folder, where).split()[0]
            elif command and not command.startswith("arbiter serve"):
                words = ["bash", "-c", f"exec {command.removesuffix('&')}"]
                started.append(bots.enter_context(server.running(words, folder, {"PATH": where["PATH"]})))
        assert made, "the block creates no match"
        *_, last = organiser.observe(made)
        match = organiser.get_match(made, with_moves=True)
        players = [player.name for player in organiser.list_players()]
        stranger = {
            **where,
            "ARBITER_CREDENTIALS": str(folder / "nobody.toml"),
            "ARBITER_NAME": "nobody",
            **environment,
        }
        shown = shell(reader.replace("MATCH", made), folder, stranger)
        assert [player.name for player in organiser.list_players()] == players, "a reader is not registered as a player"
    result = match.result
    assert result is not None, last
    assert re.search(rf"^\d+ {re.escape(match.moves[-1])}$", shown, re.MULTILINE), shown
    assert shown.endswith(f"over by {result.reason}\n"), shown
    assert result.cause is arb.Cause.RULES, (result, (folder / "programs.log").read_text())
