"""The JSON of events: reads and writes the fields of each kind.

Fields with an empty value are omitted; there are no nulls. A reader ignores unknown fields.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Final

from arbiter.errors import Reason, Refusal
from arbiter.matches.adjudication import AdjudicationRules
from arbiter.matches.canonical import Json, MalformedRecordError, UnknownKindError
from arbiter.matches.clock import Ledger, SeatClock
from arbiter.matches.commands import CommandName, Interruption, RequestContent, ResultKind, Text
from arbiter.matches.events import (
    FORMAT,
    Arrived,
    Cause,
    Clocks,
    Created,
    DrawDeclined,
    DrawOffered,
    Ended,
    Event,
    EventKind,
    Interrupted,
    LateMove,
    Left,
    Moved,
    Party,
    Refused,
    Rejected,
    Resumed,
    Started,
)
from arbiter.matches.fields import Fields
from arbiter.matches.policy import read_policy


def own_fields(event: Event) -> dict[str, Json]:
    """Return an event's own fields as a new object: its JSON without at, kind, match, previous and revision."""
    return _WRITERS[event.kind](event)


def read_event(fields: Fields) -> Event:
    """Return the event of a whole record. Raises MalformedRecordError, UnknownKindError."""
    kind = fields.text("kind")
    if kind not in _READERS:
        raise UnknownKindError(f"record.kind: {kind[:60]!r} is not known here")
    return _READERS[kind](fields.integer("at"), fields)


def _write_created(event: Created) -> dict[str, Json]:
    values: dict[str, Json] = {
        "format": FORMAT,
        "game": event.game,
        "players": event.players,
        "time": event.time,
        "policy": event.policy.json(),
        "rated": event.rated,
        "creator": event.creator,
        "request": event.request,
    }
    rules = event.adjudication.json() if event.adjudication is not None else {}
    optional: dict[str, Json] = {
        "label": event.label,
        "position": event.position,
        "opening": event.opening,
        "adjudication": rules,
    }
    return values | {name: value for name, value in optional.items() if value}


def _read_created(at: int, fields: Fields) -> Created:
    if fields.integer("format") != FORMAT:
        raise MalformedRecordError(f"format {fields.integer('format')} is not known here: expected {FORMAT}")
    first, second = fields.pair("players")
    if not isinstance(first, str) or not isinstance(second, str):
        raise MalformedRecordError("players: expected two ids")
    try:
        policy = read_policy(fields.mapping("policy"))
    except Refusal as refusal:
        raise MalformedRecordError(f"policy: {refusal.message}") from None
    return Created(
        at=at,
        match=fields.text("match"),
        game=fields.text("game"),
        players=(first, second),
        time=fields.text("time"),
        policy=policy,
        rated=fields.flag("rated"),
        label=fields.text("label", ""),
        creator=fields.text("creator"),
        request=fields.text("request"),
        opening=_read_opening(fields),
        position=fields.text("position", ""),
        adjudication=_read_rules(fields.object("adjudication")) if "adjudication" in fields else None,
    )


def _read_rules(fields: Fields) -> AdjudicationRules:
    return AdjudicationRules(
        *(fields.optional_integer(field.name) or 0 for field in dataclasses.fields(AdjudicationRules))
    )


def _read_opening(fields: Fields) -> tuple[str, ...]:
    moves = fields.sequence("opening") if "opening" in fields else ()
    if not all(isinstance(move, str) for move in moves):
        raise MalformedRecordError("opening: expected moves")
    return tuple(str(move) for move in moves)


def _write_arrived(event: Arrived) -> dict[str, Json]:
    return {"seat": event.seat, "version": event.version} if event.version else {"seat": event.seat}


def _read_arrived(at: int, fields: Fields) -> Arrived:
    return Arrived(at, fields.seat("seat"), fields.text("version", ""))


def _write_left(event: Left) -> dict[str, Json]:
    return {"seat": event.seat}


