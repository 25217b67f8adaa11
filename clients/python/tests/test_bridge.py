"""Programs that read and write lines: both formats, and what their failures cause."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import arbiter_client as arb
import grpc
import pytest
from arbiter_client import bridge
from arbiter_protos.v1 import game_pb2
from arbiter_protos.v1.play_pb2 import RecentMove

if TYPE_CHECKING:
    from conftest import Messages, Peer

# At each turn the program does what the next line of a file says; it records everything that it reads.
PROGRAM = r"""
import os, pathlib, sys, time
here = pathlib.Path(sys.argv[1])
def say(line):
    sys.stdout.write(line + "\n"); sys.stdout.flush()
with (here / "read").open("a") as notes:
    for line in sys.stdin:
        notes.write(line); notes.flush()
        word = line.split()[0]
        if word == "arbiter":
            say("name scribe"); say("version 7"); say("games pods hop-it"); say("moves 2"); say("# hello"); say("ready")
        elif word == "quit":
            break
        elif word == "go":
            todo = (here / "todo").read_text().splitlines()
            (here / "todo").write_text("\n".join(todo[1:]))
            if todo[0] == "crash":
                os._exit(3)
            elif todo[0] == "silence":
                (here / "silent").write_text("so it is")
            else:
                data = todo[0].encode("latin-1").decode("unicode_escape").encode("latin-1")
                sys.stdout.buffer.write(data + b"\n"); sys.stdout.flush()
"""


class ScriptedProgram:
    """A folder with a program that follows orders and records what it reads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "program.py").write_text(PROGRAM)
        os.mkfifo(folder / "silent")
        self.command = [sys.executable, str(folder / "program.py"), str(folder)]

    def order(self, *todo: str) -> None:
        (self.folder / "todo").write_text("\n".join(todo))

    async def silent(self) -> None:
        """Wait until the program has a turn and writes nothing."""
        await asyncio.to_thread((self.folder / "silent").read_text)

    def read(self) -> list[str]:
        return (self.folder / "read").read_text().splitlines()


@pytest.fixture
def program(tmp_path: Path) -> ScriptedProgram:
    return ScriptedProgram(tmp_path)


@asynccontextmanager
async def playing(peer: Any, program: ScriptedProgram, called: str = "", **limits: Any) -> Any:
    """Connect the program to the peer, and yield its stream after both hellos."""
    introduction = await bridge.introduce(program.command)
    async with bridge.ProgramBot(program.command, introduction, None, bridge.Limits(**limits), called) as bot:
        task = asyncio.create_task(arb.play(bot, peer.address, token="secret"))
        try:
            stream = await peer.stream()
            stream.hello = await stream.meet()
            yield stream
        finally:
            task.cancel()
            await asyncio.wait([task])


def listed(*moves: str) -> list[game_pb2.LegalMove]:
    return [game_pb2.LegalMove(text=move) for move in moves]


@pytest.mark.long
async def test_a_program_receives_a_match_its_turns_and_its_end(
    peer: Peer, message: type[Messages], program: ScriptedProgram
) -> None:
    program.order("move b1 evaluation 612 line b1 c2", "offer d4")
    async with playing(peer, program) as stream:
        hello = stream.hello
        assert (hello.bot_name, hello.bot_version, list(hello.games)) == ("scribe", "7", ["pods", "hop-it"])
        assert hello.extras.legal_moves_up_to == 2
        await stream.say(match=message.match(time_control="1m+1s", rated=True))
        await stream.say(turn=message.turn(0, legal_moves=listed("a1", "b1")))
        act = await stream.read("move")
        assert (act.move.move, act.move.comment.evaluation, list(act.move.comment.line)) == ("b1", 612, ["b1", "c2"])
        await stream.receipt(act)
        answer = RecentMove(ply=1, seat=2, move="c2")
        await stream.say(turn=message.turn(2, last_moves=[answer], legal_moves=listed("d4"), draw_claim="no_progress"))
        await stream.receipt(await stream.read("offer_draw"))
        await stream.receipt(await stream.read("move"))
        await stream.say(ended=message.ended())
        await stream.read("acknowledge")
    read = program.read()
    begin = read.index("match pods seat 1 time 1m+1s rated yes id m1 bob")
    assert read[begin + 1 : begin + 6] == ["turn 0", "position after 0", "played 0", "moves 2 a1 b1", "go"]
    played = ["played 2 b1 c2", "last 1 2 c2"]
    second = ["turn 2", "position after 2", *played, "claimable no_progress", "moves 1 d4", "go"]
    assert read[begin + 6 :] == [*second, "end won territory", "quit"]


