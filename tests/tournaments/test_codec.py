"""Events of tournaments as they are stored: what was written is what is read."""

from __future__ import annotations

import dataclasses
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


#: what stands in the log of a tournament, by kind: most events are written by the names of their fields
FIELDS = {
    "tournament_created": ("tournament", "spec", "creator", "request"),
    "entered": ("player", "version", "rating", "byes", "caller", "request"),
    "withdrawn": ("player", "caller", "request"),
    "tournament_started": ("seeds", "caller", "request", "rules"),
    "paused": ("caller", "request"),
    "continued": ("caller", "request"),
    "paired": ("round", "meetings", "byes", "free"),
    "game_begun": ("game", "attempt", "match"),
    "game_ended": ("game", "match", "winner", "reason", "cause", "moves"),
    "game_voided": ("game", "attempt", "match", "reason"),
    "tournament_ended": ("end", "caller", "request", "note"),
}


def test_kinds_and_fields_have_the_names_that_logs_have_held_from_the_first_day() -> None:
    events = [kind for kind in vars(ev).values() if dataclasses.is_dataclass(kind) and hasattr(kind, "kind")]
    found = {event.kind.value: tuple(field.name for field in dataclasses.fields(event))[1:] for event in events}
    assert found == FIELDS
    assert all(dataclasses.fields(event)[0].name == "at" for event in events)