def _read_left(at: int, fields: Fields) -> Left:
    return Left(at, fields.seat("seat"))


def _write_started(event: Started) -> dict[str, Json]:
    return {"turn": event.turn, "position": event.position, "clocks": _clocks_json(event.clocks)}


def _read_started(at: int, fields: Fields) -> Started:
    return Started(at, fields.seat("turn"), fields.text("position"), _read_clocks(fields))


def _write_moved(event: Moved) -> dict[str, Json]:
    values: dict[str, Json] = {
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


def _read_moved(at: int, fields: Fields) -> Moved:
    return Moved(
        at,
        fields.integer("ply"),
        fields.seat("seat"),
        fields.text("move"),
        fields.text("position"),
        fields.text("request"),
        _read_ledger(fields.object("ledger")),
        fields.seat("turn"),
        _read_clocks(fields),
        fields.text("comment", ""),
    )


def _write_refused(event: Refused) -> dict[str, Json]:
    return {
        "seat": event.seat,
        "ply": event.ply,
        "request": event.request,
        **_text_json(event.move),
        "reason": event.reason.value,
        "message": event.message,
        "strikes": event.strikes,
    }


def _read_refused(at: int, fields: Fields) -> Refused:
    return Refused(
        at=at,
        seat=fields.seat("seat"),
        ply=fields.integer("ply"),
        request=fields.text("request"),
        move=_read_text(fields),
        reason=fields.word("reason", Reason),
        message=fields.text("message"),
        strikes=fields.integer("strikes"),
    )


def _write_rejected(event: Rejected) -> dict[str, Json]:
    asked = event.asked
    values: dict[str, Json] = {"command": asked.command.value}
    if asked.ply is not None:
        values["ply"] = asked.ply
    if asked.move is not None:
        values |= _text_json(asked.move)
    if asked.accept is not None:
        values["accept"] = asked.accept
    return {
        "seat": event.seat,
        "request": event.request,
        "asked": values,
        "reason": event.reason.value,
        "message": event.message,
        "facts": dict(event.facts),
    }


def _read_rejected(at: int, fields: Fields) -> Rejected:
    inner = fields.object("asked")
    asked = RequestContent(
        command=inner.word("command", CommandName),
        ply=inner.optional_integer("ply"),
        move=_read_text(inner) if "move" in inner else None,
        accept=inner.flag("accept") if "accept" in inner else None,
    )
    return Rejected(
        at=at,
        seat=fields.seat("seat"),
        request=fields.text("request"),
        asked=asked,
        reason=fields.word("reason", Reason),
        message=fields.text("message"),
        facts=tuple(sorted(fields.texts("facts").items())),
    )


def _write_draw_offered(event: DrawOffered) -> dict[str, Json]:
    return {"seat": event.seat, "ply": event.ply, "request": event.request}


def _read_draw_offered(at: int, fields: Fields) -> DrawOffered:
    return DrawOffered(at, fields.seat("seat"), fields.integer("ply"), fields.text("request"))


def _write_draw_declined(event: DrawDeclined) -> dict[str, Json]:
    return {"seat": event.seat, "request": event.request}


def _read_draw_declined(at: int, fields: Fields) -> DrawDeclined:
    return DrawDeclined(at, fields.seat("seat"), fields.text("request"))


def _write_interrupted(event: Interrupted) -> dict[str, Json]:
    return {"reason": event.reason.value}


def _read_interrupted(at: int, fields: Fields) -> Interrupted:
    return Interrupted(at, fields.word("reason", Interruption))


def _write_resumed(event: Resumed) -> dict[str, Json]:
    return {"ply": event.ply, "turn": event.turn, "clocks": _clocks_json(event.clocks)}


def _read_resumed(at: int, fields: Fields) -> Resumed:
    return Resumed(at, fields.integer("ply"), fields.seat("turn"), _read_clocks(fields))


def _write_ended(event: Ended) -> dict[str, Json]:
    values: dict[str, Json] = {
        "winner": event.winner,
        "result": event.result.value,
        "reason": event.reason,
        "cause": event.cause.value,
        "party": event.party.value,
    }
    optional = {"seat": event.seat, "request": event.request, "by": event.by, "note": event.note, "key": event.key}
    values |= {name: value for name, value in optional.items() if value}
    if event.late is not None:
        values["late"] = {
            "ply": event.late.ply,
            **_text_json(event.late.move),
            "ledger": _ledger_json(event.late.ledger),
        }
    return values


def _read_ended(at: int, fields: Fields) -> Ended:
    late = None
    if "late" in fields:
        inner = fields.object("late")
        late = LateMove(inner.integer("ply"), _read_text(inner), _read_ledger(inner.object("ledger")))
    return Ended(
        at=at,
        winner=fields.integer("winner"),
        result=fields.word("result", ResultKind),
        reason=fields.text("reason"),
        cause=fields.word("cause", Cause),
        party=fields.word("party", Party),
        seat=fields.seat("seat") if "seat" in fields else None,
        request=fields.text("request", ""),
        by=fields.text("by", ""),
        note=fields.text("note", ""),
        late=late,
        key=fields.text("key", ""),
    )


def _clock_json(clock: SeatClock) -> dict[str, Json]:
    values: dict[str, Json] = {"remaining_ms": clock.remaining_ms}
    if clock.periods:
        values["periods"] = clock.periods
    if clock.moves_left:
        values["moves_left"] = clock.moves_left
    return values


def _clocks_json(clocks: Clocks) -> list[Json]:
    return [_clock_json(clocks[0]), _clock_json(clocks[1])]


def _read_clocks(fields: Fields) -> Clocks:
    first, second = fields.pair("clocks")
    return _read_clock(Fields(first, "clocks[0]")), _read_clock(Fields(second, "clocks[1]"))


def _read_clock(fields: Fields) -> SeatClock:
    periods, moves_left = fields.optional_integer("periods"), fields.optional_integer("moves_left")
    return SeatClock(fields.integer("remaining_ms"), periods or 0, moves_left or 0)


def _text_json(text: Text) -> dict[str, Json]:
    return {"move": text.shown, "move_digest": text.digest} if text.digest else {"move": text.shown}


def _read_text(fields: Fields) -> Text:
    return Text(fields.text("move"), fields.text("move_digest", ""))


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


_WRITERS: Final[dict[EventKind, Callable[[Any], dict[str, Json]]]] = {
    EventKind.CREATED: _write_created,
    EventKind.ARRIVED: _write_arrived,
    EventKind.LEFT: _write_left,
    EventKind.STARTED: _write_started,
    EventKind.MOVED: _write_moved,
    EventKind.REFUSED: _write_refused,
    EventKind.REJECTED: _write_rejected,
    EventKind.DRAW_OFFERED: _write_draw_offered,
    EventKind.DRAW_DECLINED: _write_draw_declined,
    EventKind.INTERRUPTED: _write_interrupted,
    EventKind.RESUMED: _write_resumed,
    EventKind.ENDED: _write_ended,
}

_READERS: Final[dict[str, Callable[[int, Fields], Event]]] = {
    EventKind.CREATED.value: _read_created,
    EventKind.ARRIVED.value: _read_arrived,
    EventKind.LEFT.value: _read_left,
    EventKind.STARTED.value: _read_started,
    EventKind.MOVED.value: _read_moved,
    EventKind.REFUSED.value: _read_refused,
    EventKind.REJECTED.value: _read_rejected,
    EventKind.DRAW_OFFERED.value: _read_draw_offered,
    EventKind.DRAW_DECLINED.value: _read_draw_declined,
    EventKind.INTERRUPTED.value: _read_interrupted,
    EventKind.RESUMED.value: _read_resumed,
    EventKind.ENDED.value: _read_ended,
}
