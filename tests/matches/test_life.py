"""A match from its creation to each kind of end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from arbiter.errors import Reason
from arbiter.matches import Phase, create, deadline, ends, seal_first
from arbiter.matches.commands import (
    Abort,
    Adjudicate,
    AnswerDraw,
    Arrive,
    ClaimDraw,
    Command,
    Create,
    Leave,
    OfferDraw,
    ReportFault,
    Resign,
    ResultKind,
    Tick,
)
from arbiter.matches.events import Created, Ended, EventKind
from arbiter.matches.evolution import evolve
from arbiter.matches.match import flag_instant
from arbiter.matches.policy import ClockStart, NoShow
from arbiter.matches.verification import Verification
from tests.matches.heap import games
from tests.matches.logged_match import NOON, LoggedMatch, policy, receipt, refusal, started
from tests.refusals import refusing


def end(logged: LoggedMatch) -> tuple[object, ...]:
    """Return the fields of the match's end: winner, result, reason, cause, party, responsible seat."""
    assert logged.match.phase is Phase.ENDED
    assert deadline(logged.match) is None
    result = logged.match.result
    assert result is not None
    logged.check()
    return (result.winner, result.result.value, result.reason, result.cause.value, result.party.value, result.seat)


def test_a_match_is_created_with_canonical_names() -> None:
    command = Create("heap(handicap=0,stones=9)", ("alice", "bob"), "60s", "organiser", "r", rated=True, label="cup")
    decision = create("m1", command, NOON, games)
    (created,) = decision.events
    assert isinstance(created, Created)
    assert (created.game, created.time) == ("heap(stones=9)", "1m")
    assert receipt(decision).revision == 1


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"game": "ludo"}, Reason.GAME_UNKNOWN),
        ({"game": "pods(size=99)"}, Reason.PARAMETER_INVALID),
        ({"time": "soon"}, Reason.PARAMETER_INVALID),
        ({"time": "1m:soon"}, Reason.PARAMETER_INVALID),
        ({"players": ("alice", "alice"), "rated": True}, Reason.ARGUMENT_INVALID),
        ({"time": "1m:2m", "rated": True}, Reason.ARGUMENT_INVALID),
        ({"players": ("alice", "")}, Reason.ARGUMENT_INVALID),
        ({"request": ""}, Reason.ARGUMENT_INVALID),
        ({"request": "x" * 101}, Reason.ARGUMENT_INVALID),
        ({"request": "a\nb"}, Reason.ARGUMENT_INVALID),
        ({"label": "x" * 101}, Reason.ARGUMENT_INVALID),
        ({"label": "\ud800"}, Reason.ARGUMENT_INVALID),
        ({"creator": ""}, Reason.ARGUMENT_INVALID),
    ],
)
def test_a_match_that_is_impossible_is_refused(values: dict[str, object], reason: Reason) -> None:
    good: dict[str, object] = {
        "game": "heap", "players": ("alice", "bob"), "time": "1m", "creator": "organiser", "request": "r",
    }  # fmt: skip
    with refusing(reason):
        create("m1", Create(**(good | values)), NOON, games)  # type: ignore[arg-type]


def test_it_starts_when_both_are_present() -> None:
    logged = LoggedMatch()
    assert logged.match.phase is Phase.PENDING
    assert logged.kinds(Arrive(1)) == ["arrived"]
    assert logged.kinds(Leave(1)) == ["left"]
    assert logged.kinds(Arrive(2)) == ["arrived"]
    assert logged.kinds(Arrive(2)) == []
    assert logged.kinds(Arrive(1), after_ms=50) == ["arrived", "started"]
    assert logged.match.turn_started == NOON + 50
    logged.check()


def test_it_starts_at_once() -> None:
    logged = LoggedMatch(policy=policy(start=ClockStart.AT_ONCE))
    assert [event.kind for event in logged.events] == [EventKind.CREATED, EventKind.STARTED]
    assert logged.match.turn_started == NOON
    logged.check()