@pytest.mark.long
async def test_a_crashed_program_is_restarted_and_gets_the_same_turn(
    peer: Peer, message: type[Messages], program: ScriptedProgram, caplog: pytest.LogCaptureFixture
) -> None:
    program.order("crash", "move a1")
    async with playing(peer, program) as stream:
        await stream.say(match=message.match())
        await stream.say(turn=message.turn(0, legal_moves=listed("a1")))
        assert (await stream.read("move")).move.move == "a1"
    assert [line for line in program.read() if line.startswith("match ")] == [
        "match pods seat 1 time 1m+1s rated no id m1 bob"
    ] * 2
    assert "it ended with exit code 3; it is started again" in caplog.text


@pytest.mark.long
@pytest.mark.parametrize(
    ("does", "told"),
    [
        ("silence", "it did not answer within 0.2 s"),
        ("sing", "it did not answer within 0.2 s ('sing': expected move TEXT"),
        ("move", "'move': expected move TEXT"),
        ("crash", "exit code 3"),
    ],
)
async def test_a_program_that_fails_in_too_many_turns_resigns_only_its_match(
    peer: Peer,
    message: type[Messages],
    program: ScriptedProgram,
    caplog: pytest.LogCaptureFixture,
    does: str,
    told: str,
) -> None:
    program.order(does, does, "move a1", does)
    async with playing(peer, program, restarts=1, move_s=0.2) as stream:
        await stream.say(turn=message.turn(0, legal_moves=listed("a1")))
        await stream.receipt(await stream.read("move"))  # two failures in a turn cost what one does
        answer = RecentMove(ply=1, seat=2, move="c2")
        await stream.say(turn=message.turn(2, last_moves=[answer], legal_moves=listed("b1")))
        assert (await stream.read("resign")).match_id == "m1"
        program.order("move b1")
        await stream.say(turn=message.turn(0, "m2", legal_moves=listed("b1")))
        act = await stream.read("move")
        assert (act.match_id, act.move.move) == ("m2", "b1")
    assert told in caplog.text
    assert "the match is resigned" in caplog.text


@pytest.mark.long
async def test_a_program_that_fails_again_and_again_in_a_turn_without_a_clock_resigns(
    peer: Peer, message: type[Messages], program: ScriptedProgram, caplog: pytest.LogCaptureFixture, monkeypatch: Any
) -> None:
    monkeypatch.setattr("arbiter_client.bridge.bot.STARTS_A_TURN", 3)
    program.order("crash", "crash", "crash")
    async with playing(peer, program) as stream:
        await stream.say(turn=message.turn(0, legal_moves=listed("a1")))
        assert (await stream.read("resign")).match_id == "m1"
    assert caplog.text.count("it is started again") == 2


