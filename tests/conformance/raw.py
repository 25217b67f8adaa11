"""A player of `arbiter.testing.misbehaving` as a program: `python raw.py FAULT`, or without a fault an honest player.

It does not reconnect after a lost stream, nor acknowledge results: use it for clauses that do not need either.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import grpc

from arbiter.testing.bot_faults import BotFault
from arbiter.testing.misbehaving import PLAYERS
from arbiter.testing.player import BotClient


async def main() -> None:
    """Play where the environment says, until SIGTERM."""
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    kind = PLAYERS[BotFault(sys.argv[1])] if len(sys.argv) > 1 else BotClient
    metadata = [("authorization", f"Bearer {os.environ['ARBITER_TOKEN']}")]
    async with grpc.aio.insecure_channel(os.environ["ARBITER_SERVER"]) as channel, kind(channel, metadata):
        await stopped.wait()


if __name__ == "__main__":
    asyncio.run(main())
