"""The JSON of a match's events. It follows from their fields (`arbiter.event_json.codec`), but for what is here.

Every move is written and read, so its forms are written out, and compiled: that of the event, of clocks and of ledgers.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Final

from arbiter.errors import Refusal
from arbiter.event_json.canonical import Json, MalformedRecordError
from arbiter.event_json.codec import Codec, Form, ValueForm
from arbiter.event_json.fields import Fields
from arbiter.matches.adjudication import AdjudicationRules
from arbiter.matches.clock import Ledger, SeatClock
from arbiter.matches.commands import CommandName, RequestContent, Text
from arbiter.matches.events import (
    FORMAT,
    Arrived,
    Clocks,
    Created,
    DrawDeclined,
    DrawOffered,
    Ended,
    Event,
    EventKind,
    Interrupted,
    Left,
    Moved,
    Refused,
    Rejected,
    Resumed,
    Started,
)
from arbiter.matches.policy import Policy, read_policy

_MOVED: Final = EventKind.MOVED.value


def own_fields(event: Event) -> dict[str, Json]:
    """Return an event's own fields as a new object: its JSON without match, previous and revision."""
    return _write_moved(event) if isinstance(event, Moved) else _OTHERS.write(event)


def read_event(fields: Fields) -> Event:
    """Return the event of a whole record. Raises MalformedRecordError, UnknownKindError."""
    return _read_moved(fields) if fields.text("kind") == _MOVED else _OTHERS.read(fields)


def _write_moved(event: Moved) -> dict[str, Json]:
    values: dict[str, Json] = {
        "at": event.at,
        "kind": _MOVED,
        "ply": event.ply,
        "seat": event.seat,
        "move": event.move,
        "position": event.position,
        "request": event.request,
        "ledger": _ledger_json(event.ledger),
        "turn": event.turn,
        "clocks": _clocks_json(event.clocks),
    }
    if event.comment:
        values["comment"] = event.comment
    return values


def _read_moved(fields: Fields) -> Moved:
    return Moved(
        fields.integer("at"),
        fields.integer("ply"),
        fields.seat("seat"),
        fields.text("move"),
        fields.text("position"),
        fields.text("request"),
        _read_ledger(fields.object("ledger")),
        fields.seat("turn"),
        _read_clocks(fields, "clocks"),
        fields.text("comment", ""),
    )


def _ledger_json(ledger: Ledger) -> dict[str, Json]:
    values: dict[str, Json] = {
        "started": ledger.started,
        "arrived": ledger.arrived,
        "credited": ledger.credited,
        "charged": ledger.charged,
        "left": ledger.left,
    }
    if ledger.handed_over is not None:
        values["handed_over"] = ledger.handed_over
    if ledger.round_trip is not None:
        values["round_trip"] = ledger.round_trip
    return values


def _read_ledger(fields: Fields) -> Ledger:
    return Ledger(
        fields.integer("started"),
        fields.optional_integer("handed_over"),
        fields.integer("arrived"),
        fields.optional_integer("round_trip"),
        fields.integer("credited"),
        fields.integer("charged"),
        fields.integer("left"),
    )


def _clocks_json(clocks: Clocks) -> list[Json]:
    return [_clock_json(clocks[0]), _clock_json(clocks[1])]


def _clock_json(clock: SeatClock) -> dict[str, Json]:
    values: dict[str, Json] = {"remaining_ms": clock.remaining_ms}
    if clock.periods:
        values["periods"] = clock.periods
    if clock.moves_left:
        values["moves_left"] = clock.moves_left
    return values


def _read_clocks(fields: Fields, name: str) -> Clocks:
    first, second = fields.pair(name)
    return _read_clock(Fields(first, "clocks[0]")), _read_clock(Fields(second, "clocks[1]"))


def _read_clock(fields: Fields) -> SeatClock:
    periods, moves_left = fields.optional_integer("periods"), fields.optional_integer("moves_left")
    return SeatClock(fields.integer("remaining_ms"), periods or 0, moves_left or 0)


class _TextForm:
    """The form of a text: one that was cut has its digest in a field beside it."""

    def write(self, values: dict[str, Json], name: str, value: Any) -> None:
        values[name] = value.shown
        if value.digest:
            values[f"{name}_digest"] = value.digest

    def read(self, fields: Fields, name: str) -> Text:
        return Text(fields.text(name), fields.text(f"{name}_digest", ""))


_TEXT: Final = _TextForm()


def _request_json(asked: RequestContent) -> dict[str, Json]:
    """Return what a player asked for: no request of an organiser is recorded, so result, winner and note are not."""
    values: dict[str, Json] = {"command": asked.command.value}
    if asked.ply is not None:
        values["ply"] = asked.ply
    if asked.move is not None:
        _TEXT.write(values, "move", asked.move)
    if asked.accept is not None:
        values["accept"] = asked.accept
    return values


def _read_request(fields: Fields) -> RequestContent:
    return RequestContent(
        command=fields.word("command", CommandName),
        ply=fields.optional_integer("ply"),
        move=_TEXT.read(fields, "move") if "move" in fields else None,
        accept=fields.flag("accept") if "accept" in fields else None,
    )


def _read_policy(fields: Fields, name: str) -> Policy:
    try:
        return read_policy(fields.mapping(name))
    except Refusal as refusal:
        raise MalformedRecordError(f"{name}: {refusal.message}") from None


def _read_rules(fields: Fields) -> AdjudicationRules:
    return AdjudicationRules(
        *(fields.optional_integer(field.name) or 0 for field in dataclasses.fields(AdjudicationRules))
    )


_FORMS: Final[dict[Any, Form]] = {
    Text: _TEXT,
    Clocks: ValueForm(_clocks_json, _read_clocks),
    Ledger: ValueForm(_ledger_json, lambda fields, name: _read_ledger(fields.object(name))),
    RequestContent: ValueForm(_request_json, lambda fields, name: _read_request(fields.object(name))),
    tuple[tuple[str, str], ...]: ValueForm(dict, lambda fields, name: tuple(sorted(fields.texts(name).items()))),
    Policy: ValueForm(Policy.json, _read_policy),
    AdjudicationRules: ValueForm(AdjudicationRules.json, lambda fields, name: _read_rules(fields.object(name))),
}

_OTHERS: Final[Codec[Any]] = Codec(
    (
        Created, Arrived, Left, Started, Refused, Rejected, DrawOffered, DrawDeclined, Interrupted, Resumed, Ended,
    ),
    _FORMS,
    FORMAT,
)  # fmt: skip