# What a program may print by mistake beside its answer `move a1`; `\\n` ends a line.
MISTAKES = {
    "a message of an engine": "info depth 4 score 12\\nmove a1",
    "a remark in Latin-1": "# Z\\xfcge\\nmove a1",
    "a line in Latin-1": "Z\\xfcge\\nmove a1",
    "zeros": "\\0\\0\\nmove a1",
    "words that begin like an answer": "move ordering took 5 ms\\nmove a1",
    "carriage returns": "info\\r\\nmove a1\\r",
    "a byte-order mark": "\\xef\\xbb\\xbfmove a1",
    "an evaluation that is no number": "move a1 evaluation good line a1 b2",
    "an answer twice": "move a1\\nmove a1",
    "two answers": "move a1\\nmove a2",
    "an answer and a resignation": "move a1\\nresign",
    "an answer and half of one": "move a1\\nmove",
    "a long line": "x" * 1_200_000 + "\\nmove a1",
    "many lines": "info\\n" * 50_000 + "move a1",
}


@pytest.mark.long
@pytest.mark.parametrize("mistake", MISTAKES)
async def test_what_a_program_prints_by_mistake_costs_no_match(
    peer: Peer, message: type[Messages], program: ScriptedProgram, caplog: pytest.LogCaptureFixture, mistake: str
) -> None:
    program.order(*[MISTAKES[mistake]] * 3)
    async with playing(peer, program, restarts=0) as stream:
        for ply in (0, 2, 4):
            last = [RecentMove(ply=ply - 1, seat=2, move="c2")] if ply else []
            await stream.say(turn=message.turn(ply, last_moves=last, legal_moves=listed("a1", "a2")))
            act = await stream.read("move")
            assert (act.move.move, act.move.ply) == ("a1", ply)
            await stream.receipt(act)
    if mistake not in ("a remark in Latin-1", "a byte-order mark"):
        assert "scribe" not in caplog.text.partition("skipped (so far 1): ")[0]
        assert len(caplog.text.partition("skipped (so far 1): ")[2].partition("\n")[0]) in range(10, 300)
    assert program.read().count("arbiter 1") == 2  # one for the introduction: it was never started again


@pytest.mark.long
async def test_the_end_of_a_match_ends_a_running_choice_and_the_next_match_gets_a_new_process(
    peer: Peer, message: type[Messages], program: ScriptedProgram
) -> None:
    program.order("silence", "move a1")
    async with playing(peer, program) as stream:
        await stream.say(turn=message.turn(0, legal_moves=listed("z9")))
        await program.silent()
        await stream.say(ended=message.ended())
        await stream.read("acknowledge")
        await stream.say(turn=message.turn(0, "m2", legal_moves=listed("a1")))
        assert (await stream.read("move")).match_id == "m2"
    assert program.read().count("arbiter 1") == 3  # one for the introduction


@pytest.mark.long
async def test_a_process_is_used_for_one_match_after_another(
    peer: Peer, message: type[Messages], program: ScriptedProgram
) -> None:
    program.order("move a1", "move a1")
    async with playing(peer, program) as stream:
        for match in ("m1", "m2"):
            await stream.say(turn=message.turn(0, match, legal_moves=listed("a1")))
            await stream.receipt(await stream.read("move"))
            await stream.say(ended=message.ended(match, cursor=match))
            await stream.read("acknowledge")
    assert program.read().count("arbiter 1") == 2


@pytest.mark.long
async def test_simultaneous_matches_have_a_process_each(
    peer: Peer, message: type[Messages], program: ScriptedProgram
) -> None:
    program.order("silence", "move a1")
    async with playing(peer, program) as stream:
        await stream.say(turn=message.turn(0, "m1", legal_moves=listed("a1")))
        await program.silent()
        await stream.say(turn=message.turn(0, "m2", legal_moves=listed("a1")))
        assert (await stream.read("move")).match_id == "m2"


@pytest.mark.long
async def test_a_long_list_of_moves_is_requested_or_left_out(
    peer: Peer, message: type[Messages], program: ScriptedProgram
) -> None:
    program.order("move a1")
    peer.answers["LegalMoves"] = ["a1", "b1", "c1"]
    async with playing(peer, program) as stream:
        await stream.say(turn=message.turn(0))
        assert (await stream.read("move")).move.move == "a1"
    assert not [line for line in program.read() if line.startswith("moves")]


