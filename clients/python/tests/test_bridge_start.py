"""Programs before their first turn, and their end: introductions, starts before the clock, the log of a dialogue."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import struct
import sys
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import arbiter_client as arb
import pytest
from arbiter_client import bridge
from arbiter_client.bridge.child import starting
from arbiter_client.bridge.program import Program
from arbiter_protos.v1.match_pb2 import PHASE_ACTIVE, PHASE_PENDING

if TYPE_CHECKING:
    from conftest import Messages, Peer

FULL = 60_000  #: bytes in a pipe

PROGRAM = r"""
import sys
with open(sys.argv[1], "a") as notes:
    for line in sys.stdin:
        notes.write(line); notes.flush()
        word = line.split()[0]
        if word == "arbiter":
            print("name scribe\nready", flush=True)
        elif word == "go":
            print("move b1", flush=True)
        elif word == "quit":
            break
"""


@asynccontextmanager
async def playing(peer: Peer, notes: Path, dialogue: bool = False) -> AsyncIterator[Any]:
    """Connect a program, which notes what it reads, to the peer; yield its stream after both hellos."""
    command = [sys.executable, "-c", PROGRAM, str(notes)]
    introduction = await bridge.introduce(command)
    async with bridge.ProgramBot(command, introduction, called="scribe", dialogue=dialogue) as bot:
        task = asyncio.create_task(arb.play(bot, peer.address, token="secret"))
        try:
            stream = await peer.stream()
            hello = await stream.meet()
            assert list(hello.capabilities) == ["ready"]
            yield stream
        finally:
            task.cancel()
            await asyncio.wait([task])


async def test_a_program_is_started_before_its_clock_and_the_server_hears_that_it_is_ready(
    peer: Peer, message: type[Messages], tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    async with playing(peer, notes) as stream:
        await stream.say(match=message.match(phase=PHASE_PENDING))
        assert (await stream.read("ready")).match_id == "m1"
        greeted = notes.read_text().splitlines().count("arbiter 1")
        assert greeted == 2, "it has introduced itself, and was started again for the match"
        await stream.say(match=message.match(phase=PHASE_ACTIVE))
        await stream.say(turn=message.turn(0))
        assert (await stream.read("move")).move.move == "b1"
    read = notes.read_text().splitlines()
    assert read.count("arbiter 1") == 2
    assert sum(line.startswith("match ") for line in read) == 1


@pytest.mark.parametrize("dialogue", [False, True])
async def test_the_dialogue_with_a_program_is_logged_if_it_is_asked_for(
    peer: Peer, message: type[Messages], tmp_path: Path, caplog: pytest.LogCaptureFixture, dialogue: bool
) -> None:
    caplog.set_level("INFO", "arbiter_client")
    async with playing(peer, tmp_path / "notes", dialogue) as stream:
        await stream.say(match=message.match())
        await stream.say(turn=message.turn(0))
        await stream.read("move")
    for line in ("scribe in m1 < turn 0", "scribe in m1 < go", "scribe in m1 > move b1", "scribe > name scribe"):
        assert (line in caplog.messages) == dialogue


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import os; os._exit(4)", "it ended with exit code 4"),
        ("import time; time.sleep(60)", r"did not introduce itself within 0.5 s \(does it write"),
        ("input(); print('hum')", "it ended with exit code 0, after a line that was skipped: 'hum': expected name"),
        ("input(); print('moves ' + 'x' * 999)", "'moves xxx.*…': expected a whole number"),
        ("input(); import sys; sys.stdout.buffer.write(b'\\xff\\n')", "'\ufffd': expected name"),
        ("input(); print('x' * 2_000_000)", "expected at most 1000000 bytes in a line"),
        ("while True: print('tick')", r"it wrote 100001 lines, \d+ bytes, without an answer: 'tick': expected name"),
        ("while True: print('#' * 999_999)", r"it wrote 11 lines, 11000000 bytes, without an answer"),
        ("while True: print('x' * 999_999, end='')", "it wrote .* lines, .* bytes, without an answer"),
    ],
)
async def test_a_program_without_an_introduction_is_named(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "program.py"
    file.write_text(text)
    with pytest.raises(bridge.ProgramFailed, match=why):
        await bridge.introduce([sys.executable, str(file)], limit_s=0.5 if "0.5" in why else 240)


@pytest.mark.long
async def test_a_program_that_has_written_more_than_was_read_can_be_ended(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text("print('ready', flush=True)\nwhile True: print('#' * 99_999, flush=True)")
    program = await Program.start(starting([sys.executable, str(file)]), bridge.Words(), 240, "it")
    output = program._child.out
    asyncio.get_running_loop().remove_reader(output)  # nobody reads what it writes, as after an error
    async with asyncio.timeout(240):
        while struct.unpack("i", fcntl.ioctl(output, termios.FIONREAD, b"\0" * 4))[0] < FULL:  # noqa: ASYNC110
            await asyncio.sleep(0)
        await program.kill()
    assert not program.running


@pytest.mark.long
async def test_a_process_that_a_program_has_left_behind_is_not_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    behind = "import subprocess, sys; print(subprocess.Popen(['sleep', '600'], start_new_session=True).pid, flush=True)"
    file.write_text(f"{behind}\nprint('ready', flush=True)\ninput(); input()")
    program = await Program.start(starting([sys.executable, str(file)]), bridge.Words(), 240, "it")
    async with asyncio.timeout(240):
        await program.kill()
    assert not program.running
    os.kill(int(program._misread.split("'")[1]), signal.SIGKILL)


async def test_a_program_may_introduce_itself_before_it_reads(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text("print('a banner'); print('name early'); print('ready', flush=True); input(); input()")
    assert (await bridge.introduce([sys.executable, str(file)], limit_s=240)).name == "early"


async def test_a_missing_program_can_not_be_started() -> None:
    with pytest.raises(bridge.ProgramFailed, match="it can't be started: No such file"):
        await bridge.introduce(["/nowhere"])
