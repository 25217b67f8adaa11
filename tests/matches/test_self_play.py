"""Matches of a player against itself: one caller, two seats, each with its own clock, strikes and refusals."""

from __future__ import annotations

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.games.contract import Seat
from arbiter.matches import Phase, create, read, replay
from arbiter.matches.canonical import decode, encode
from arbiter.matches.commands import Arrive, ClaimDraw, Create, Leave, OfferDraw, Play, Resign, Tick
from arbiter.matches.events import Party
from arbiter.matches.evolution import ContradictionError
from arbiter.matches.verification import Verification
from tests.matches.heap import games
from tests.matches.table import NOON, Table, receipt, refusal, started

ALONE = ("alice", "alice")


def alone(game: str = "heap", time: str = "1m") -> Table:
    return started(game, time, players=ALONE)


def test_it_is_played_like_any_other() -> None:
    table = alone("heap(stones=6)")
    assert table.match.holders == ("alice",)
    table.play("3", after_ms=1_000)
    table.play("2", after_ms=2_000)
    assert [clock.remaining_ms for clock in table.match.clocks] == [59_000, 58_000]
    decision = table.play("1")
    assert receipt(decision).result is not None
    assert table.match.result is not None
    assert (table.match.result.winner, table.match.result.seat, table.match.result.party) == (1, 1, Party.PLAYER)
    table.check()


@pytest.mark.parametrize("seat", [1, 2])
def test_a_request_is_recognised_from_either_seat(seat: Seat) -> None:
    """The player has moved meanwhile: a repeated request is attributed to the seat to move, and is the same request."""
    table = alone()
    first = table.play("3", request="r")
    again = table.do(Play(seat, "r", 0, "3", table.now))
    assert (again.events, again.answer) == ((), first.answer)
    assert refusal(table.do(Play(seat, "r", 1, "3", table.now))).reason is Reason.REQUEST_ID_REUSED


def test_strikes_are_counted_by_seat() -> None:
    table = alone()
    table.play("?")
    table.play("1")
    table.play("?")
    assert table.match.strikes == (1, 1)
    assert table.match.phase is Phase.ACTIVE
    table.check()


def test_it_offers_itself_no_draw() -> None:
    table = alone("heap(stones=10)")
    answer = refusal(table.do(OfferDraw(1, "o")))
    assert answer.reason is Reason.DRAW_NOT_AVAILABLE
    assert refusal(table.do(OfferDraw(1, "o"))).message == answer.message
    assert receipt(table.do(ClaimDraw(1, "c"))).result is not None  # the rules may give a draw
    table.check()


def test_the_seat_to_move_resigns_and_flags() -> None:
    table = alone()
    table.play("1")
    table.do(Resign(2, "r"))
    assert table.match.result is not None
    assert (table.match.result.winner, table.match.result.seat) == (1, 2)
    late = alone(time="5s")
    late.do(Tick(), 60_000)
    assert late.match.result is not None
    assert (late.match.result.reason, late.match.result.seat) == ("time", 1)


def test_nobody_connects_or_comes_back() -> None:
    table = Table(players=ALONE)
    table.do(Tick(), 60_000)
    assert table.match.result is not None
    assert (table.match.result.reason, table.match.result.party) == ("no_show", Party.PLAYERS)
    table = Table(time="none", players=ALONE)
    assert table.kinds(Arrive(1)) == ["arrived"]
    assert table.kinds(Arrive(2)) == ["arrived", "started"]
    table.do(Leave(1))
    table.do(Leave(2))
    table.do(Tick(), 60_000)
    assert table.match.result is not None
    assert (table.match.result.reason, table.match.result.party) == ("abandonment", Party.PLAYERS)
    table.check()


def test_it_is_never_rated() -> None:
    with pytest.raises(Refusal) as caught:
        create("m1", Create("heap", ALONE, "1m", "organiser", "r", rated=True), NOON, games)
    assert caught.value.reason is Reason.ARGUMENT_INVALID
    assert caught.value.facts["where"] == "rated"


def test_a_rated_record_of_self_play_is_refused() -> None:
    event = read(encode(decode(Table(players=ALONE).log[0]) | {"rated": True}))
    with pytest.raises(ContradictionError, match="rated"):
        Verification(games).step(event, "0" * 64)
    assert replay([event], games).is_self_play