def test_a_game_is_played_to_the_last_stone() -> None:
    logged = started("heap(stones=4)")
    first = receipt(logged.play("1", after_ms=1_000))
    assert (first.kind, first.ply, first.result) == (EventKind.MOVED, 1, None)
    decision = logged.play("3", after_ms=500)
    assert [event.kind.value for event in decision.events] == ["moved", "ended"]
    assert receipt(decision).result == logged.match.result
    assert receipt(decision).revision == logged.match.revision - 1
    assert [clock.remaining_ms for clock in logged.match.clocks] == [59_000, 59_500]
    assert end(logged) == (2, "win", "last_stone", "rules", "player", 2)


def test_a_seat_moves_as_often_as_the_position_says() -> None:
    logged = started("heap(handicap=2)")
    for ply in range(3):
        assert (logged.match.ply, logged.match.turn) == (ply, 1)
        assert refusal(logged.play("1", request=f"hasty {ply}", seat=2)).reason is Reason.NOT_YOUR_TURN
        logged.play("1")
    assert logged.match.turn == 2
    assert logged.match.turns == b"\1\1\1"
    logged.check()


@pytest.mark.parametrize(("seat", "winner"), [(1, 2), (2, 1)])
def test_resignation(seat: int, winner: int) -> None:
    logged = started()
    answer = receipt(logged.do(Resign(1 if seat == 1 else 2, "enough")))
    assert (answer.kind, answer.revision) == (EventKind.ENDED, logged.match.revision)
    assert end(logged) == (winner, "win", "resignation", "resignation", "player", seat)


def test_a_draw_is_agreed() -> None:
    logged = started()
    logged.do(OfferDraw(2, "peace?"))
    logged.do(AnswerDraw(1, "peace", True))
    assert end(logged) == (0, "draw", "draw_agreed", "agreement", "players", None)


def test_a_draw_is_claimed() -> None:
    logged = started("heap(stones=10)")
    logged.do(ClaimDraw(1, "even"))
    assert end(logged) == (0, "draw", "even", "rules", "player", 1)


def test_the_flag_falls_without_a_move() -> None:
    logged = started(time="10s")
    due = deadline(logged.match)
    assert due is not None
    assert due == logged.now + 10_000 + 100 + 300  # including all the credit that a move on its way might get
    assert logged.kinds(Tick(), after_ms=due - logged.now - 1) == []
    assert logged.kinds(Tick(), after_ms=1) == ["ended"]
    assert end(logged) == (2, "win", "time", "time", "player", 1)


def test_the_cap_on_a_move_holds_without_a_clock() -> None:
    logged = started(time="none", policy=policy(move_cap_ms=5_000))
    logged.play("1", after_ms=4_999)
    logged.play("1", after_ms=5_000)
    assert end(logged) == (1, "win", "time", "time", "player", 2)


def test_illegal_moves() -> None:
    logged = started("heap(stones=2)", policy=policy(illegal_moves=2))
    logged.play("3")
    decision = logged.play("x")
    assert [event.kind.value for event in decision.events] == ["refused", "ended"]
    assert refusal(decision).facts["strikes_left"] == "0"
    assert end(logged) == (2, "win", "illegal_moves", "rule_violation", "player", 1)


@pytest.mark.parametrize(
    ("present", "no_show", "expected"),
    [
        (2, NoShow.FORFEIT, (2, "win", "no_show", "absence", "player", 1)),
        (1, NoShow.FORFEIT, (1, "win", "no_show", "absence", "player", 2)),
        (1, NoShow.VOID, (0, "void", "no_show", "absence", "player", 2)),
        (0, NoShow.FORFEIT, (0, "void", "no_show", "absence", "players", None)),
        (0, NoShow.VOID, (0, "void", "no_show", "absence", "players", None)),
    ],
)
def test_a_player_does_not_show_up(present: int, no_show: NoShow, expected: tuple[object, ...]) -> None:
    logged = LoggedMatch(policy=policy(no_show=no_show, no_show_ms=1_000))
    if present:
        logged.do(Arrive(1 if present == 1 else 2), after_ms=400)
    assert deadline(logged.match) == NOON + 1_000
    assert logged.kinds(Tick(), after_ms=NOON + 999 - logged.now) == []
    logged.do(Tick(), after_ms=1)
    assert end(logged) == expected


