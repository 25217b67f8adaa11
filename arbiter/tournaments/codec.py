"""The JSON of a tournament's events: it follows from their fields (`arbiter.event_json.codec`), with few exceptions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from arbiter.errors import Refusal
from arbiter.event_json.canonical import Json, MalformedRecordError
from arbiter.event_json.codec import Codec, Form, Layout, ValueForm
from arbiter.event_json.fields import Fields
from arbiter.tournaments import events as ev
from arbiter.tournaments.corrections import CORRECTIONS, Correction
from arbiter.tournaments.meetings import Meeting, ScheduledGame
from arbiter.tournaments.spec import Spec
from arbiter.tournaments.spec_text import read_spec, write_spec

FORMAT: Final = 1  #: the version of the log's format, in every `tournament_created` event


def write_event(event: ev.Event) -> dict[str, Any]:
    """Return an event as JSON values: `kind` and its fields."""
    return _CODEC.write(event)


def read_event(values: Mapping[str, Any]) -> ev.Event:
    """Read an event from JSON values; unknown fields are ignored. Raises MalformedRecordError, UnknownKindError."""
    event: ev.Event = _CODEC.read(Fields(values, "record"))
    if isinstance(event, ev.Paired):
        return replace(event, meetings=tuple(meeting._replace(round=event.round) for meeting in event.meetings))
    return event


def _read_spec(fields: Fields, name: str) -> Spec:
    try:
        return read_spec(fields.mapping(name), lambda text: text, stored=True)
    except Refusal as refusal:
        raise MalformedRecordError(f"{name}: {refusal.message}") from None


_CORRECTIONS: Final[dict[str, Layout[Any]]] = {name: Layout(kind, {}) for name, kind in CORRECTIONS.items()}


def _correction_json(what: Correction) -> dict[str, Json]:
    return {"correct": what.name, **_CORRECTIONS[what.name].written(what)}


def _read_correction(fields: Fields, name: str) -> Correction:
    what = fields.object(name)
    kind = what.text("correct")
    if kind not in _CORRECTIONS:
        raise MalformedRecordError(f"{name}.correct: {kind[:60]!r} is not known here")
    correction: Correction = _CORRECTIONS[kind].value(what)
    return correction


def _meeting_json(meeting: Meeting) -> dict[str, Json]:
    """Return a meeting without its round, which the event has once for all."""
    values: dict[str, Json] = {"number": meeting.number, "first": meeting.first, "second": meeting.second}
    if meeting.place:
        values["place"] = meeting.place
    # The games' seats follow from the meeting, but a reader of the log should not need that rule.
    values["games"] = [[game.number, game.seat1, game.seat2, game.game] for game in meeting.games]
    return values


def _read_meeting(fields: Fields, name: str) -> Meeting:
    meeting = fields.object(name)
    number, games = meeting.integer("number"), meeting.items("games")
    return Meeting(
        number,
        0,
        meeting.text("first"),
        meeting.text("second"),
        meeting.text("place", ""),
        tuple(_read_game(games.items(place, 4), number) for place in games),
    )


def _read_game(items: Fields, meeting: int) -> ScheduledGame:
    return ScheduledGame(items.integer("0"), meeting, items.text("1"), items.text("2"), items.text("3"))


_FORMS: Final[dict[Any, Form]] = {
    Spec: ValueForm(write_spec, _read_spec),
    Correction: ValueForm(_correction_json, _read_correction),
    Meeting: ValueForm(_meeting_json, _read_meeting),
}

_CODEC: Final[Codec[Any]] = Codec(
    (
        ev.Created, ev.Entered, ev.Withdrawn, ev.EntryChanged, ev.StartMissed, ev.PlayedElsewhere, ev.Started,
        ev.Paused, ev.Continued, ev.Paired, ev.Begun, ev.EndedGame, ev.Voided, ev.Ruled, ev.Corrected, ev.Ended,
    ),
    _FORMS,
    FORMAT,
)  # fmt: skip
