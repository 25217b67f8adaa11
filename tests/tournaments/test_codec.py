"""Events of tournaments in storage: they are read as they were written."""

from __future__ import annotations

import dataclasses
import random

import pytest

from arbiter.event_json.canonical import decode, encode
from arbiter.testing.random_tournaments import restless
from arbiter.tournaments import events as ev
from arbiter.tournaments.codec import read_event, write_event
from arbiter.tournaments.game_ends import WALKOVER


@pytest.mark.parametrize("seed", range(10))
def test_events_of_whole_tournaments_are_read_back(seed: int) -> None:
    for event in restless(random.Random(seed)).log:
        assert read_event(decode(encode(write_event(event)))) == event


@pytest.mark.parametrize(
    "event",
    [
        ev.Started(7, (), "", ""),
        ev.Entered(7, "ann", "", 0, (), "org", "r"),
        ev.Paired(7, 1, ()),
        ev.EndedGame(7, 1, "", 0, WALKOVER, "absence"),
        ev.Ended(7, ev.End.TIME),
    ],
)
def test_empty_fields_are_read_back(event: ev.Event) -> None:
    assert read_event(decode(encode(write_event(event)))) == event


#: names in the log of a tournament, by kind: most events are stored with the names of their fields
FIELDS = {
    "tournament_created": ("tournament", "spec", "creator", "request"),
    "entered": ("player", "version", "rating", "byes", "caller", "request", "team", "category"),
    "withdrawn": ("player", "caller", "request"),
    "entry_changed": ("player", "rating", "byes", "caller", "request", "version"),
    "start_missed": ("players", "needed"),
    "played_elsewhere": ("report", "players", "versions", "caller", "request"),
    "tournament_started": ("seeds", "caller", "request", "rules"),
    "paused": ("caller", "request"),
    "continued": ("caller", "request"),
    "paired": ("round", "meetings", "byes", "free"),
    "game_begun": ("game", "attempt", "match", "opening", "position", "entry"),
    "game_ended": ("game", "match", "winner", "reason", "cause", "moves", "versions"),
    "game_voided": ("game", "attempt", "match", "reason"),
    "ruled": ("game", "decision", "points", "note", "caller", "request"),
    "corrected": ("what", "note", "caller", "request"),
    "tournament_ended": ("end", "caller", "request", "note"),
}


def test_kinds_and_fields_have_the_names_of_the_first_logs() -> None:
    events = [kind for kind in vars(ev).values() if dataclasses.is_dataclass(kind) and hasattr(kind, "kind")]
    found = {event.kind.value: tuple(field.name for field in dataclasses.fields(event))[1:] for event in events}
    assert found == FIELDS
    assert all(dataclasses.fields(event)[0].name == "at" for event in events)
