"""Matches as text for people: a written match is read back as the same game, and other texts are refused."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.event_json.canonical import RecordError
from arbiter.matches import read as read_event
from arbiter.matches.commands import Resign
from arbiter.matches.comments import opened
from arbiter.matches.events import Created, Ended, Moved
from arbiter.matches.notation import NotationError, WrittenMove, date, read, write
from tests.generators.transcripts import MATCH_PLANS, MatchPlan, played
from tests.matches.heap import games
from tests.matches.logged_match import started

HEAP = '[Game "heap(stones=4)"]\n\n'


def test_a_match_as_text() -> None:
    logged = started("heap(stones=4)", "1m+1s")
    logged.play("3", after_ms=1_600)
    logged.play("1", after_ms=61)
    assert write(logged.events) == (
        '[Game "heap(stones=4)"]\n[Player1 "alice"]\n[Player2 "bob"]\n[TimeControl "1m+1s"]\n[Match "m1"]\n'
        '[Date "2027.01.15"]\n[Rated "no"]\n[Result "0-1"]\n[Termination "win: last_stone"]\n\n'
        "1. 3 {[%clk 0:00:59.4] [%emt 0:00:01.6]} 2. 1 {[%clk 0:01:00.939] [%emt 0:00:00.061]} 0-1\n"
    )


@pytest.mark.parametrize("plan", MATCH_PLANS, ids=lambda plan: plan.name)
def test_what_is_written_reads_back(plan: MatchPlan) -> None:
    stage = played(plan)
    events = [read_event(data) for data in stage.log]
    text = write(events)
    game = read(text)
    assert [move.move for move in game.moves[: game.opening_plies]] == list(plan.opening)
    moved = [event for event in events if isinstance(event, Moved)]
    timed = plan.time != "none"
    said = opened(((event.ply, event.comment) for event in moved if event.comment), stage.match.secret)
    assert said
    assert game.moves[game.opening_plies :] == tuple(
        WrittenMove(
            event.move, event.clocks[event.seat - 1] if timed else None, event.ledger.charged, said.get(event.ply)
        )
        for event in moved
    )
    created, ended = events[0], events[-1]
    assert isinstance(created, Created)
    assert isinstance(ended, Ended)
    assert (game.tags["Game"], game.tags["TimeControl"], game.tags["Match"]) == (plan.game, plan.time, created.match)
    assert game.tags["Termination"] == f"{ended.result.value}: {ended.reason}"
    assert game.tags.get("Note", "") == ended.note
    assert game.position == moved[-1].position
    assert max(map(len, text.splitlines())) <= 120


def test_running_and_resigned_matches() -> None:
    logged = started("heap(stones=4)")
    assert write(logged.events).endswith('[Result "*"]\n\n*\n')
    logged.do(Resign(1, "r"))
    assert read(write(logged.events), games).result == "0-1"
    with pytest.raises(RecordError):
        write(logged.events[1:])


def test_tags_hold_any_text() -> None:
    logged = started("heap(stones=4)")
    created = logged.events[0]
    assert isinstance(created, Created)
    object.__setattr__(created, "label", 'a "cup" \\ é]')
    assert read(write(logged.events), games).tags["Label"] == 'a "cup" \\ é]'


@given(st.integers(0, 10**13))
def test_dates(at: int) -> None:
    assert date(at) == datetime.fromtimestamp(at // 1000, UTC).strftime("%Y.%m.%d").rjust(10, "0")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "line 1: expected a tag"),
        ("1. 3 *", "line 1: expected a tag"),
        ('[Game "ludo"]\n\n*', "line 1: there is no game 'ludo'"),
        ('[Game "heap"]\n[Game "heap"]\n\n*', "line 2: a second tag Game"),
        (HEAP, "expected a result"),
        (HEAP + "1. 3", "expected a result"),
        (HEAP + "1. 3\n3. 1 0-1", "line 4: '3.', expected '2.'"),
        (HEAP + "1. 9 *", "line 3: move 1: '9' is not a move"),
        (HEAP + "1. 3 2. 2 *", "line 3: move 2: '2' is not legal here"),
        (HEAP + "1. 3 2. 1 1-0", "the result is 1-0, but by the rules it is 0-1"),
        (HEAP + "* *", "line 3: '\\*' comes after the result"),
        (HEAP + "{first} 1. 3 *", "line 3: a comment belongs to a move"),
        (HEAP + "1. 3 {open *", "line 3: a brace"),
        (HEAP + "1. 3\n} *", "line 3: a brace"),
        (HEAP + "1. 3 {[%clk 5]} *", "'5' is not a time"),
        (HEAP + "1. 3 {[%clk 0:00:01] [%periods x]} *", "'x' is not a number"),
        ('[Game "heap"]\n[Result "1-0"]\n\n0-1', "the result is 0-1, but the tag says 1-0"),
        ('[Game "heap"]\n[OpeningPlies "2"]\n\n1. 3 *', "OpeningPlies is '2', expected a number of moves up to 1"),
        ('[Game "heap"]\n[OpeningPlies "some"]\n\n*', "OpeningPlies is 'some'"),
    ],
)
def test_malformed_texts(text: str, complaint: str) -> None:
    with pytest.raises(NotationError, match=complaint):
        read(text, games)


@given(st.text(alphabet='[]{}"\\GameResult heap()=%clk:.0123456789*-/\n'))
def test_any_text_is_read_or_refused(text: str) -> None:
    for whole in (text, HEAP + text):
        with contextlib.suppress(NotationError):
            read(whole, games)


def test_texts_written_by_people_may_leave_tags_out() -> None:
    game = read(HEAP + "3 {well played!}\n 1\n0-1\n", games)
    assert game.moves == (WrittenMove("3"), WrittenMove("1"))
    assert game.position == "0 1 0"