def test_a_player_who_stays_away_abandons_the_match() -> None:
    logged = started(time="10m", policy=policy(abandon_ms=1_000))
    logged.do(Leave(2), after_ms=100)
    assert deadline(logged.match) == logged.now + 1_000
    assert logged.kinds(Tick(), after_ms=999) == []
    logged.do(Tick(), after_ms=1)
    assert end(logged) == (1, "win", "abandonment", "absence", "player", 2)


def test_a_player_who_comes_back_in_time_or_moves_does_not_abandon_it() -> None:
    logged = started(time="10m", policy=policy(abandon_ms=1_000))
    logged.do(Leave(1))
    logged.do(Arrive(1), after_ms=999)
    assert logged.kinds(Tick(), after_ms=5_000) == []
    logged.do(Leave(1))
    logged.play("1", after_ms=999)
    assert deadline(logged.match) == logged.now + 1_000


@pytest.mark.parametrize("apart_ms", [0, 1, 999])
def test_nobody_wins_by_absence_without_being_there(apart_ms: int) -> None:
    logged = started(time="10m", policy=policy(abandon_ms=1_000))
    logged.do(Leave(2))
    logged.do(Leave(1), after_ms=apart_ms)
    assert deadline(logged.match) == logged.now + 1_000, "both have to be away for too long"
    assert logged.kinds(Tick(), after_ms=999) == []
    logged.do(Tick(), after_ms=1)
    assert end(logged) == (0, "void", "abandonment", "absence", "players", None)


def test_who_is_back_while_the_other_has_been_away_for_too_long_wins() -> None:
    logged = started(time="10m", policy=policy(abandon_ms=1_000))
    logged.do(Leave(2))
    logged.do(Leave(1), after_ms=900)
    logged.do(Arrive(1), after_ms=500)
    assert deadline(logged.match) == logged.now - 400, "the absence of the other is overdue"
    logged.do(Tick())
    assert end(logged) == (1, "win", "abandonment", "absence", "player", 2)


def test_who_is_back_late_but_first_plays_on() -> None:
    logged = started(time="10m", policy=policy(abandon_ms=1_000))
    logged.do(Leave(2))
    logged.do(Leave(1), after_ms=900)
    logged.do(Arrive(2), after_ms=500)
    assert logged.kinds(Tick(), after_ms=499) == []
    logged.do(Tick(), after_ms=1)
    assert end(logged) == (2, "win", "abandonment", "absence", "player", 1)


def test_who_never_came_does_not_win_by_the_absence_of_the_other() -> None:
    logged = LoggedMatch(time="10m", policy=policy(abandon_ms=1_000, start=ClockStart.AT_ONCE))
    logged.do(Arrive(1))
    logged.do(Leave(1), after_ms=10)
    assert logged.kinds(Tick(), after_ms=999) == []
    logged.do(Tick(), after_ms=1)
    assert end(logged) == (0, "void", "abandonment", "absence", "players", None)


def test_an_older_record_in_which_an_absent_player_won_is_still_read_and_verified() -> None:
    logged = started(time="10m", policy=policy(abandon_ms=1_000))
    logged.do(Leave(2))
    logged.do(Leave(1), after_ms=1)
    before, at = logged.match, logged.now + 999
    older = ends.overdue_earlier(before, at)
    assert older is not None
    assert (older.winner, older.seat) == (1, 2)
    assert ends.overdue_earlier(before, at - 1) is None
    assert evolve(before, older).result == older
    retracing = Verification(games)
    for event in (*logged.events, older):
        retracing.step(event, "")


def test_both_players_leave_at_the_same_time() -> None:
    logged = started(time="10m", policy=policy(abandon_ms=1_000))
    logged.do(Leave(2))
    logged.do(Leave(1))
    logged.do(Tick(), after_ms=1_000)
    assert end(logged) == (0, "void", "abandonment", "absence", "players", None)


def test_the_flag_comes_before_a_later_abandonment() -> None:
    logged = started(time="1s", policy=policy(abandon_ms=60_000))
    logged.do(Leave(1))
    logged.do(Tick(), after_ms=100_000)
    assert end(logged) == (2, "win", "time", "time", "player", 1)


