"""Programs before their first turn: they are started before the clock. And what is logged of the dialogue with them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import arbiter_client as arb
import pytest
from arbiter_client import bridge
from arbiter_protos.v1.match_pb2 import PHASE_ACTIVE, PHASE_PENDING

if TYPE_CHECKING:
    from conftest import Messages, Peer

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
    for line in ("scribe < turn 0", "scribe < go", "scribe > move b1", "scribe > name scribe"):
        assert (line in caplog.messages) == dialogue
