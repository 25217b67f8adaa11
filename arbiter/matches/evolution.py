"""Applies events to a match: the match after one event, or after all its events.

A `moved` event that was just decided carries the rules' position, so nothing is computed twice. A `moved` event that
was read from a log does not: its move is played and its clock is computed again, to check the event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from arbiter.errors import Refusal, argument_invalid
from arbiter.event_json.canonical import MalformedRecordError, RecordError
from arbiter.games.contract import AnyGame, Seat
from arbiter.games.line import follow
from arbiter.games.missing import Missing
from arbiter.games.registry import game as registered_game
from arbiter.matches import clock, ends, time_control
from arbiter.matches.adjudication import Lead, lead_after
from arbiter.matches.answers import answered_by
from arbiter.matches.clock import credit
from arbiter.matches.comments import key_of, opened
from arbiter.matches.events import (
    Arrived,
    Cause,
    Created,
    DrawDeclined,
    DrawOffered,
    Ended,
    Event,
    EventKind,
    Interrupted,
    Left,
    MatchEndReason,
    Moved,
    Refused,
    Rejected,
    Resumed,
    Started,
)
from arbiter.matches.match import LIVE, Match, Offer, Phase, Versions, judge, with_position
from arbiter.matches.origins import Origin, origin_of
from arbiter.matches.record import first_digest, next_digest
from arbiter.matches.requests import Requests

MOST_OPENING_MOVES: Final = 1_000

Games = Callable[[str], AnyGame]
"""Finds the game of a variant's name, as `arbiter.games.registry.game` does."""


class ContradictionError(RecordError):
    """An event that is impossible: it contradicts the rules, the clock or the events before it."""


def opening_played(game: AnyGame, opening: Sequence[str], start: str = "") -> tuple[Any, bytes]:
    """Return the position after an opening, and the seat of each of its moves. start: the text of its first position.

    An opening is given at the creation of a match, and the players do not play it: its moves are in the `created`
    event. They count as plies and for the rules about repetition. They cost no time, do not count in the sessions of a
    time control, and have no requests.

    Raises Refusal POSITION_MALFORMED; MOVE_MALFORMED or MOVE_ILLEGAL with the fact `ply`, the number of its moves
    before the bad one; ARGUMENT_INVALID for an opening of more than MOST_OPENING_MOVES moves, or one that ends the
    game, and for a start position in which the game is over.
    """
    if len(opening) > MOST_OPENING_MOVES:
        raise argument_invalid(f"{len(opening)} moves", "opening", f"at most {MOST_OPENING_MOVES} moves")
    first = game.start(start)
    if first.outcome is not None:
        raise argument_invalid(start, "position", f"one in which the game goes on: this is {first.outcome}")
    line = follow(game, first, opening)
    if line.final.outcome is not None:
        raise argument_invalid(" ".join(opening), "opening", "moves that do not end the game")
    return line.final, bytes(position.turn for position in line.positions[:-1])


def begin(created: Created, games: Games = registered_game) -> Match:
    """Return the match that its first event creates, with its opening played.

    Raises ContradictionError for an unknown game or time control, or an opening that the rules do not allow.
    """
    try:
        game, controls = games(created.game), time_control.parse_pair(created.time)
        position, turns = opening_played(game, created.opening, created.position)
    except Refusal as refusal:
        raise ContradictionError(f"revision 1: {refusal.message}") from None
    bank = created.policy.credit.bank_ms
    return Match(
        created=created,
        game=game,
        controls=controls,
        phase=Phase.PENDING,
        revision=1,
        digest=first_digest(created.match, created),
        at=created.at,
        position=position,
        text=game.text(position),
        moves=created.opening,
        turns=turns,
        turn=position.turn,
        clocks=(clock.start(controls[0]), clock.start(controls[1])),
        banks=(bank, bank),
        since=created.at,
        present=(False, False),
        away=(None, None),
        strikes=(0, 0),
        rejected=(0, 0),
        offer=None,
        offered=(-1, -1),
        requests=Requests(),
        result=None,
        comments=(),
        secret=b"",
        bots=Versions(),
        led=Lead(),
    )


def evolve(match: Match, event: Event, *, trust: bool = False) -> Match:
    """Return the match after its next event.

    For a `moved` event without a position the move is played and the ledger is computed again, as a check. With `trust`
    this is skipped; then the match has no position until `with_position` plays the moves. Raises ContradictionError for
    an impossible event.
    """
    step = _STEPS.get((match.phase, event.kind))
    if step is None:
        raise _contradiction(match, event, f"no {event.kind.value} event in phase {match.phase.value}")
    if event.at < match.at:
        raise _contradiction(match, event, "earlier than the event before")
    after = match.copy()
    step(match, event, after)
    origin = origin_of(match, event)
    if origin is not None:
        after.requests = _requests(match, event, origin)
    if isinstance(event, Moved):
        if event.after is None and not trust:
            after.position = _played(with_position(match), event)
        rules = match.created.adjudication
        if rules is not None and rules.material and after.position is not None:
            after.led = lead_after(rules, with_position(match).led, match.game, after.position)
    after.digest = next_digest(match, event)
    after.revision = match.revision + 1
    after.at = event.at
    return after


