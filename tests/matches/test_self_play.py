"""Matches of a player against itself: one caller, two seats, each with its own clock, strikes and refusals."""

from __future__ import annotations

import pytest

from arbiter.errors import Reason
from arbiter.event_json.canonical import decode, encode
from arbiter.games.contract import Seat
from arbiter.matches import Phase, create, read, replay
from arbiter.matches.commands import Arrive, ClaimDraw, Create, Leave, OfferDraw, Play, Resign, Tick
from arbiter.matches.events import Party
from arbiter.matches.evolution import ContradictionError
from arbiter.matches.verification import Verification
from tests.matches.heap import games
from tests.matches.logged_match import NOON, LoggedMatch, receipt, refusal, started
from tests.refusals import refusing

ALONE = ("alice", "alice")


def alone(game: str = "heap", time: str = "1m") -> LoggedMatch:
    return started(game, time, players=ALONE)


def test_it_is_played_like_any_other() -> None:
    logged = alone("heap(stones=6)")
    assert logged.match.holders == ("alice",)
    logged.play("3", after_ms=1_000)
    logged.play("2", after_ms=2_000)
    assert [clock.remaining_ms for clock in logged.match.clocks] == [59_000, 58_000]
    decision = logged.play("1")
    assert receipt(decision).result is not None
    assert logged.match.result is not None
    assert (logged.match.result.winner, logged.match.result.seat, logged.match.result.party) == (1, 1, Party.PLAYER)
    logged.check()


@pytest.mark.parametrize("seat", [1, 2])
def test_a_request_is_recognised_from_either_seat(seat: Seat) -> None:
    """The player has moved meanwhile: a repeated request is attributed to the seat to move, and is the same request."""
    logged = alone()
    first = logged.play("3", request="r")
    again = logged.do(Play(seat, "r", 0, "3", logged.now))
    assert (again.events, again.answer) == ((), first.answer)
    assert refusal(logged.do(Play(seat, "r", 1, "3", logged.now))).reason is Reason.REQUEST_ID_REUSED


def test_strikes_are_counted_by_seat() -> None:
    logged = alone()
    logged.play("?")
    logged.play("1")
    logged.play("?")
    assert logged.match.strikes == (1, 1)
    assert logged.match.phase is Phase.ACTIVE
    logged.check()


def test_it_offers_itself_no_draw() -> None:
    logged = alone("heap(stones=10)")
    answer = refusal(logged.do(OfferDraw(1, "o")))
    assert answer.reason is Reason.DRAW_NOT_AVAILABLE
    assert refusal(logged.do(OfferDraw(1, "o"))).message == answer.message
    assert receipt(logged.do(ClaimDraw(1, "c"))).result is not None  # the rules may give a draw
    logged.check()


def test_the_seat_to_move_resigns_and_flags() -> None:
    logged = alone()
    logged.play("1")
    logged.do(Resign(2, "r"))
    assert logged.match.result is not None
    assert (logged.match.result.winner, logged.match.result.seat) == (1, 2)
    late = alone(time="5s")
    late.do(Tick(), 60_000)
    assert late.match.result is not None
    assert (late.match.result.reason, late.match.result.seat) == ("time", 1)


def test_nobody_connects_or_comes_back() -> None:
    logged = LoggedMatch(players=ALONE)
    logged.do(Tick(), 60_000)
    assert logged.match.result is not None
    assert (logged.match.result.reason, logged.match.result.party) == ("no_show", Party.PLAYERS)
    logged = LoggedMatch(time="none", players=ALONE)
    assert logged.kinds(Arrive(1)) == ["arrived"]
    assert logged.kinds(Arrive(2)) == ["arrived", "started"]
    logged.do(Leave(1))
    logged.do(Leave(2))
    logged.do(Tick(), 60_000)
    assert logged.match.result is not None
    assert (logged.match.result.reason, logged.match.result.party) == ("abandonment", Party.PLAYERS)
    logged.check()


def test_it_is_never_rated() -> None:
    with refusing(Reason.ARGUMENT_INVALID) as caught:
        create("m1", Create("heap", ALONE, "1m", "organiser", "r", rated=True), NOON, games)
    assert caught.value.facts["where"] == "rated"


def test_a_rated_record_of_self_play_is_refused() -> None:
    event = read(encode(decode(LoggedMatch(players=ALONE).log[0]) | {"rated": True}))
    with pytest.raises(ContradictionError, match="rated"):
        Verification(games).step(event, "0" * 64)
    assert replay([event], games).is_self_play
