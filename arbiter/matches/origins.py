"""Origins: the request behind an event. Only this module maps requests to events and back.

| request | compared by | carried out by | refused by |
| --- | --- | --- | --- |
| `Play` | ply, move | `moved` | `refused` (a strike), `ended` (it came too late), `rejected` |
| `OfferDraw` | | `draw_offered` | `rejected` |
| `AnswerDraw` | accept | `draw_declined`, or `ended` by agreement | `rejected` |
| `ClaimDraw` | | `ended` by the rules | `rejected` |
| `Resign` | | `ended` by resignation | `rejected` |
| `Abort` | note | `ended` by the organiser, as aborted | |
| `Adjudicate` | result, winner, note, by_tables | `ended` by the organiser, for another reason | |

Three modules use this: `answers` compares a repeated request with the first one, `evolution` keeps the answered
requests, and `verification` decides every request again. `transitions` defines what a request does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from arbiter.games.contract import Seat
from arbiter.matches.clock import Ledger
from arbiter.matches.commands import (
    Abort,
    Adjudicate,
    AnswerDraw,
    ClaimDraw,
    CommandName,
    OfferDraw,
    Play,
    Request,
    RequestContent,
    Resign,
    ResultKind,
)
from arbiter.matches.events import (
    Cause,
    DrawDeclined,
    DrawOffered,
    Ended,
    Event,
    EventKind,
    MatchEndReason,
    Moved,
    Refused,
    Rejected,
)
from arbiter.matches.match import Match, other
from arbiter.matches.requests import shown


@dataclass(init=False, slots=True)
class Origin:
    """The request behind an event, as far as the record shows it.

    seat: the player's, or None for an organiser's request; then `by` is the organiser's id.
    request: the request's id. ledger: how the time of a move was computed, if it was.
    """

    asked: RequestContent
    request: str
    seat: Seat | None
    by: str
    ledger: Ledger | None

    def __init__(
        self, asked: RequestContent, request: str, seat: Seat | None, by: str = "", ledger: Ledger | None = None
    ) -> None:
        self.asked = asked
        self.request = request
        self.seat = seat
        self.by = by
        self.ledger = ledger


def asked(command: Request) -> RequestContent:
    """Return what a request asks for: everything that must be equal when it is repeated with the same id."""
    match command:
        case Play():
            return RequestContent(CommandName.PLAY, command.ply, shown(command.move))
        case OfferDraw():
            return RequestContent(CommandName.OFFER_DRAW)
        case AnswerDraw():
            return RequestContent(CommandName.ANSWER_DRAW, accept=command.accept)
        case ClaimDraw():
            return RequestContent(CommandName.CLAIM_DRAW)
        case Resign():
            return RequestContent(CommandName.RESIGN)
        case Abort():
            return RequestContent(CommandName.ABORT, note=command.note)
        case Adjudicate():
            return _adjudicated(command.result, command.winner, command.note, command.by_tables)


def _adjudicated(result: ResultKind, winner: int, note: str, by_tables: bool) -> RequestContent:
    return RequestContent(CommandName.ADJUDICATE, result=result, winner=winner, note=note, by_tables=by_tables)


def request_of(origin: Origin, arrived: int) -> Request | None:
    """Return the request of an origin: the reverse of `asked`. None if the record does not hold enough.

    arrived: when a move arrived whose time was not computed, UTC epoch milliseconds.
    """
    asks, request, seat, ledger = origin.asked, origin.request, origin.seat, origin.ledger
    name = asks.command
    if seat is None:
        if name is CommandName.ABORT:
            return Abort(origin.by, request, asks.note)
        if asks.result is None:
            return None
        return Adjudicate(origin.by, request, asks.result, asks.winner, asks.note, asks.by_tables)
    if name is CommandName.PLAY and asks.ply is not None and asks.move is not None:
        if ledger is None:
            return Play(seat, request, asks.ply, asks.move.shown, arrived)
        times = (ledger.arrived, ledger.handed_over, ledger.round_trip)
        return Play(seat, request, asks.ply, asks.move.shown, *times)
    if name is CommandName.ANSWER_DRAW and asks.accept is not None:
        return AnswerDraw(seat, request, asks.accept)
    plain = _PLAIN.get(name)
    return None if plain is None else plain(seat, request)


def origin_of(match: Match, event: Event) -> Origin | None:
    """Return the request behind the next event of a match, or None if no request is behind it."""
    read = _ORIGINS.get(event.kind)
    return None if read is None else read(match, event)


def _of_move(match: Match, event: Moved) -> Origin:
    return Origin(
        RequestContent(CommandName.PLAY, event.ply, shown(event.move)), event.request, event.seat, "", event.ledger
    )


def _of_strike(match: Match, event: Refused) -> Origin:
    return Origin(RequestContent(CommandName.PLAY, event.ply, event.move), event.request, event.seat)


def _of_rejection(match: Match, event: Rejected) -> Origin:
    return Origin(event.asked, event.request, event.seat)


def _of_offer(match: Match, event: DrawOffered) -> Origin:
    return Origin(RequestContent(CommandName.OFFER_DRAW), event.request, event.seat)


def _of_decline(match: Match, event: DrawDeclined) -> Origin:
    return Origin(RequestContent(CommandName.ANSWER_DRAW, accept=False), event.request, event.seat)


def _of_end(match: Match, event: Ended) -> Origin | None:
    request, late = event.request, event.late
    match event.cause:
        case Cause.RULES if request:
            return Origin(RequestContent(CommandName.CLAIM_DRAW), request, match.turn)
        case Cause.AGREEMENT if match.offer is not None:
            return Origin(RequestContent(CommandName.ANSWER_DRAW, accept=True), request, other(match.offer.seat))
        case Cause.RESIGNATION if event.seat is not None:
            return Origin(RequestContent(CommandName.RESIGN), request, event.seat)
        case Cause.TIME if late is not None:
            return Origin(RequestContent(CommandName.PLAY, late.ply, late.move), request, match.turn, "", late.ledger)
        case Cause.ORGANISER if request and event.reason == MatchEndReason.ABORTED:
            return Origin(RequestContent(CommandName.ABORT, note=event.note), request, None, event.by)
        case Cause.ORGANISER if request:
            by_tables = event.reason == MatchEndReason.ADJUDICATED_TABLEBASE
            return Origin(_adjudicated(event.result, event.winner, event.note, by_tables), request, None, event.by)
        case _:
            return None


_PLAIN: Final[dict[CommandName, type[OfferDraw] | type[ClaimDraw] | type[Resign]]] = {
    CommandName.OFFER_DRAW: OfferDraw,
    CommandName.CLAIM_DRAW: ClaimDraw,
    CommandName.RESIGN: Resign,
}
"""The players' requests without arguments."""

_ORIGINS: Final[dict[EventKind, Callable[[Match, Any], Origin | None]]] = {
    EventKind.MOVED: _of_move,
    EventKind.REFUSED: _of_strike,
    EventKind.REJECTED: _of_rejection,
    EventKind.DRAW_OFFERED: _of_offer,
    EventKind.DRAW_DECLINED: _of_decline,
    EventKind.ENDED: _of_end,
}
