"""Every event of a match or tournament, and every item for a bot, has a message."""

from __future__ import annotations

from typing import get_args

import pytest

from arbiter.matches import events
from arbiter.service.play import session
from arbiter.tournaments import events as tournaments
from arbiter.wire import match_messages, play_items, tournament_events

EVENTS = get_args(events.Event)
APART = (session.TurnItem, session.AnswerItem)  #: first of all, because every move sends both
ITEMS = [item for item in get_args(session.Item) if item not in APART]


def test_every_kind_of_event_is_listed() -> None:
    assert {event.kind for event in EVENTS} == set(events.EventKind)


@pytest.mark.parametrize("event", EVENTS)
def test_every_event_has_a_message(event: type[events.Event]) -> None:
    assert event.kind in match_messages._FILL


@pytest.mark.parametrize("item", ITEMS)
def test_every_item_has_a_message(item: type) -> None:
    assert item in play_items._FILL


@pytest.mark.parametrize("event", get_args(tournaments.Event))
def test_every_event_of_a_tournament_has_a_message(event: type[events.Event]) -> None:
    assert tournament_events._fill.dispatch(event) is not tournament_events._fill.dispatch(object)


def test_every_kind_of_tournament_event_is_listed() -> None:
    assert {event.kind for event in get_args(tournaments.Event)} == set(tournaments.TournamentEventKind)
