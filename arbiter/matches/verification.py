"""Verification: checks for each event of a record that the arbiter would have written it.

It rebuilds the command behind each event (`arbiter.matches.origins`) and decides it again on the match before the
event. The result must be the same event. This checks the transition table, the rules of the game, the clocks, the
credit, the strikes and the deadlines.

Some data is in the record alone and cannot be checked: when commands came and who sent them, request ids (except that
no id is used twice), the text of notes and refusals, and the rest of a refused move whose text was cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from arbiter.errors import Refusal, shortened
from arbiter.event_json.canonical import Json, encode
from arbiter.games.registry import game as registered_game
from arbiter.matches import creation, ends, transitions
from arbiter.matches.codec import own_fields
from arbiter.matches.commands import (
    Arrive,
    Command,
    Create,
    Interrupt,
    Leave,
    ReportFault,
    Tick,
)
from arbiter.matches.events import (
    Arrived,
    Cause,
    Created,
    Ended,
    Event,
    EventKind,
    Interrupted,
    Left,
    Moved,
    Refused,
    Rejected,
    Resumed,
)
from arbiter.matches.evolution import ContradictionError, Games, begin, evolve, replay
from arbiter.matches.match import Match, Phase, deadline
from arbiter.matches.origins import origin_of, request_of

_WORDS: Final = "message"  #: text for people in a refusal: another version of the arbiter may use other words
_LONGEST_SHOWN: Final = 200  #: maximum characters of a value in an error message


class Verification:
    """Verifies the events of one match, one after the other."""

    __slots__ = ("_due", "_games", "_match", "_moves_at")

    def __init__(self, games: Games = registered_game) -> None:
        self._games = games
        self._match: Match | None = None
        self._due: tuple[Event, ...] = ()
        self._moves_at: int | None = None  # the match resumed for a move, which must come next at this instant

    @property
    def match(self) -> Match | None:
        """The match after the events so far, or None before the first."""
        return self._match

    @property
    def due(self) -> Event | None:
        """The event that must come next because it was decided together with the last one, or None."""
        return self._due[0] if self._due else None

    def step(self, event: Event, digest: str) -> None:
        """Verify the next event; `digest` is the hash of its bytes.

        Raises ContradictionError for an impossible event. The message names the wrong field.
        """
        match = self._match
        if match is None:
            self._match = replace(self._begun(event), digest=digest)
            return
        if self._moves_at is not None:
            _expect_move(event, self._moves_at)
        decided = self._due or _decided(match, event)
        decided = (_with_recorded(event, decided[0]), *decided[1:])
        _compare(event, decided[0])
        waited = not self._due and isinstance(event, Resumed) and not _is_due(match, event.at)
        self._moves_at = event.at if waited else None
        self._match = replace(evolve(match, decided[0]), digest=digest)
        self._due = decided[1:]

    def _begun(self, event: Event) -> Match:
        if not isinstance(event, Created):
            raise ContradictionError(f"kind is {event.kind.value}, expected created: a record begins with it")
        command = Create(
            event.game,
            event.players,
            event.time,
            event.creator,
            event.request,
            event.policy,
            event.rated,
            event.label,
            opening=event.opening,
            position=event.position,
            adjudication=event.adjudication,
        )
        try:
            decided = creation.create(event.match, command, event.at, self._games, event.code).events
        except Refusal as refusal:
            raise ContradictionError(refusal.message) from None
        _compare(event, decided[0])
        self._due = decided[1:]
        return begin(event, self._games)


class Outline:
    """Follows the events of a match of a game whose rules are not installed: only whether each may come after another.

    Neither moves nor clocks are checked.
    """

    __slots__ = ("_games", "_match")

    due: Final[Event | None] = None

    def __init__(self, games: Games) -> None:
        self._games = games
        self._match: Match | None = None

    @property
    def match(self) -> Match | None:
        """The match after the events so far, or None before the first."""
        return self._match

    def step(self, event: Event, digest: str) -> None:
        """Take the next event; `digest` is the hash of its bytes. Raises ContradictionError for an impossible one."""
        after = (
            replay([event], self._games, trust=True) if self._match is None else evolve(self._match, event, trust=True)
        )
        self._match = replace(after, digest=digest)


def _decided(match: Match, event: Event) -> tuple[Event, ...]:
    """Return the events that the command behind an event causes."""
    if _is_cut(event):
        return _unasked(match, event)
    if isinstance(event, Ended) and event.reason in ends.BY_EVALUATION:
        return (_agreed(match, event),)
    if isinstance(event, Resumed) and match.phase is Phase.PAUSED:
        return (Resumed(event.at, match.ply, match.turn, match.clocks),)
    if isinstance(event, Ended) and replace(event, key="") == ends.overdue_earlier(match, event.at):
        return (event,)
    decision = transitions.decide(match, _command(match, event), event.at)
    if decision.events:
        return decision.events
    why = decision.answer.message if isinstance(decision.answer, Refusal) else "nothing of the kind was due"
    raise _impossible(event, why)


def _agreed(match: Match, event: Ended) -> Ended:
    """Return the end by agreement of both bots' comments. The event's key decrypts them; a move must come before it."""
    ended = ends.rebuilt(match, event) if event.at == match.turn_started else None
    if ended is None:
        raise _impossible(event, "what the bots said with their moves does not bring it about")
    return ended


def _with_recorded(event: Event, decided: Event) -> Event:
    """Return the decided event with those fields that are in the record alone.

    These are a comment, the key of the comments (`evolve` checks that it decrypts them), and the text of a rejected
    move, which may be cut and does not affect the rejection.
    """
    match event, decided:
        case Moved(), Moved() if event.comment:
            return replace(decided, comment=event.comment)
        case Ended(), Ended() if event.key:
            return replace(decided, key=event.key)
        case Rejected(), Rejected() if decided.asked.move:
            return replace(decided, asked=replace(decided.asked, move=event.asked.move))
        case _:
            return decided


def _impossible(event: Event, why: str) -> ContradictionError:
    return ContradictionError(f"kind is {event.kind.value}, which can't be here: {why}")


def _command(match: Match, event: Event) -> Command:
    """Return the command behind an event of a match."""
    if isinstance(event, Moved | Refused):
        _expect_turn(match, event)
    origin = origin_of(match, event)
    if origin is None:
        return _of_nobody(event)
    request = request_of(origin, event.at if isinstance(event, Rejected) else match.since)
    if request is None:
        raise ContradictionError(
            f"asked.command is {origin.asked.command.value!r}, which is no whole request of a player"
        )
    return request


def _of_nobody(event: Event) -> Command:
    """Return the command behind an event that no request caused."""
    match event:
        case Arrived():
            return Arrive(event.seat, event.version)
        case Left():
            return Leave(event.seat)
        case Interrupted():
            return Interrupt(event.reason)
        case Ended(cause=Cause.TIME | Cause.ABSENCE):
            return Tick()
        case Ended(cause=Cause.ARBITER):
            return ReportFault(event.note)
        case Ended():
            raise ContradictionError(f"cause is {event.cause.value}, which nothing before this bears out")
        case _:
            raise _impossible(event, "nothing of the kind was due")


def _is_due(match: Match, at: int) -> bool:
    due = deadline(match)
    return due is not None and at >= due


def _is_cut(event: Event) -> bool:
    """Return whether an event holds only part of a move's text, so that the rules of the game can't check it."""
    if isinstance(event, Ended):
        return event.late is not None and bool(event.late.move.digest)
    return isinstance(event, Refused) and bool(event.move.digest)


def _unasked(match: Match, event: Event) -> tuple[Event, ...]:
    """Return what an event about a cut move must be, as far as that follows from the match without the move."""
    match event:
        case Refused():
            _expect_turn(match, event)
            caller = match.players[event.seat - 1]
            if match.requests.find(caller, event.request) is not None:
                raise ContradictionError(f"request is {event.request!r}, which was answered before")
            strikes = match.strikes[event.seat - 1] + 1
            spent = strikes >= match.created.policy.illegal_moves
            ended = ends.struck_out(match, event.at)
            return (replace(event, strikes=strikes), *((ended,) if spent else ()))
        case _:
            return (event,)  # `evolve` checks the clock of a late move


def _expect_move(event: Event, at: int) -> None:
    if not isinstance(event, Moved | Refused | Ended):
        raise _impossible(event, "the match was resumed early for a move, so that move must come next")
    _expect("at", event.at, at)


def _expect_turn(match: Match, event: Moved | Refused) -> None:
    _expect("ply", event.ply, match.ply)
    _expect("seat", event.seat, match.turn)


def _expect(name: str, found: int, expected: int) -> None:
    if found != expected:
        raise ContradictionError(f"{name} is {found}, expected {expected}")


def _compare(found: Event, expected: Event) -> None:
    """Raise ContradictionError for the first field in which an event differs from the decided one."""
    if found.kind is not expected.kind:
        raise ContradictionError(f"kind is {found.kind.value}, expected {expected.kind.value}")
    if found.at != expected.at:
        raise ContradictionError(f"at is {found.at}, expected {expected.at}")
    fields, others = own_fields(found), own_fields(expected)
    for values in (fields, others):
        values.pop(_WORDS if found.kind in (EventKind.REFUSED, EventKind.REJECTED) else "", None)
    difference = first_difference(fields, others)
    if difference:
        raise ContradictionError(difference)


def first_difference(found: Json, expected: Json, where: str = "") -> str:
    """Return the first path, in canonical order, at which two JSON values differ, and the values there; '' if none."""
    if isinstance(found, Mapping) and isinstance(expected, Mapping):
        for name in sorted({*found, *expected}):
            place = f"{where}.{name}" if where else name
            if name not in found:
                return f"{place} is missing, expected {_shown(expected[name])}"
            if name not in expected:
                return f"{place} is {_shown(found[name])}, expected none"
            difference = first_difference(found[name], expected[name], place)
            if difference:
                return difference
        return ""
    if isinstance(found, list | tuple) and isinstance(expected, list | tuple) and len(found) == len(expected):
        pairs = enumerate(zip(found, expected, strict=True))
        return next((text for n, pair in pairs if (text := first_difference(*pair, f"{where}[{n}]"))), "")
    return "" if found == expected else f"{where} is {_shown(found)}, expected {_shown(expected)}"


def _shown(value: Json) -> str:
    return shortened(encode(value).decode(), _LONGEST_SHOWN)
