"""The JSON of a tournament's events: reads and writes it. Fields with default values are omitted."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from arbiter.errors import Refusal
from arbiter.tournaments import events as ev
from arbiter.tournaments.corrections import CORRECTIONS, Correction, Results
from arbiter.tournaments.meetings import Meeting, ScheduledGame
from arbiter.tournaments.spec_text import read_spec, write_spec

FORMAT: Final = 1  #: the version of the log's format, in every `tournament_created` event

_KINDS: Final[Mapping[str, type[Any]]] = {
    kind.kind.value: kind
    for kind in (
        ev.Created, ev.Entered, ev.Withdrawn, ev.EntryChanged, ev.StartMissed, ev.Started, ev.Paused, ev.Continued,
        ev.Paired, ev.Begun, ev.EndedGame, ev.Voided, ev.Ruled, ev.Corrected, ev.Ended,
    )
}  # fmt: skip


class MalformedLogError(Exception):
    """A record that is no tournament event, or of an unknown log format; the message describes the fault."""


def write_event(event: ev.Event) -> dict[str, Any]:
    """Return an event as JSON values: `kind` and its fields."""
    values: dict[str, Any] = {"kind": event.kind.value, "at": event.at}
    match event:
        case ev.Created():
            values |= {"format": FORMAT, "tournament": event.tournament, "spec": write_spec(event.spec)}
            values |= {"creator": event.creator, "request": event.request}
        case ev.Paired():
            values |= {"round": event.round, "meetings": [_write_meeting(meeting) for meeting in event.meetings]}
            values |= {name: list(getattr(event, name)) for name in ("byes", "free") if getattr(event, name)}
        case _:
            for field in dataclasses.fields(event):
                value = getattr(event, field.name)
                if value not in ("", ()) or field.name == "match":
                    values[field.name] = list(value) if isinstance(value, tuple) else value
            if isinstance(event, ev.Ended):
                values["end"] = event.end.value
            if isinstance(event, ev.Ruled):
                values["decision"] = event.decision.value
            if isinstance(event, ev.Corrected):
                values["what"] = _write_correction(event.what)
    return values


def read_event(values: Mapping[str, Any]) -> ev.Event:
    """Read an event from JSON values; unknown fields are ignored. Raises MalformedLogError."""
    kind = _KINDS.get(values.get("kind", ""))
    if kind is None:
        raise MalformedLogError(f"kind {str(values.get('kind'))[:60]!r} is no event of a tournament")
    try:
        return _read(kind, values)
    except (KeyError, TypeError, ValueError) as error:
        raise MalformedLogError(f"{values['kind']}: {error!r}") from None
    except Refusal as refusal:
        raise MalformedLogError(f"{values['kind']}: {refusal.message}") from None


def _read(kind: type[Any], values: Mapping[str, Any]) -> ev.Event:
    if kind is ev.Created:
        if values["format"] != FORMAT:
            raise MalformedLogError(f"format {values['format']} is not known here: expected {FORMAT}")
        spec = read_spec(values["spec"], lambda text: text, stored=True)
        return ev.Created(values["at"], values["tournament"], spec, values["creator"], values["request"])
    if kind is ev.Paired:
        meetings = tuple(_read_meeting(meeting, values["round"]) for meeting in values["meetings"])
        return ev.Paired(
            values["at"], values["round"], meetings, tuple(values.get("byes", ())), tuple(values.get("free", ()))
        )
    empty = {
        "byes": (),
        "seeds": (),
        "opening": (),
        "position": "",
        "entry": 0,
        "points": (),
        "versions": (),
        "caller": "",
        "request": "",
        "version": "",
        "note": "",
        "moves": "",
        "rules": "",
    }
    fields = {field.name: values.get(field.name, empty.get(field.name)) for field in dataclasses.fields(kind)}
    missing = [name for name, value in fields.items() if value is None]
    if missing:
        raise MalformedLogError(f"{values['kind']}: {missing[0]} is missing")
    fields = {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
    if kind is ev.Ended:
        fields["end"] = ev.End(fields["end"])
    if kind is ev.Ruled:
        fields["decision"] = ev.Decision(fields["decision"])
    if kind is ev.Corrected:
        fields["what"] = _read_correction(fields["what"])
    event: ev.Event = kind(**fields)
    return event


def _write_correction(what: Correction) -> dict[str, Any]:
    """Return a correction as its name and all its fields."""
    values = {field.name: getattr(what, field.name) for field in dataclasses.fields(what)}
    return {"correct": what.name, **{name: _plain(value) for name, value in values.items()}}


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value.value if isinstance(value, Results) else value


def _read_correction(values: Mapping[str, Any]) -> Correction:
    kind = CORRECTIONS[values["correct"]]
    fields = {field.name: values[field.name] for field in dataclasses.fields(kind)}
    fields = {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
    if "results" in fields:
        fields["results"] = Results(fields["results"])
    return kind(**fields)


def _write_meeting(meeting: Meeting) -> dict[str, Any]:
    values: dict[str, Any] = {"number": meeting.number, "first": meeting.first, "second": meeting.second}
    if meeting.place:
        values["place"] = meeting.place
    # The games' seats follow from the meeting, but a reader of the log should not need that rule.
    values["games"] = [[game.number, game.seat1, game.seat2, game.game] for game in meeting.games]
    return values


def _read_meeting(values: Mapping[str, Any], round_: int) -> Meeting:
    number = values["number"]
    games = tuple(ScheduledGame(game, number, seat1, seat2, name) for game, seat1, seat2, name in values["games"])
    return Meeting(number, round_, values["first"], values["second"], values.get("place", ""), games)
