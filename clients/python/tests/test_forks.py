"""Bots with child processes: a signal for a child ends the child and not the bot, however the child was made."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from arbiter_protos.v1 import game_pb2

if TYPE_CHECKING:
    from conftest import Messages, Peer

pytestmark = pytest.mark.long

# At each turn the bot makes children in one way, ends them by SIGTERM, and plays what they said of their signals.
BOT = """
import multiprocessing, os, signal, subprocess, sys, time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
import arbiter_client as arb

fork = multiprocessing.get_context("fork")

def signals():
    names = [getattr(signal.getsignal(number), "__name__", signal.getsignal(number)) for number in (15, 2)]
    blocked = len(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
    return f"{names[0] == signal.SIG_DFL} {names[1]} {signal.set_wakeup_fd(-1)} {blocked}"

def pool():
    with fork.Pool(2) as workers:
        return workers.apply(signals)

def executor():
    with ProcessPoolExecutor(2, mp_context=fork) as workers:
        said = workers.submit(signals).result()
        try:
            workers.submit(signal.raise_signal, signal.SIGTERM).result()
        except BrokenProcessPool:
            return said
        return "the worker did not end"

def process():
    for _ in range(20):
        child = fork.Process(target=time.sleep, args=(600,))
        child.start()
        child.terminate()  # at once, so that the signal may come before the child runs any code of ours
        child.join()
        if child.exitcode != -signal.SIGTERM:
            return f"exit code {child.exitcode}"
    return pool()

def command():
    reader, writer = os.pipe()
    for more in ({}, {"preexec_fn": lambda: os.write(writer, signals().encode())}):
        child = subprocess.Popen(["sleep", "600"], **more)
        child.terminate()
        if child.wait() != -signal.SIGTERM:
            return f"exit code {child.returncode}"
    return os.read(reader, 99).decode()

class Forks(arb.Bot):
    name = "forks"

    def choose(self, turn):
        return globals()[sys.argv[1]]()

arb.run(Forks(), sys.argv[2], token="secret", quiet=True)
"""


@pytest.mark.parametrize("way", ["pool", "executor", "process", "command"])
async def test_a_signal_for_a_child_does_not_reach_the_bot(
    peer: Peer, message: type[Messages], tmp_path: Path, way: str
) -> None:
    file = tmp_path / "bot.py"
    file.write_text(BOT)
    bot = await asyncio.create_subprocess_exec(sys.executable, str(file), way, peer.address)
    try:
        stream = await peer.stream()
        await stream.meet()
        for match in ("m1", "m2"):
            await stream.say(turn=message.turn(0, match))
            act = await stream.read("move")
            assert act.move.move == "True default_int_handler -1 0"
            await stream.receipt(act)
        bot.send_signal(signal.SIGTERM)  # the bot's own
        await stream.closed()
        assert await asyncio.wait_for(bot.wait(), 240) == 0
    finally:
        if bot.returncode is None:
            bot.kill()
            await bot.wait()


async def test_the_bot_of_the_readme_searches_in_spawned_processes(
    peer: Peer, message: type[Messages], tmp_path: Path
) -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    code = next(block for block in readme.split("```python\n") if "class Cores" in block).partition("```")[0]
    file = tmp_path / "cores.py"
    file.write_text(code)
    bot = await asyncio.create_subprocess_exec(
        sys.executable, str(file), "--server", peer.address, "--token", "secret", "--quiet"
    )
    try:
        stream = await peer.stream()
        await stream.meet()
        moves = [game_pb2.LegalMove(text=text) for text in ("a1", "the longest", "b1")]
        await stream.say(turn=message.turn(0, legal_moves=moves))
        act = await stream.read("move")
        assert act.move.move == "the longest"
        await stream.receipt(act)
        bot.send_signal(signal.SIGTERM)
        await stream.closed()
        assert await asyncio.wait_for(bot.wait(), 240) == 0
    finally:
        if bot.returncode is None:
            bot.kill()
            await bot.wait()
