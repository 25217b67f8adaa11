"""`arbiter demo` as a person has it: stopped in the middle, taken up again, and read by a program."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from arbiter.cli.demo.plan import PLAYERS
from tests.cli.command import COMMAND, WAIT_S, Arbiter, clean_environment
from tests.processes import wait_for_end, writing_to

SHORT = ("--games", "hop-it", "--time", "1s+100ms", "--concurrency", "2")


def begin(directory: Path, *options: str) -> subprocess.Popen[str]:
    command = [*COMMAND, "demo", "--directory", str(directory), *options]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, env=clean_environment(), text=True)


def heard(process: subprocess.Popen[str], words: str) -> list[str]:
    """Read lines until one holds these words; return them all."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if words in line:
            return lines
    raise AssertionError(f"{words!r} was not said: {''.join(lines)}")


def kill(directory: Path, words: str) -> None:
    """Kill the one process of the run whose command line holds these words."""
    (victim,) = [number for number, command in writing_to(directory).items() if words in command]
    os.kill(victim, signal.SIGKILL)


def ends(transcripts: Sequence[Path]) -> Counter[tuple[str, ...]]:
    """Return how often each two players met, by their transcripts: each must be whole."""
    met: Counter[tuple[str, ...]] = Counter()
    for file in transcripts:
        events = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        revisions = [event["revision"] for event in events if "revision" in event]
        assert revisions == list(range(1, len(revisions) + 1))
        assert sum(event.get("kind") == "ended" for event in events) == 1
        met[tuple(events[0]["players"])] += 1
    return met


@pytest.mark.parametrize("told", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_goes_on_and_plays_every_match_once(tmp_path: Path, told: signal.Signals):
    stopped = begin(tmp_path, *SHORT)
    heard(stopped, " 1/12  hop-it: ")
    stopped.send_signal(told)
    said, complaint = stopped.communicate(timeout=WAIT_S)
    assert (stopped.returncode, complaint) == (130, "")
    assert re.search(
        rf"Stopped: .* of 12 games had ended\. `arbiter demo --resume --directory {tmp_path}` goes on", said
    )
    assert writing_to(tmp_path) == {}

    resumed = begin(tmp_path, "--resume", "--concurrency", "4")
    said, complaint = resumed.communicate(timeout=4 * WAIT_S)
    assert (resumed.returncode, complaint) == (0, "")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", said)
    assert len(re.findall(r"^\d+:\d\d  \d+/12  hop-it: ", said, re.MULTILINE)) == 12
    points = [line.split() for line in said.splitlines() if re.match(r" *\d  \w+ ", line)]
    assert {row[1] for row in points} == set(PLAYERS)
    met = ends(list(tmp_path.glob("run-1/transcripts/hop-it/*.jsonl")))
    assert met == Counter((a, b) for a in PLAYERS for b in PLAYERS if a != b)
    assert writing_to(tmp_path) == {}


def test_a_bot_that_dies_is_started_again(tmp_path: Path):
    run = begin(tmp_path, *SHORT)
    heard(run, " 1/12  hop-it: ")
    kill(tmp_path, "bots.random")
    heard(run, "random ended by itself (signal SIGKILL) and is started again")
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=WAIT_S)
    assert run.returncode == 130


def test_a_run_that_is_killed_takes_everybody_along(tmp_path: Path):
    run = begin(tmp_path, *SHORT)
    heard(run, " 1/12  hop-it: ")
    children = writing_to(tmp_path)
    assert len(children) > len(PLAYERS)
    run.kill()
    run.communicate()
    for child in children:
        wait_for_end(child)
    assert writing_to(tmp_path) == {}


def test_a_server_that_dies_ends_the_run_with_one_line(tmp_path: Path):
    run = begin(tmp_path, *SHORT)
    heard(run, " 1/12  hop-it: ")
    kill(tmp_path, " serve ")
    _, complaint = run.communicate(timeout=WAIT_S)
    assert run.returncode == 1
    assert re.fullmatch(r"arbiter: the arbiter ended by itself \(signal SIGKILL\).*\n", complaint)
    assert not any("bots" in command for command in writing_to(tmp_path).values())


def test_a_port_that_is_taken_gets_one_line(tmp_path: Path):
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        run = begin(tmp_path, *SHORT, "--port", str(taken.getsockname()[1]))
        _, complaint = run.communicate(timeout=2 * WAIT_S)
    assert run.returncode == 1
    assert complaint.count("\n") == 1
    assert complaint.startswith("arbiter: the arbiter ended by itself (exit code ")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--resume",), "there is no run in"),
        (("--resume", "--cycles", "3"), "a run goes on as it was begun"),
        (("--concurrency", "0"), "0 matches at once are too few"),
        (("--port", "70000"), "70000 is no port"),
        (("--games", "chess"), "there is no game 'chess'"),
        (("--time", "soon"), "'soon' is not allowed"),
        (("--cycles", "0"), "'0' is not allowed"),
    ],
)
def test_mistakes_get_one_line_and_leave_no_folder(
    arbiter: Arbiter, tmp_path: Path, options: tuple[str, ...], complaint: str
):
    directory = tmp_path / "runs"
    ran = arbiter("demo", "--directory", str(directory), *options)
    assert ran.code in (1, 2)
    assert complaint in ran.complaint
    assert not directory.exists()
