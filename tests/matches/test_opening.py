"""Openings: moves before the clocks start, checked when the match is created, and recorded."""

from __future__ import annotations

import pytest

from arbiter.errors import Reason
from arbiter.event_json.canonical import MalformedRecordError, decode, encode
from arbiter.matches import Phase, claimable, create, replay
from arbiter.matches.commands import Abort, Create, Interrupt, Interruption, Resign
from arbiter.matches.events import Created, Ended, Moved, Started
from arbiter.matches.evolution import MOST_OPENING_MOVES, ContradictionError
from arbiter.matches.notation import WrittenMove
from arbiter.matches.notation import read as read_text
from arbiter.matches.notation import write as write_text
from arbiter.matches.policy import ClockStart
from arbiter.matches.record import read, read_record
from arbiter.matches.verification import Verification
from tests.matches.heap import games
from tests.matches.logged_match import NOON, LoggedMatch, policy, receipt, refusal, started
from tests.refusals import refusing


def made(*opening: str, game: str = "heap(stones=9)", start: ClockStart = ClockStart.WHEN_PRESENT) -> Create:
    return Create(game, ("alice", "bob"), "1m", "organiser", "r", policy(start=start), opening=opening)


def verified(logged: LoggedMatch) -> None:
    """Assert that the record is valid and complete."""
    retracing = Verification(games)
    for number, data in enumerate(logged.log, 1):
        after = logged.log[number] if number < len(logged.log) else None
        digest = read_record(after).previous if after is not None else logged.match.digest
        retracing.step(read(data), digest)
    assert retracing.match == logged.match


def test_a_match_goes_on_from_its_opening() -> None:
    logged = started("heap(stones=9)", opening=("3", "1", "2"))
    match = logged.match
    assert (match.text, match.ply, match.turn, match.phase) == ("3 2 0", 3, 2, Phase.ACTIVE)
    assert (match.moves, match.turns) == (("3", "1", "2"), b"\1\2\1")
    assert isinstance(logged.events[-1], Started)
    assert (logged.events[-1].turn, logged.events[-1].position) == (2, "3 2 0")
    decision = logged.play("3")
    assert receipt(decision).ply == 4
    moved, ended = decision.events
    assert isinstance(moved, Moved)
    assert isinstance(ended, Ended)
    assert (moved.ply, moved.seat, ended.winner) == (3, 2, 2)
    logged.check()
    verified(logged)


def test_the_position_says_whose_turn_it_is() -> None:
    logged = started("heap(stones=30,handicap=3)", opening=("1", "1"))
    assert (logged.match.turn, logged.match.turns) == (1, b"\1\1")
    verified(logged)


def test_the_receipt_of_a_match_that_starts_at_once() -> None:
    decision = create("m1", made("3", "1", start=ClockStart.AT_ONCE), NOON, games)
    assert receipt(decision).ply == 2
    assert [event.kind.value for event in decision.events] == ["created", "started"]
    assert replay(decision.events, games).text == "5 1 0"


def test_nobody_is_charged_for_an_opening() -> None:
    logged = started("heap(stones=30)", "3/10s", opening=("1", "1", "1"))
    assert [clock.moves_left for clock in logged.match.clocks] == [3, 3]
    for _ in range(3):
        logged.play("1", after_ms=1_000)
        logged.play("1", after_ms=2_000)
    assert [(clock.remaining_ms, clock.moves_left) for clock in logged.match.clocks] == [(14_000, 3), (17_000, 3)]
    assert len(logged.match.requests) == 6
    logged.check()
    verified(logged)


def test_repetition_counts_the_positions_of_an_opening() -> None:
    """The initial position occurs twice in this opening, so its next occurrence is the third."""
    to_and_fro = ("a3xa1", "f2-e2", "a1xa3", "e2-f2")
    logged = started("hop-it", opening=to_and_fro)
    for move in to_and_fro:
        logged.play(move)
    assert logged.match.result is not None
    assert logged.match.result.reason == "repetition"
    logged.check()
    verified(logged)


def test_a_draw_that_the_opening_leads_to_can_be_claimed() -> None:
    assert claimable(started("heap(stones=12)", opening=("1", "1")).match) == "even"


