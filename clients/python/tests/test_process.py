"""A bot as a process: it ends in order at a signal."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import TYPE_CHECKING

import grpc
import pytest

if TYPE_CHECKING:
    from conftest import Peer, Refuse

pytestmark = pytest.mark.long


async def start(peer: Peer) -> asyncio.subprocess.Process:
    """Start the random bot against the peer."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "arbiter_client.bots.random",
        "--server",
        peer.address,
        "--name",
        "alice",
        "--quiet",
        stderr=asyncio.subprocess.PIPE,
    )


@pytest.mark.parametrize("told", [signal.SIGINT, signal.SIGTERM])
async def test_an_interrupted_bot_ends_without_a_message(peer: Peer, told: signal.Signals) -> None:
    process = await start(peer)
    stream = await peer.stream()
    hello = await stream.meet()
    assert hello.bot_name == "random"
    process.send_signal(told)
    _, said = await asyncio.wait_for(process.communicate(), 240)
    assert (process.returncode, said) == (0, b"")


async def test_a_refused_bot_says_why_in_one_line(peer: Peer, refuse: Refuse) -> None:
    process = await start(peer)
    stream = await peer.stream()
    await stream.meet()
    stream.end.set_result(refuse("SESSION_SUPERSEDED", grpc.StatusCode.ABORTED))
    _, said = await asyncio.wait_for(process.communicate(), 240)
    assert process.returncode == 1
    assert said.decode() == "random.py: said SESSION_SUPERSEDED\n"
