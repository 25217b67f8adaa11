"""Events of tournaments as messages. Each message follows from one record, not from the tournament's state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from arbiter_protos.v1 import match_pb2 as pb
from google.protobuf.message import Message

from arbiter.service.record.published import Published
from arbiter.tournaments import events as ev
from arbiter.wire.copied_fields import copied
from arbiter.wire.correction_messages import correction_message

_FORMS: Final[Mapping[type[ev.Event], tuple[str, type[Message]]]] = {
    ev.Created: ("created", pb.TournamentCreated),
    ev.Entered: ("entrant", pb.EntrantEvent),
    ev.Withdrawn: ("entrant", pb.EntrantEvent),
    ev.EntryChanged: ("entry_changed", pb.EntryChanged),
    ev.StartMissed: ("start_missed", pb.StartMissed),
    ev.Started: ("started", pb.TournamentStarted),
    ev.PlayedElsewhere: ("played_elsewhere", pb.PlayedElsewhere),
    ev.Paused: ("organiser", pb.OrganiserEvent),
    ev.Continued: ("organiser", pb.OrganiserEvent),
    ev.Paired: ("paired", pb.GamesPaired),
    ev.Begun: ("begun", pb.GameBegun),
    ev.EndedGame: ("game_ended", pb.GameEnded),
    ev.Voided: ("voided", pb.GameVoided),
    ev.Ruled: ("ruled", pb.GameRuled),
    ev.Corrected: ("corrected", pb.TournamentCorrected),
    ev.Ended: ("ended", pb.TournamentEnded),
}
"""The field of an event's message that says what has happened, and the type of this message."""


def tournament_event_message(published: Published) -> pb.TournamentEvent:
    """Return an event of a tournament."""
    event = cast("ev.Event", published.event)
    field, form = _FORMS[type(event)]
    return pb.TournamentEvent(
        tournament_id=published.match_id,
        revision=published.revision,
        at_ms=event.at,
        kind=event.kind.value,
        **{field: copied(form, event, **_more(event))},  # type: ignore[arg-type]
    )


def _more(event: ev.Event) -> dict[str, Any]:
    """Return the values of an event's message that the event does not have under the same name."""
    match event:
        case ev.Created(spec=spec):
            return {"name": spec.name, "games": spec.games, "time_control": spec.time, "rated": spec.rated}
        case ev.Paired():
            games = [game for meeting in event.meetings for game in meeting.games]
            return {
                "games": [
                    pb.PairedGame(number=game.number, players=(game.seat1, game.seat2), game=game.game)
                    for game in games
                ]
            }
        case ev.Begun() | ev.EndedGame() | ev.Voided():
            return {"number": event.game, "match_id": event.match}
        case ev.Ruled():
            return {"number": event.game, "half_points": event.points}
        case ev.Corrected():
            return {"correction": correction_message(event.what)}
    return {}
