"""`arbiter tournament run` as a person has it: stopped, killed, taken up again; its bots, and what they write."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE

import pytest

from tests.cli.command import COMMAND, WAIT_S, clean_environment
from tests.processes import descendants, wait_for_end

EXAMPLES = Path(__file__).parents[2] / "deploy" / "examples"
FORMATS = ("round-robin", "gauntlet", "swiss", "knockout", "arena", "ladder", "trial")

BOT = '''
import hashlib, os, sys
import arbiter_client as arb

class Digest(arb.Bot):
    """Plays the same move in the same position in every run."""
    name, version = "digest", "7"
    extras = arb.Extras(legal_moves_up_to=5000)

    def choose(self, turn):
        print("thinks about ply", turn.ply, "of", turn.match.match_id, "against", turn.match.opponent, file=sys.stderr)
        moves = sorted(move.text for move in self.legal_moves(turn))
        drawn = hashlib.sha256(f"{os.environ['LUCK']}/{turn.position}".encode()).digest()
        return moves[int.from_bytes(drawn[:8], "big") % len(moves)]

arb.run(Digest())
'''

SWISS = """
name = "Evening cup"
format = "swiss"
games = ["hop-it"]
time = "10s+1s"
options = { rounds = 3 }
openings = { plies = 2, seed = "evening" }
"""


def written(folder: Path, tournament: str, players: Sequence[str] = ("ann", "ben", "cat", "dan")) -> Path:
    """Write a tournament of bots that play the same moves in every run; return its file."""
    (folder / "bot.py").write_text(BOT)
    bots = (
        f'[[bots]]\nname = "{name}"\ncommand = ["{sys.executable}", "bot.py"]\nenv = {{ LUCK = "{name}" }}\n'
        for name in players
    )
    file = folder / "cup.toml"
    file.write_text(tournament + "\n".join(bots))
    return file


@pytest.fixture
def runs() -> Iterator[list[subprocess.Popen[str]]]:
    """Yield a list of processes that are killed at the end."""
    begun: list[subprocess.Popen[str]] = []
    yield begun
    for process in begun:
        process.kill()
        process.communicate()


def begin(runs: list[subprocess.Popen[str]], file: Path, *options: str) -> subprocess.Popen[str]:
    command = [*COMMAND, "tournament", "run", str(file), *options]
    process = subprocess.Popen(command, cwd=file.parent, stdout=PIPE, stderr=PIPE, env=clean_environment(), text=True)
    runs.append(process)
    return process


def heard(process: subprocess.Popen[str], words: str) -> str:
    """Read lines until one holds these words; return them all."""
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if words in line:
            return said
    assert process.stderr is not None
    raise AssertionError(f"{words!r} was not said: {said}{process.stderr.read()}")


def standings(said: str) -> list[str]:
    return [line for line in said.splitlines() if re.match(r"(place|\d+)\t", line)]


def games(folder: Path) -> dict[str, list[str]]:
    """Return the moves of all games by their files, which name the number of the game and its players by seat."""
    found = {}
    for file in (folder / "transcripts").glob("*/*.jsonl"):
        events = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        assert sum(event.get("kind") == "ended" for event in events) == 1
        found[file.name] = [event["move"] for event in events if event.get("kind") == "moved"]
    return found


def test_a_run_that_is_stopped_and_killed_ends_as_one_that_was_not(
    tmp_path: Path, runs: list[subprocess.Popen[str]]
) -> None:
    file = written(tmp_path, SWISS)
    whole = begin(runs, file, "--directory", "whole", "--export", "whole/out", "--sandbox", "require")
    said, complaint = whole.communicate(timeout=WAIT_S)
    assert (whole.returncode, complaint) == (0, "")
    expected = standings(said)
    assert len(expected) == 5

    stopped = begin(runs, file, "--directory", "other", "--sandbox", "require")
    heard(stopped, "  3/4  hop-it: ")
    processes = descendants(stopped.pid)
    stopped.send_signal(signal.SIGINT)
    said, complaint = stopped.communicate(timeout=WAIT_S)
    assert (stopped.returncode, complaint) == (130, "")
    again = r"`arbiter tournament run \S+cup.toml --resume --directory other` goes on"
    assert re.search(rf"Stopped: \d of 4 games had ended\. {again}", said)
    for process in processes:
        wait_for_end(process)

    killed = begin(runs, file, "--directory", "other", "--resume", "--sandbox", "require")
    heard(killed, "  7/8  hop-it: ")
    everybody = {killed.pid, *descendants(killed.pid)}
    assert len(everybody) > 6
    for process in everybody:
        with suppress(ProcessLookupError):  # it has ended with those before it
            os.kill(process, signal.SIGKILL)
    killed.communicate()

    resumed = begin(runs, file, "--directory", "other", "--resume", "--export", "other/out", "--sandbox", "require")
    said, complaint = resumed.communicate(timeout=WAIT_S)
    assert (resumed.returncode, complaint) == (0, "")
    assert standings(said) == expected
    assert len(games(tmp_path / "whole/out")) == 12
    assert games(tmp_path / "other/out") == games(tmp_path / "whole/out")
    keys = ("--key", str(tmp_path / "other/out/keys.json"))
    one = next((tmp_path / "other/out/transcripts").glob("*/*.jsonl"))
    subprocess.run([*COMMAND, "verify", str(one), *keys], check=True, capture_output=True)

    last = begin(runs, file, "--directory", "other", "--resume")
    said, _ = last.communicate(timeout=WAIT_S)
    assert (last.returncode, standings(said)) == (0, expected), "a run that is over says how it ended"