async def test_a_refusal_is_sent_with_the_turn(peer: Peer, message: type[Messages], program: ScriptedProgram) -> None:
    program.order("move bad", "move good")
    async with playing(peer, program) as stream:
        await stream.say(turn=message.turn(0, legal_moves=listed("good")))
        await stream.refuse(await stream.read("move"), "MOVE_ILLEGAL", grpc.StatusCode.FAILED_PRECONDITION)
        assert (await stream.read("move")).move.move == "good"
    assert "refused MOVE_ILLEGAL said MOVE_ILLEGAL" in program.read()


def test_errors_name_the_program_and_not_its_wrapper(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(arb.BotFailed, match=r"^my-bot --fast: it ended with exit code 4$"):
        bridge.run(["sh", "-c", "exit 4"], called="my-bot --fast")
    with pytest.raises(arb.BotFailed, match=r"^sh -c 'exit 4': it ended with exit code 4$"):
        bridge.run(["sh", "-c", "exit 4"])


@pytest.mark.long
async def test_failures_in_a_match_name_the_program_and_not_its_wrapper(
    peer: Peer, message: type[Messages], program: ScriptedProgram, caplog: pytest.LogCaptureFixture
) -> None:
    program.order("crash", "move a1")
    async with playing(peer, program, called="./scribe.py --calm") as stream:
        await stream.say(turn=message.turn(0, legal_moves=listed("a1")))
        assert (await stream.read("move")).move.move == "a1"
    assert "./scribe.py --calm in match m1 at ply 0: it ended with exit code 3; it is started again" in caplog.text


@pytest.mark.long
@pytest.mark.parametrize(
    "text",
    [
        # Its output waits in a buffer.
        "import sys\nout = open(1, 'w')\nfor line in sys.stdin: print('ready', file=out)",
        # Its input does: it reads until the end of the stream before it answers.
        "import sys\nsys.stdin.read(); print('ready', flush=True)",
    ],
)
async def test_a_program_with_buffered_input_or_output_gets_a_hint(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    file = tmp_path / "program.py"
    file.write_text(text)
    with pytest.raises(
        bridge.ProgramFailed, match=r"within 1 s \(it wrote only once its input was closed: it must flush"
    ):
        await bridge.introduce([sys.executable, str(file)], limit_s=1, called="./buffered")
    assert "./buffered has not introduced itself for 0.5 s: if it has written its lines, they wait" in caplog.text


@pytest.mark.long
async def test_a_program_that_answers_only_its_first_turn_gets_the_hint_too(
    peer: Peer, message: type[Messages], program: ScriptedProgram, caplog: pytest.LogCaptureFixture
) -> None:
    program.order("silence", "move a1", "silence", "move a2")
    async with playing(peer, program, move_s=1) as stream:
        await stream.say(turn=message.turn(0, legal_moves=listed("a1")))
        await stream.receipt(await stream.read("move"))
        assert "within 1 s (if it has, its line waits in a buffer: it must flush after each line" in caplog.text
        caplog.clear()
        answer = RecentMove(ply=1, seat=2, move="c2")
        await stream.say(turn=message.turn(2, last_moves=[answer], legal_moves=listed("a2")))
        assert (await stream.read("move")).move.move == "a2"
    assert "it did not answer within 1 s; it is started again" in caplog.text  # it is only thinking


async def test_a_program_enters_tournaments_as_its_options_say(peer: Peer, program: ScriptedProgram) -> None:
    introduction = await bridge.introduce(program.command)
    async with bridge.ProgramBot(program.command, introduction) as bot:
        bot.enter_tournaments = True
        task = asyncio.create_task(arb.play(bot, peer.address, token="secret"))
        stream = await peer.stream()
        assert (await stream.meet()).tournaments
        task.cancel()
        await asyncio.wait([task])