@pytest.mark.parametrize("abandon_ms", [0, 60_000])
def test_nobody_wins_on_time_without_being_there(abandon_ms: int) -> None:
    logged = started(time="1s", policy=policy(abandon_ms=abandon_ms))
    logged.do(Leave(1))
    logged.do(Leave(2))
    flag = flag_instant(logged.match)
    assert deadline(logged.match) == flag
    before, older = logged.match, ends.overdue_earlier(logged.match, flag)
    logged.do(Tick(), after_ms=flag - logged.now)
    assert end(logged) == (0, "void", "abandonment", "absence", "players", None)
    # Servers of earlier versions let the player win who was not to move; their records are still read and verified.
    assert older is not None
    assert (older.winner, older.reason) == (2, "time")
    assert evolve(before, older).result == older
    retracing = Verification(games)
    for event in (*logged.events[:-1], older):
        retracing.step(event, "")


def test_who_is_back_before_the_flag_of_the_other_falls_wins_on_time() -> None:
    logged = started(time="1s", policy=policy(abandon_ms=60_000))
    logged.do(Leave(1))
    logged.do(Leave(2))
    logged.do(Arrive(2), after_ms=500)
    logged.do(Tick(), after_ms=100_000)
    assert end(logged) == (2, "win", "time", "time", "player", 1)


def test_a_policy_can_allow_absence() -> None:
    logged = started(time="10m", policy=policy(abandon_ms=0))
    logged.do(Leave(2))
    assert logged.kinds(Tick(), after_ms=599_000) == []


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (Abort("boss", "r", "wrong opening"), (0, "void", "aborted", "organiser", "organiser", None)),
        (
            Adjudicate("boss", "r", ResultKind.WIN, 2, "bribe"),
            (2, "win", "adjudicated", "organiser", "organiser", None),
        ),
        (Adjudicate("boss", "r", ResultKind.DRAW), (0, "draw", "adjudicated", "organiser", "organiser", None)),
        (
            Adjudicate("boss", "r", ResultKind.WIN, 1, "KQvK", by_tables=True),
            (1, "win", "adjudicated_tablebase", "organiser", "organiser", None),
        ),
        (Adjudicate("boss", "r", ResultKind.VOID), (0, "void", "adjudicated", "organiser", "organiser", None)),
        (ReportFault("the rules raised KeyError\ud800"), (0, "void", "arbiter_fault", "arbiter", "arbiter", None)),
    ],
)
@pytest.mark.parametrize("stage", [LoggedMatch, started])
def test_an_organiser_ends_a_match(
    stage: Callable[[], LoggedMatch], command: Command, expected: tuple[object, ...]
) -> None:
    logged = stage()
    logged.do(command)
    assert end(logged) == expected
    result = logged.match.result
    assert isinstance(result, Ended)
    if isinstance(command, Abort | Adjudicate):
        assert (result.by, result.note) == (command.by, command.note)


@pytest.mark.parametrize(
    "command",
    [
        Adjudicate("boss", "r", ResultKind.WIN),
        Adjudicate("boss", "r", ResultKind.DRAW, 1),
        Adjudicate("boss", "r", ResultKind.VOID, 2),
        Adjudicate("boss", "r", ResultKind.WIN, 3),
        Abort("boss", "r", "x" * 501),
        Abort("boss", "r", "a\0b"),
        Abort("", "r"),
        Abort("boss", ""),
    ],
)
def test_an_organiser_gets_the_reason_of_a_refusal(command: Command) -> None:
    logged = started()
    assert refusal(logged.do(command)).reason is Reason.ARGUMENT_INVALID
    assert logged.match.phase is Phase.ACTIVE


def test_events_never_run_backwards_in_time() -> None:
    logged = started()
    logged.play("1", after_ms=2_000)
    logged.now -= 60_000  # the system's clock was set back
    logged.play("1")
    assert [event.at for event in logged.events] == sorted(event.at for event in logged.events)
    assert [clock.remaining_ms for clock in logged.match.clocks] == [58_000, 60_000]
    logged.check()


def test_the_first_events_have_no_predecessor() -> None:
    decision = create("m1", Create("heap", ("alice", "bob"), "1m", "organiser", "r"), NOON, games)
    (sealed,) = seal_first("m1", decision.events)
    assert sealed.revision == 1
    assert b'"previous":"' + b"0" * 64 + b'"' in sealed.data
