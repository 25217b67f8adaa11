"""A tournament with a bot that uses all resources it can get: it is played to its end, and the report names the bot."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from subprocess import PIPE

import pytest

from tests.arbiter_process import ArbiterProcess
from tests.cli.command import Arbiter, clean_environment
from tests.processes import wait_for_end, writing_to

pytestmark = pytest.mark.long

WAIT_S = 240

HOSTILE = """
import os, signal, subprocess, sys, time
import arbiter_client as arb

class Hostile(arb.Bot):
    name, version = "hostile", "1"
    extras = arb.Extras(legal_moves_up_to=5000)

    def choose(self, turn):
        if turn.ply >= 4:
            hog()
        sys.stderr.write("x" * 100_000)
        return self.legal_moves(turn)[0].text

def fill(folder):
    try:
        for number in range(1000):
            with open(f"{folder}/{number}", "wb", buffering=0) as file:
                file.write(b"x" * 100_000)
    except OSError as error:
        print("fills", folder, "until:", error.strerror, file=sys.stderr, flush=True)

def bomb():
    pause = [sys.executable, "-I", "-S", "-c", "import signal; signal.pause()"]
    children = []
    try:
        for _ in range(1000):
            children.append(subprocess.Popen(pause, start_new_session=True))
    except OSError as error:
        print("starts processes until:", error.strerror, file=sys.stderr, flush=True)
    while not os.path.exists("noticed"):  # it stays at its limit until that has been noticed
        time.sleep(0.05)
    for child in children:
        child.kill()
        child.wait()

def hog():
    held = []
    while True:
        held.append(bytearray(b"x" * (8 << 20)))

fill("/tmp")
if not os.path.exists("noticed"):  # a bot that is started again need not reach that limit again
    bomb()
arb.run(Hostile())
"""

CUP = """
name = "With a hostile bot"
format = "round_robin"
games = ["hop-it"]
time = "10s"
rated = false

[sandbox]
memory_mb = 200
processes = 48
tmp_mb = 4

[[bots]]
bot = "random"

[[bots]]
name = "hostile"
command = '{python} hostile.py'
folder = "hostile"
"""


def notes_of_hostile(folder: Path) -> list[str]:
    """Return the run's notes on the hostile bot: its output, and the limits that it has reached."""
    return [file.read_text() for file in folder.glob("arbiter-runs/cup/run-1/bots/hostile/**/*.log")]


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap")
@pytest.mark.timeout(2 * WAIT_S + 60)
def test_a_tournament_with_a_hostile_bot_is_played_to_its_export(tmp_path: Path, arbiter: Arbiter) -> None:
    (tmp_path / "hostile").mkdir()
    (tmp_path / "hostile/hostile.py").write_text(HOSTILE)
    cup = tmp_path / "cup.toml"
    cup.write_text(CUP.format(python=sys.executable))
    words = ["tournament", "run", str(cup), "--sandbox", "require", "--export", "out"]
    run = ArbiterProcess(*words, cwd=tmp_path, stdout=PIPE, stderr=PIPE, env=clean_environment())
    try:
        until = time.monotonic() + WAIT_S
        while not any("[arbiter] the bot had 48 processes" in text for text in notes_of_hostile(tmp_path)):
            assert run.poll() is None, run.communicate()
            assert time.monotonic() < until, notes_of_hostile(tmp_path)
            time.sleep(0.1)
        (tmp_path / "hostile/noticed").touch()
        said, complaint = run.communicate(timeout=WAIT_S)
    finally:
        run.kill()
    assert (run.returncode, complaint) == (0, "")
    assert "over (complete)" in said
    for words_of_limit in (
        "  hostile took more than 200 MiB of memory and was ended (memory_mb)",
        "  hostile had 48 processes and threads, and got no more (processes)",
        "  hostile filled its 4 MiB of /tmp or /dev/shm, and got no more (tmp_mb)",
    ):
        assert words_of_limit in said
    rows = [line.split("\t") for line in (tmp_path / "out/limits.tsv").read_text().splitlines()]
    assert rows[0] == ["bot", "limit", "value", "times"]
    assert {tuple(row[:3]) for row in rows[1:]} == {
        ("hostile", "memory_mb", "200"),
        ("hostile", "processes", "48"),
        ("hostile", "tmp_mb", "4"),
    }
    transcripts = list(tmp_path.glob("out/transcripts/*/*.jsonl"))
    assert transcripts
    for transcript in transcripts:
        assert arbiter("verify", str(transcript), "--key", str(tmp_path / "out/keys.json")).code == 0
    notes = "".join(notes_of_hostile(tmp_path))
    assert "starts processes until: Resource temporarily unavailable" in notes
    assert "fills /tmp until: No space left on device" in notes
    assert "; took more than 200 MiB of memory and was ended (memory_mb)\n" in notes
    for process in writing_to(tmp_path):
        wait_for_end(process)
