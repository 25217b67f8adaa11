"""`arbiter demo` as a person uses it: interrupted, resumed, and with its output read by a program."""

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

import httpx
import pytest

from arbiter.cli.demo.plan import BOTS
from arbiter.cli.tournament_run.run_processes import SERVER_MODULE
from tests.arbiter_process import ArbiterProcess
from tests.cli.command import WAIT_S, Arbiter, clean_environment, page
from tests.processes import children, descendants, wait_for_end

pytestmark = pytest.mark.long

SHORT = ("--games", "hop-it", "--time", "1s+100ms", "--rounds", "1", "--concurrency", "2", "--ladder")
SOON_OVER, LONG = (*SHORT, "3s"), (*SHORT, "2m")  # the second value is for runs that end in another way


def begin(directory: Path, *options: str) -> subprocess.Popen[str]:
    words = ("demo", "--directory", str(directory), *options)
    return ArbiterProcess(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment())


def heard(process: subprocess.Popen[str], words: str) -> list[str]:
    """Read lines until one contains these words; return all lines."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if words in line:
            return lines
    raise AssertionError(f"{words!r} was not said: {''.join(lines)}")


def kill(run: subprocess.Popen[str], words: str) -> None:
    """Kill the one bot of the run whose command line contains these words; its sandbox's command line does too."""
    found = [number for number, command in descendants(run.pid).items() if words in command]
    (victim,) = [number for number in found if not any(child in found for child in children(number))]
    os.kill(victim, signal.SIGKILL)


def ends(transcripts: Sequence[Path]) -> Counter[tuple[str, ...]]:
    """Return how often each two players met, from the transcripts; assert that each transcript is complete."""
    met: Counter[tuple[str, ...]] = Counter()
    for file in transcripts:
        events = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        revisions = [event["revision"] for event in events if "revision" in event]
        assert revisions == list(range(1, len(revisions) + 1))
        assert sum(event.get("kind") == "ended" for event in events) == 1
        met[tuple(events[0]["players"])] += 1
    return met


@pytest.mark.soak
def test_an_interrupted_run_resumes_and_plays_every_match_once(tmp_path: Path) -> None:
    stopped = begin(tmp_path, *SOON_OVER)
    heard(stopped, " 1/2  hop-it: ")
    everybody = descendants(stopped.pid)
    stopped.send_signal(signal.SIGTERM)  # the tests of `arbiter tournament run` have SIGINT
    said, complaint = stopped.communicate(timeout=WAIT_S)
    assert (stopped.returncode, complaint) == (130, "")
    again = rf"`arbiter demo --resume --directory {tmp_path}` continues it"
    assert re.search(rf"Stopped: . of 2 games of the Demo swiss had ended\. {again}", said)
    for process in everybody:
        wait_for_end(process)

    resumed = begin(tmp_path, "--resume", "--concurrency", "4")
    said, complaint = resumed.communicate(timeout=2 * WAIT_S)
    assert (resumed.returncode, complaint) == (0, "")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", said)
    ended = re.findall(r"^Demo (\w+): .*\nover \((\w+)\): ", said, re.MULTILINE)
    assert ended == [("swiss", "complete"), ("ladder", "time")]
    tables = said.split("Demo swiss: ")[1]
    for name in BOTS:
        rows = re.findall(rf"^ (?:\d +)?{name} +[-+½\d]", tables, re.MULTILINE)
        assert len(rows) in (2, 3), "two standings, and the ratings of players with an opponent"
    assert "Ratings from all games of both" in said
    assert said.count("Bots run ") == 1, "in a sandbox, or without one"
    met = ends(list(tmp_path.glob("run-1/swiss/transcripts/hop-it/*.jsonl")))
    assert met.total() == 2
    assert set(met.values()) == {1}
    assert ends(list(tmp_path.glob("run-1/ladder/transcripts/hop-it/*.jsonl"))).total() > 0


@pytest.mark.soak
def test_a_killed_run_takes_all_its_processes_along(tmp_path: Path) -> None:
    run = begin(tmp_path, *LONG)
    heard(run, " 1/2  hop-it: ")
    everybody = descendants(run.pid)
    assert len(everybody) > len(BOTS)
    run.kill()
    run.communicate()
    for process in everybody:
        wait_for_end(process)


@pytest.mark.soak
def test_a_dead_bot_and_a_dead_server_are_started_again(tmp_path: Path) -> None:
    run = begin(tmp_path, *LONG)
    watched = page("".join(heard(run, " 1/2  hop-it: ")))
    assert "Demo swiss" in httpx.get(watched).text
    kill(run, "bots.random")
    heard(run, "random ended by itself (signal SIGKILL), is started again in 0.5 s")
    kill(run, SERVER_MODULE)
    heard(run, "the arbiter ended by itself (signal SIGKILL), is started again in 0.1 s")
    heard(run, "  hop-it: ")  # a result: of the Swiss, or of the ladder where the Swiss was over before
    everybody = descendants(run.pid)
    run.send_signal(signal.SIGTERM)
    _, complaint = run.communicate(timeout=WAIT_S)
    assert (run.returncode, complaint) == (130, "")
    for process in everybody:
        wait_for_end(process)


def test_a_port_in_use_gets_one_line(tmp_path: Path) -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        run = begin(tmp_path, *LONG, "--port", str(taken.getsockname()[1]))
        _, complaint = run.communicate(timeout=2 * WAIT_S)
    assert run.returncode == 1
    assert complaint.count("\n") == 1
    assert complaint.startswith("arbiter: the arbiter ended by itself (exit code ")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--resume",), "there is no run in"),
        (("--resume", "--rounds", "3"), "--resume continues a run with the settings that it began with"),
        (("--concurrency", "0"), "0 games at once are too few"),
        (("--port", "70000"), "70000 is not a port"),
        (("--games", "ludo"), "there is no game 'ludo'"),
        (("--time", "soon"), "'soon' is not allowed"),
        (("--rounds", "0"), "'0' is not allowed"),
        (("--ladder", "0s"), "the demo's ladder needs an end"),
    ],
)
def test_mistakes_get_one_line_and_leave_no_folder(
    arbiter: Arbiter, tmp_path: Path, options: tuple[str, ...], complaint: str
) -> None:
    directory = tmp_path / "runs"
    ran = arbiter("demo", "--directory", str(directory), *options)
    assert ran.code in (1, 2)
    assert complaint in ran.complaint
    assert not directory.exists()
