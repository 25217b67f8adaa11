"""Every event of a match or tournament, and every item for a bot, has a message."""

from __future__ import annotations

from typing import get_args

import pytest
from arbiter_protos.v1.game_pb2 import Parameter as ParameterMessage
from arbiter_protos.v1.match_pb2 import (
    Correction,
    Disqualification,
    EntrantEvent,
    GameBegun,
    GameEnded,
    GameRuled,
    GamesPaired,
    GameVoided,
    GivenBye,
    PointsAward,
    TournamentCorrected,
    TournamentCreated,
)
from arbiter_protos.v1.player_pb2 import Challenge, Terms
from arbiter_protos.v1.player_pb2 import Token as TokenMessage
from arbiter_protos.v1.rating_pb2 import LeaderboardRow, SequentialTest
from arbiter_protos.v1.tournament_pb2 import Entrant as EntrantMessage
from arbiter_protos.v1.tournament_pb2 import StandingsRow, TeamRow
from arbiter_protos.v1.tournament_pb2 import TournamentSummary as TournamentSummaryMessage
from arbiter_protos.v1.tournament_pb2 import WebHook as WebHookMessage
from google.protobuf.message import Message

from arbiter.games.contract import Parameter
from arbiter.matches import events
from arbiter.ratings.rating_results import Row
from arbiter.ratings.sprt import Hypotheses
from arbiter.service.play import session
from arbiter.service.ports import directory
from arbiter.service.ports.directory import Token
from arbiter.service.ports.journal import TournamentSummary
from arbiter.service.ports.web_hooks import WebHook
from arbiter.tournaments import events as tournaments
from arbiter.tournaments import standings, team_standings
from arbiter.tournaments.corrections import CORRECTIONS
from arbiter.tournaments.tournament import Entrant
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
def test_every_event_of_a_tournament_has_a_message(event: type[tournaments.Event]) -> None:
    assert event in tournament_events._FORMS


def test_every_kind_of_tournament_event_is_listed() -> None:
    assert {event.kind for event in get_args(tournaments.Event)} == set(tournaments.TournamentEventKind)


ELSEWHERE = {
    TournamentCreated: {"name", "games", "time_control", "rated"},
    EntrantEvent: {"version", "rating", "team", "category"},  # of a withdrawal
    GamesPaired: {"games"},
    GameBegun: {"number", "match_id"},
    GameEnded: {"number", "match_id"},
    GameVoided: {"number", "match_id"},
    GameRuled: {"number", "half_points"},
    TournamentCorrected: {"correction"},
    StandingsRow: {
        *("half_points", "tie_break_quarters", "meeting_half_points", "game_half_points", "faults", "rating"),
        "awarded_half_points",
    },
    TeamRow: {"board_half_points", "tie_break_quarters"},
    Challenge: {"terms"},
    Disqualification: {"games_go_on"},
    PointsAward: {"half_points"},
    GivenBye: {"half_points"},
    WebHookMessage: {"web_hook_id", "delivered_revision", "next_try_ms"},
    ParameterMessage: {"default_value", "value"},
    SequentialTest: {"ratio", "lower", "upper", "verdict"},
    LeaderboardRow: {"version", "rating", "forfeits"},
}
"""Fields of messages that a value does not have under the same name: they are named where the message is made."""

COPIED = [
    *((form, event) for event, (_, form) in tournament_events._FORMS.items()),
    *((type(getattr(Correction(), name)), kind) for name, kind in CORRECTIONS.items()),
    *((EntrantMessage, Entrant), (TournamentSummaryMessage, TournamentSummary)),
    *((StandingsRow, standings.StandingsRow), (TeamRow, team_standings.TeamRow)),
    *((TokenMessage, Token), (Challenge, directory.Challenge), (Terms, directory.Challenge)),
    *((WebHookMessage, WebHook), (ParameterMessage, Parameter), (SequentialTest, Hypotheses), (LeaderboardRow, Row)),
]


@pytest.mark.parametrize(("form", "kind"), COPIED, ids=lambda each: each.__name__)
def test_a_value_has_every_field_of_its_message(form: type[Message], kind: type) -> None:
    lacking = {
        name for name in form.DESCRIPTOR.fields_by_name if name not in dir(kind) and name not in attributes(kind)
    }
    assert lacking <= ELSEWHERE.get(form, set())


def attributes(kind: type) -> set[str]:
    """Return the names of a class's fields."""
    return {name for each in kind.__mro__ for name in getattr(each, "__annotations__", ())}