def _known(games: Games, variant: str) -> AnyGame:
    """Return the game of a variant's name in a record, or the stand-in for one whose rules are not installed here."""
    try:
        return games(variant)
    except Refusal:
        return Missing(variant)


def replay(events: Iterable[Event], games: Games = registered_game, *, trust: bool = False) -> Match:
    """Return the match after all its events, from the first one on. `trust` is as in `evolve`.

    With `trust`, a match of a game whose rules are not installed is read too: its game is then a stand-in.

    Raises ContradictionError for impossible events, RecordError if there are none.
    """
    match: Match | None = None
    for event in events:
        if match is not None:
            match = evolve(match, event, trust=trust)
        elif isinstance(event, Created):
            match = begin(event, partial(_known, games) if trust else games)
        else:
            raise ContradictionError(f"revision 1: {event.kind.value} is not the first event of a match")
    if match is None:
        raise RecordError("a match has at least one event")
    return match


def _contradiction(match: Match, event: Event, what: str) -> ContradictionError:
    return ContradictionError(f"revision {match.revision + 1} ({event.kind.value}): {what}")


def _expect(match: Match, event: Event, name: str, found: object, expected: object) -> None:
    if found != expected:
        raise _contradiction(match, event, f"{name} is {found}, expected {expected}")


def _set(pair: tuple[Any, Any], seat: Seat, value: Any) -> tuple[Any, Any]:
    return (value, pair[1]) if seat == 1 else (pair[0], value)


def _requests(match: Match, event: Event, origin: Origin) -> Requests:
    caller = origin.by if origin.seat is None else match.players[origin.seat - 1]
    return match.requests.with_answer(caller, origin.request, answered_by(match, event, origin))


def _arrived(match: Match, event: Arrived, after: Match) -> None:
    after.present = _set(match.present, event.seat, True)
    after.away = _set(match.away, event.seat, None)
    after.bots = match.bots.after(event)


def _left(match: Match, event: Left, after: Match) -> None:
    after.present = _set(match.present, event.seat, False)
    after.away = _set(match.away, event.seat, event.at)


def _started(match: Match, event: Started, after: Match) -> None:
    if match.game.installed:
        _expect(match, event, "position", event.position, match.text)
        _expect(match, event, "turn", event.turn, match.turn)
    else:
        after.text, after.turn = event.position, event.turn
    _expect(match, event, "clocks", event.clocks, match.clocks)
    after.phase = Phase.ACTIVE
    after.since = event.at
    after.away = (None, None)


def _moved(match: Match, event: Moved, after: Match) -> None:
    seat, ledger = event.seat, event.ledger
    rules, bank = match.created.policy.credit, match.banks[seat - 1]
    _, bank = credit(rules, bank, match.since, ledger.handed_over, ledger.arrived, ledger.round_trip)
    if match.bots.moved[seat - 1] is None:
        after.bots = match.bots.after(event)
    if event.comment:
        after.comments = (*match.comments, (event.ply, event.comment))
    after.position = event.after
    after.text = event.position
    after.moves = match.moves + (event.move,)  # noqa: RUF005 - compiled, the other form makes a list first
    after.turns = match.turns + _SEAT_BYTES[seat - 1]
    after.turn = event.turn
    after.clocks = event.clocks
    after.banks = _set(match.banks, seat, bank)
    after.since = event.at
    if match.away[seat - 1] is not None:  # a move shows that a player without a stream is alive
        after.away = _set(match.away, seat, event.at)
    if match.offer is not None and match.offer.seat != seat:
        after.offer = None


def _played(match: Match, event: Moved) -> Any:
    """Return the position after a move that was read from a log. Raises ContradictionError if rules or clock differ."""
    ledger = event.ledger
    judgement = judge(match, ledger.arrived, ledger.handed_over, ledger.round_trip)
    _expect(match, event, "ply", event.ply, match.ply)
    _expect(match, event, "seat", event.seat, match.turn)
    _expect(match, event, "ledger", ledger, judgement.ledger)
    _expect(match, event, "clocks", event.clocks, _set(match.clocks, event.seat, judgement.clock))
    try:
        position = match.game.play(match.position, event.move)
    except Refusal as refusal:
        raise _contradiction(match, event, refusal.message) from None
    _expect(match, event, "position", event.position, match.game.text(position))
    _expect(match, event, "turn", event.turn, position.turn)
    return position


