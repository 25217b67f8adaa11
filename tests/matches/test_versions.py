"""Versions of bots in the record: which connected, and for which one a match is rated."""

from __future__ import annotations

import pytest

from arbiter.matches import Phase, read
from arbiter.matches.commands import Arrive, Interrupt, Interruption, Leave, Resign
from arbiter.matches.events import Arrived
from arbiter.matches.match import versions_of
from arbiter.matches.notation import write
from arbiter.matches.policy import ClockStart, Policy
from tests.matches.logged_match import LoggedMatch, receipt


def begun(one: str, two: str) -> LoggedMatch:
    """Return a match with both players present, with bots of these versions."""
    logged = LoggedMatch()
    logged.do(Arrive(1, one), 10)
    logged.do(Arrive(2, two), 10)
    assert logged.match.phase is Phase.ACTIVE
    return logged


def arrivals(logged: LoggedMatch) -> list[tuple[int, str]]:
    return [(event.seat, event.version) for event in map(read, logged.log) if isinstance(event, Arrived)]


def test_the_record_has_the_versions_that_arrived() -> None:
    logged = begun("1.2", "")
    assert arrivals(logged) == [(1, "1.2"), (2, "")]
    assert b'"kind":"arrived","match":"m1"' in logged.log[2]
    assert b"version" not in logged.log[2]
    assert logged.match.versions == ("1.2", "")
    logged.check()


def test_a_match_counts_for_the_versions_that_played_the_first_moves() -> None:
    logged = begun("1", "7")
    logged.do(Leave(1), 10)
    logged.do(Arrive(1, "2"), 10)
    assert logged.match.versions == ("2", "7"), "no move was played yet"
    logged.play("1")
    logged.do(Leave(1), 10)
    logged.do(Arrive(1, "3"), 10)
    logged.do(Leave(2), 10)
    logged.do(Arrive(2, "8"), 10)
    assert logged.match.versions == ("2", "8")
    logged.play("1")
    logged.do(Interrupt(Interruption.RESTART), 10)
    logged.do(Arrive(2, "9"), 10)
    assert logged.match.versions == ("2", "8")
    assert versions_of(logged.events) == ("2", "8")
    assert arrivals(logged) == [(1, "1"), (2, "7"), (1, "2"), (1, "3"), (2, "8"), (2, "9")]
    logged.check()


def test_a_bot_that_changes_its_version_while_connected_is_recorded() -> None:
    logged = begun("1", "7")
    assert not logged.do(Arrive(1, "1"), 10).events
    assert not logged.do(Arrive(1), 10).events, "a call without a stream says nothing about the connected bot"
    assert receipt(logged.do(Arrive(1, "2"), 10)).revision == logged.match.revision
    assert arrivals(logged)[-1] == (1, "2")
    assert logged.match.phase is Phase.ACTIVE
    assert logged.match.versions == ("2", "7")
    logged.check()


def test_a_player_who_never_moved_has_the_version_of_its_last_arrival() -> None:
    logged = LoggedMatch(policy=Policy(start=ClockStart.AT_ONCE))
    logged.do(Arrive(2, "1"), 10)
    logged.do(Arrive(2, "2"), 10)
    logged.do(Resign(2, "r"), 10)
    assert logged.match.versions == ("", "2")
    logged.check()


@pytest.mark.parametrize(("one", "two"), [("1.0", "x y"), ("", "2"), ("", "")])
def test_the_text_for_people_names_the_versions(one: str, two: str) -> None:
    text = write(begun(one, two).events)
    assert ('[Version1 "1.0"]' in text, '[Version2 "x y"]' in text) == (one == "1.0", two == "x y")
    assert text.count("[Version") == bool(one) + bool(two)
