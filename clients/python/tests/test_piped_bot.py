"""Bundled bots behind pipes: what they are told, what they answer, and how their programs end."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import arbiter_client as arb
import pytest
from arbiter_client import bridge
from arbiter_client.bots.random import RandomBot
from arbiter_client.bridge import piped_bot

WAIT_S = 60.0
JSON = bridge.JsonLines()


@pytest.mark.parametrize(
    "choice",
    [
        arb.Move("a1"),
        arb.Move("a1", 512, ("a1", "b2")),
        arb.OfferDraw(arb.Move("a1", 500)),
        arb.ClaimDraw(),
        arb.Resign(),
    ],
)
def test_a_choice_arrives_as_it_was_made(choice: arb.Choice) -> None:
    assert JSON.choice(piped_bot.choice_line(choice)) == _with_lists(choice)


def _with_lists(choice: arb.Choice) -> arb.Choice:
    """Return a choice with the line as a list, as JSON has it."""
    if isinstance(choice, arb.Move):
        return arb.Move(choice.text, choice.evaluation, list(choice.line))
    return arb.OfferDraw(_with_lists(choice.move)) if isinstance(choice, arb.OfferDraw) else choice  # type: ignore[arg-type]


@pytest.mark.parametrize("seat", [1, 2])
@pytest.mark.parametrize("timed", [True, False])
def test_a_turn_arrives_as_over_the_network(seat: int, timed: bool) -> None:
    match = arb.LiveMatch(
        "m1", "pods", seat, "bob", "40/1m", "40/1m", rated=True, start_position="here", moves=("a", "b")
    )
    own, other = arb.Clock(10_000, 11_000, 0, 7), arb.Clock(8_000, 8_000, 0, 0)
    clocks = ((own, other) if seat == 1 else (other, own)) if timed else ()
    last = (arb.RecentMove(1, 3 - seat, "b"),)
    legal = (arb.LegalMove("c", ()), arb.LegalMove("d", ()))
    turn = arb.Turn(
        "pods", seat, 2, "p", last, clocks, 0, 0, "repetition", True, "bob", (), None, legal, 11_000 * timed, 1, match
    )
    question = bridge.Question(turn, ("c", "d"), 10_980 if timed else None, ("MOVE_ILLEGAL", "no"))
    (told,), (asked,) = JSON.match(match), JSON.question(question)
    there = arb.LiveMatch(**{name: value for name, value in json.loads(told).items() if name != "kind"})
    found = piped_bot.turn_of(there, json.loads(asked))
    for name in (
        "game",
        "seat",
        "ply",
        "position",
        "last_moves",
        "draw_claim",
        "draw_offered",
        "opponent",
        "legal_moves",
    ):
        assert getattr(found, name) == getattr(turn, name), name
    for name in ("match_id", "game", "seat", "opponent", "time_control", "rated", "start_position", "moves"):
        assert getattr(there, name) == getattr(match, name), name
    assert found.refused is not None
    assert (found.refused.reason, found.refused.message) == (arb.Reason.MOVE_ILLEGAL, "no")
    assert [(clock.remaining_ms, clock.moves_left) for clock in found.clocks] == [
        (clock.remaining_ms, clock.moves_left) for clock in clocks
    ]
    assert found.available_ms == (10_980 if timed else 0)


class Program:
    """A program of a bot, from the side of whoever has asked for it."""

    def __init__(self, channel: socket.socket) -> None:
        self.control, its = socket.socketpair()
        self.control.settimeout(WAIT_S)
        given, into = os.pipe()
        out, written = os.pipe()
        socket.send_fds(channel, [b"."], [given, written, its.fileno()])
        its.close()
        os.close(given)
        os.close(written)
        self.into, self.out = os.fdopen(into, "w", 1), os.fdopen(out)

    def tell(self, kind: str, **values: Any) -> None:
        self.into.write(json.dumps({"kind": kind, **values}) + "\n")

    def begin(self, match_id: str) -> None:
        match = arb.LiveMatch(match_id, "pods", 1, "bob", "1m", "1m")
        self.into.write(JSON.match(match)[0] + "\n")

    def turn(self, *moves: str) -> None:
        match = arb.LiveMatch("m", "pods", 1, "bob", "1m", "1m")
        turn = arb.Turn("pods", 1, 0, "p", (), (), 0, 0, "", False, "bob", (), None, (), 0, 1, match)
        self.into.write(JSON.question(bridge.Question(turn, moves, None, None))[0] + "\n")

    def said(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out.readline())
        return found

    def end(self) -> int:
        """Return how it has ended."""
        code = int(self.control.recv(16))
        self.control.close()
        self.out.close()
        self.into.close()
        return code


@contextmanager
def served(bot: arb.Bot) -> Iterator[socket.socket]:
    """Play a bot inside the context; yield the channel on which programs are asked for."""
    ours, its = socket.socketpair()
    thread = threading.Thread(target=piped_bot.serve, args=(bot, its))
    thread.start()
    try:
        yield ours
    finally:
        ours.close()
        thread.join(WAIT_S)
        its.close()
    assert not thread.is_alive()


class Waits(arb.Bot):
    """Chooses once its match is over, or says how many matches it plays."""

    name = "waits"

    def __init__(self) -> None:
        self.thinks = threading.Event()
        self.stopped = threading.Event()

    def choose(self, turn: arb.Turn) -> str:
        """Return a move, which is how many matches are under way; fail if there is none to choose."""
        if not turn.legal_moves:
            raise ZeroDivisionError
        if turn.legal_moves[0].text == "wait":
            self.thinks.set()
            while not turn.match.over:
                self.stopped.wait(0.01)
            self.stopped.set()
        return str(self.playing)


def test_a_program_plays_one_match_after_another_until_its_input_ends() -> None:
    with served(RandomBot(1)) as channel:
        program = Program(channel)
        program.tell("arbiter", version=1)
        ready = {"kind": "ready", "name": "random", "version": "1", "games": [], "moves": piped_bot.ALL_MOVES}
        assert program.said() == ready
        for match_id in ("m1", "m2"):
            program.begin(match_id)
            program.turn("only")
            assert program.said() == {"kind": "move", "move": "only"}
            program.tell("end", outcome="won", reason="territory")
        program.tell("quit")
        program.into.close()
        assert program.end() == 0


def test_matches_under_way_are_counted_over_all_programs() -> None:
    with served(Waits()) as channel:
        programs = [Program(channel) for _ in range(3)]
        for number, program in enumerate(programs, 1):
            program.begin(f"m{number}")
            program.turn("go")
            assert program.said()["move"] == str(number)
        programs[0].tell("end", outcome="won", reason="territory")
        programs[0].into.close()
        assert programs[0].end() == 0
        programs[1].turn("go")
        assert programs[1].said()["move"] == "2"
        for program in programs[1:]:
            program.into.close()
            assert program.end() == 0


def test_a_program_that_is_ended_stops_thinking_and_the_others_go_on() -> None:
    bot = Waits()
    with served(bot) as channel:
        one, other = Program(channel), Program(channel)
        for program in (one, other):
            program.begin("m")
        one.turn("wait")
        assert bot.thinks.wait(WAIT_S)
        one.control.shutdown(socket.SHUT_WR)
        assert one.end() == -signal.SIGKILL
        assert bot.stopped.wait(WAIT_S)
        other.turn("go")
        assert other.said()["kind"] == "move"
        other.into.close()
        assert other.end() == 0


def test_a_program_of_a_bot_that_fails_ends_as_a_process_does_and_its_log_says_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with served(Waits()) as channel:
        program = Program(channel)
        program.begin("m")
        program.turn()
        assert program.end() == 1
    assert "waits failed: ZeroDivisionError" in caplog.text


def test_a_bot_without_a_connection_has_no_client() -> None:
    class Asks(arb.Bot):
        def choose(self, turn: arb.Turn) -> str:
            for end in ("client", "blocking"):
                with pytest.raises(RuntimeError, match="plays without a connection: there is no server to ask"):
                    getattr(self, end)
            return "told"

    with served(Asks()) as channel:
        program = Program(channel)
        program.begin("m")
        program.turn("a")
        assert program.said()["move"] == "told"
        program.into.close()
        assert program.end() == 0