@pytest.mark.parametrize(
    ("opening", "reason", "facts"),
    [
        (("3", "?"), Reason.MOVE_MALFORMED, {"move": "?", "ply": "1"}),
        (("3", "3", "2", "2"), Reason.MOVE_ILLEGAL, {"move": "2", "position": "1 2 0", "ply": "3"}),
        (("3", "3", "3"), Reason.ARGUMENT_INVALID, {"where": "opening", "what": "3 3 3"}),
        (("3", "3", "3", "1"), Reason.MOVE_ILLEGAL, {"ply": "3"}),
        (("1",) * 1_001, Reason.ARGUMENT_INVALID, {"where": "opening", "allowed": "at most 1000 moves"}),
    ],
)
@pytest.mark.parametrize("start", list(ClockStart))
def test_an_impossible_opening_is_refused(
    opening: tuple[str, ...], reason: Reason, facts: dict[str, str], start: ClockStart
) -> None:
    with refusing(reason) as caught:
        create("m1", made(*opening, start=start), NOON, games)
    assert {name: caught.value.facts.get(name) for name in facts} == facts


def test_the_longest_opening() -> None:
    (event,) = create("m1", made(*["1"] * MOST_OPENING_MOVES, game="heap(stones=1001)"), NOON, games).events
    assert replay([event], games).text == "1 1 0"


def test_a_record_without_an_opening_is_unchanged() -> None:
    assert "opening" not in decode(LoggedMatch().log[0])
    assert decode(LoggedMatch(opening=("1",)).log[0])["opening"] == ["1"]


@pytest.mark.parametrize("opening", [["3", "9"], ["1"] * 1_001, ["3", "3", "3"]])
def test_a_record_with_an_impossible_opening_is_refused(opening: list[str]) -> None:
    record = decode(LoggedMatch("heap(stones=9)").log[0])
    event = read(encode(record | {"opening": opening}))
    for trust in (True, False):
        with pytest.raises(ContradictionError):
            replay([event], games, trust=trust)
    with pytest.raises(ContradictionError):
        Verification(games).step(event, "0" * 64)


@pytest.mark.parametrize("opening", ["1", [1], {"1": "1"}])
def test_malformed_openings(opening: object) -> None:
    record = decode(LoggedMatch().log[0])
    with pytest.raises(MalformedRecordError):
        read(encode(record | {"opening": opening}))


def test_a_record_with_another_opening_is_refused() -> None:
    logged = started("heap(stones=30)", opening=("1", "1"))
    logged.play("2")
    events = [read(data) for data in logged.log]
    forged = read(encode(decode(logged.log[0]) | {"opening": ["1", "2"]}))
    assert isinstance(forged, Created)
    with pytest.raises(ContradictionError, match="position"):
        replay([forged, *events[1:]], games)


def test_the_match_goes_on_after_a_restart() -> None:
    logged = started("heap(stones=9)", opening=("3",))
    logged.do(Interrupt(Interruption.RESTART))
    logged.match = replay((read(data) for data in logged.log), games, trust=True)
    logged.play("2", after_ms=10)
    assert logged.match.text == "4 1 0"
    assert refusal(logged.play("1", seat=2)).reason is Reason.NOT_YOUR_TURN
    logged.do(Resign(1, "enough"))
    logged.check()
    verified(logged)


def test_the_match_can_end_before_anybody_has_moved() -> None:
    logged = started("heap(stones=9)", opening=("3",))
    logged.do(Abort("organiser", "a"))
    assert logged.match.ply == 1
    logged.check()
    verified(logged)


def test_the_text_marks_the_moves_of_the_opening() -> None:
    logged = started("heap(stones=9)", opening=("3", "1"))
    logged.play("2", after_ms=1_500)
    text = write_text(logged.events)
    assert text.endswith(
        '[Rated "no"]\n[OpeningPlies "2"]\n[Result "*"]\n\n1. 3 2. 1 3. 2 {[%clk 0:00:58.5] [%emt 0:00:01.5]} *\n'
    )
    game = read_text(text, games)
    assert game.opening_plies == 2
    assert game.moves[:2] == (WrittenMove("3"), WrittenMove("1"))
    assert game.position == logged.match.text
