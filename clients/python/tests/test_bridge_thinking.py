"""How long a program has thought about its answer, and answers that come as its time is over."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import arbiter_client as arb
import pytest
from arbiter_client import bridge
from arbiter_client.bridge.child import new_pipes
from arbiter_client.bridge.program import Program

# Asked for the first time it does what its first argument says, then `move a1`. Its second argument is a file.
PROGRAM = r"""
import os, sys
for line in sys.stdin:
    word = line.split()[0]
    if word == "arbiter":
        print("name scribe\nready", flush=True)
    elif word == "go":
        first = not os.path.exists(sys.argv[2])
        open(sys.argv[2], "a").close()
        if first and sys.argv[1] == "crash":
            sys.exit(3)
        print(sys.argv[1] if first else "move a1", flush=True)
    elif word == "quit":
        break
"""


class HeldEnds:
    """A process whose ends of the pipes the test holds."""

    returncode = None

    def __init__(self) -> None:
        self.its_input, self.into, self.out, self.its_output = new_pipes()

    async def wait(self) -> None:
        raise AssertionError("it does not end")

    def kill(self) -> None:
        raise AssertionError("it is needed")


def turn_of(game: str) -> arb.Turn:
    match = arb.LiveMatch("m1", game, 1, "bob", "none")
    return arb.Turn(game, 1, 0, "", (), (), 0, 0, "", False, "bob", (), None, (), 0, 1, match)


async def test_an_answer_that_is_in_the_pipe_when_its_time_is_over_is_taken() -> None:
    child = HeldEnds()
    program = Program(child, bridge.Uci(), "engine")
    asyncio.get_running_loop().call_later(0, os.write, child.its_output, b"bestmove e2e4\n")  # before the time is over
    assert await program.ask(bridge.Question(turn_of("chess"), None, None, None), 0.0) == arb.Move("e2e4")
    for handle in (child.its_input, child.its_output):
        os.close(handle)


@pytest.mark.parametrize(
    ("begun", "does", "says"),
    [
        (True, "move a1", True),
        (True, "offer a1", True),
        (True, "crash", False),  # its failure and its start are its own time
        (False, "move a1", False),
    ],
)
async def test_a_move_says_how_long_the_program_has_thought(tmp_path: Path, begun: bool, does: str, says: bool) -> None:
    command = [sys.executable, "-c", PROGRAM, does, str(tmp_path / "asked")]
    turn = turn_of("pods")
    async with bridge.ProgramBot(command, await bridge.introduce(command)) as bot:
        if begun:
            await bot.started(turn.match)
        asked_s = time.monotonic()
        choice = await bot.choose(turn)
    move = choice.move if isinstance(choice, arb.OfferDraw) else choice
    thought_s = move.thought_s if isinstance(move, arb.Move) else None
    assert (thought_s is not None) == says
    assert 0 <= (thought_s or 0.0) <= time.monotonic() - asked_s
