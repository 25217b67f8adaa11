"""Events of tournaments as they are stored: what was written is what is read."""

from __future__ import annotations

import random

import pytest

from arbiter.matches.canonical import decode, encode
from arbiter.testing.tournaments import restless
from arbiter.tournaments import events as ev
from arbiter.tournaments.codec import read_event, write_event


@pytest.mark.parametrize("seed", range(10))
def test_whole_tournaments(seed: int) -> None:
    for event in restless(random.Random(seed)).log:
        assert read_event(decode(encode(write_event(event)))) == event


@pytest.mark.parametrize(
    "event",
    [
        ev.Started(7, (), "", ""),
        ev.Entered(7, "ann", "", 0, (), "org", "r"),
        ev.Paired(7, 1, ()),
        ev.EndedGame(7, 1, "", 0, ev.WALKOVER, "absence"),
        ev.Ended(7, ev.End.TIME),
    ],
)
def test_what_may_be_empty(event: ev.Event) -> None:
    assert read_event(decode(encode(write_event(event)))) == event