def _refused(match: Match, event: Refused, after: Match) -> None:
    _expect(match, event, "seat", event.seat, match.turn)
    _expect(match, event, "ply", event.ply, match.ply)
    _expect(match, event, "strikes", event.strikes, match.strikes[event.seat - 1] + 1)
    after.strikes = _set(match.strikes, event.seat, event.strikes)


def _rejected(match: Match, event: Rejected, after: Match) -> None:
    kept = match.rejected[event.seat - 1]
    if kept >= match.created.policy.kept_refusals:
        raise _contradiction(match, event, f"no more than {kept} refusals of a player are kept")
    after.rejected = _set(match.rejected, event.seat, kept + 1)


def _draw_offered(match: Match, event: DrawOffered, after: Match) -> None:
    _expect(match, event, "ply", event.ply, match.ply)
    after.offer = Offer(event.seat, event.ply)
    after.offered = _set(match.offered, event.seat, event.ply)


def _draw_declined(match: Match, event: DrawDeclined, after: Match) -> None:
    if match.offer is None or match.offer.seat == event.seat:
        raise _contradiction(match, event, "there is no offer of the opponent")
    after.offer = None


def _interrupted(match: Match, event: Interrupted, after: Match) -> None:
    first, second = (event.at if present else since for present, since in zip(match.present, match.away, strict=True))
    after.phase = Phase.PENDING if match.phase is Phase.PENDING else Phase.PAUSED
    after.since = event.at
    after.present = (False, False)
    after.away = (first, second)


def _resumed(match: Match, event: Resumed, after: Match) -> None:
    _expect(match, event, "ply", event.ply, match.ply)
    _expect(match, event, "turn", event.turn, match.turn)
    _expect(match, event, "clocks", event.clocks, match.clocks)
    first, second = match.away
    after.phase = Phase.ACTIVE
    after.since = event.at
    # The outage does not count as a player's absence.
    after.away = (None if first is None else event.at, None if second is None else event.at)


def _ended(match: Match, event: Ended, after: Match) -> None:
    _check_end(match, event)
    after.phase = Phase.ENDED
    after.since = event.at
    after.result = event
    after.offer = None


def _check_end(match: Match, event: Ended) -> None:
    """Raise ContradictionError for an end that contradicts position, clock, strikes, absence or comments."""
    if event.key:
        _check_key(match, event)
    if match.position is None and (event.cause is Cause.RULES or event.reason == MatchEndReason.ADJUDICATED_MATERIAL):
        return  # not verified
    if match.position is not None and match.position.outcome is not None and event.cause is not Cause.RULES:
        raise _contradiction(match, event, "the game was over by its rules")
    rebuilt = ends.rebuilt(match, event)
    _expect(match, event, "end", event, replace(rebuilt, key=event.key) if rebuilt is not None else None)


def _check_key(match: Match, event: Ended) -> None:
    """Raise ContradictionError unless the disclosed key decrypts the comments, of which there must be at least one."""
    if not match.comments:
        raise _contradiction(match, event, "a key, and no comments that it opens")
    try:
        opened(match.comments, key_of(event.key))
    except MalformedRecordError as error:
        raise _contradiction(match, event, str(error)) from None


_SEAT_BYTES: Final = (b"\x01", b"\x02")

Step = Callable[[Match, Any, Match], None]
"""Writes what an event changes into a copy of the match before it."""

_PLAYING: Final = (Phase.ACTIVE, Phase.PAUSED)

_ROWS: Final[dict[EventKind, tuple[Step, tuple[Phase, ...]]]] = {
    EventKind.ARRIVED: (_arrived, LIVE),
    EventKind.LEFT: (_left, LIVE),
    EventKind.STARTED: (_started, (Phase.PENDING,)),
    EventKind.MOVED: (_moved, (Phase.ACTIVE,)),
    EventKind.REFUSED: (_refused, (Phase.ACTIVE,)),
    EventKind.REJECTED: (_rejected, LIVE),
    EventKind.DRAW_OFFERED: (_draw_offered, _PLAYING),
    EventKind.DRAW_DECLINED: (_draw_declined, _PLAYING),
    EventKind.INTERRUPTED: (_interrupted, LIVE),
    EventKind.RESUMED: (_resumed, (Phase.PAUSED,)),
    EventKind.ENDED: (_ended, LIVE),
}
"""How an event of a kind changes a match, and the phases in which it is possible."""

_STEPS: Final[dict[tuple[Phase, EventKind], Step]] = {
    (phase, kind): step for kind, (step, phases) in _ROWS.items() for phase in phases
}
"""How an event of a kind changes a match in a phase; a missing key is a contradiction."""
