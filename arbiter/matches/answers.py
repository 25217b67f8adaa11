"""What a match answers to a command, and what it records of it: decisions, receipts, repeated requests, refusals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from arbiter.errors import Reason, Refusal, argument_invalid
from arbiter.games.contract import Seat
from arbiter.matches.commands import Adjudicate, OrganiserRequest, Play, ResultKind, SeatRequest
from arbiter.matches.events import Cause, Ended, Event, EventKind, Moved, Refused, Rejected
from arbiter.matches.match import Match
from arbiter.matches.origins import Origin, asked
from arbiter.matches.requests import Answered, Receipt, check_request_id, request_id_reused
from arbiter.plain_text import check_plain

LONGEST_MATCH: Final = 2**31 - 1  #: an upper bound on plies, which no match reaches
LONGEST_NOTE: Final = 500  #: maximum characters of an organiser's note
_WINNERS: Final = {ResultKind.WIN: (1, 2), ResultKind.DRAW: (0,), ResultKind.VOID: (0,)}


@dataclass(init=False, slots=True)
class Decision:
    """What a command does: the events to store, in order (none if nothing changes), and the answer to its sender.

    Send the answer, even a refusal, only once the events are durable.
    """

    events: tuple[Event, ...]
    answer: Receipt | Refusal

    def __init__(self, events: tuple[Event, ...], answer: Receipt | Refusal) -> None:
        self.events = events
        self.answer = answer


def unchanged(match: Match) -> Decision:
    """Return the decision of a command that changes nothing."""
    return Decision((), Receipt(match.revision, None, match.ply))


def carried_out(match: Match, event: Event, *consequences: Event) -> Decision:
    """Return the decision of a command that the first of these events carries out."""
    return Decision((event, *consequences), receipt_of(match, event))


def earlier_answer(match: Match, command: SeatRequest | OrganiserRequest) -> Receipt | Refusal | None:
    """Return the answer that a request got earlier according to the record, or None.

    Raises Refusal ARGUMENT_INVALID for a request that no match could carry out, REQUEST_ID_REUSED.
    """
    if isinstance(command, OrganiserRequest):
        caller = command.by
        _check_organiser(command)
    else:
        caller = match.players[command.seat - 1]
        if isinstance(command, Play) and not -LONGEST_MATCH <= command.ply <= LONGEST_MATCH:
            raise argument_invalid(str(command.ply), "ply", f"at most {LONGEST_MATCH}")
    check_request_id(command.request)
    answered = match.requests.find(caller, command.request)
    if answered is None:
        return None
    if answered.asked != asked(command):
        raise request_id_reused(command.request)
    return _answer_of(match, answered)


def receipt_of(match: Match, event: Event) -> Receipt:
    """Return the receipt for a command that the next event of a match carries out."""
    revision, ply = match.revision + 1, match.ply
    if isinstance(event, Moved):
        return Receipt(revision, event.kind, ply + 1, event.ledger)
    if isinstance(event, Ended):
        return Receipt(revision, event.kind, ply, event.late.ledger if event.late is not None else None, event)
    return Receipt(revision, event.kind, ply)


def answered_by(match: Match, event: Event, origin: Origin) -> Answered:
    """Return what the match stores about the request behind its next event."""
    receipt = receipt_of(match, event)
    if isinstance(event, Refused):
        return Answered(origin.asked, receipt, event, match.text)
    return Answered(origin.asked, receipt, event if isinstance(event, Rejected) else None)


def _check_organiser(command: OrganiserRequest) -> None:
    check_plain(command.by, "organiser", 100, least=1)
    check_plain(command.note, "note", LONGEST_NOTE)
    if isinstance(command, Adjudicate) and command.winner not in _WINNERS[command.result]:
        raise argument_invalid(str(command.winner), "winner", "1 or 2 for a win, 0 for a draw or a void match")


def _answer_of(match: Match, answered: Answered) -> Receipt | Refusal:
    match answered.refused:
        case Rejected() as rejected:
            return rejection(rejected)
        case Refused() as refused:
            return strike_refusal(match, refused, answered.position)
    receipt, result = answered.receipt, match.result
    if result is not None and receipt.kind is EventKind.MOVED and _ended_by_move(match, receipt.revision):
        return replace(receipt, result=result)
    return receipt


def _ended_by_move(match: Match, revision: int) -> bool:
    result = match.result
    return result is not None and result.cause is Cause.RULES and not result.request and match.revision == revision + 1


def rejection(rejected: Rejected) -> Refusal:
    """Return the answer to a rejected request, built from its record."""
    return Refusal.said(rejected.reason, rejected.message, dict(rejected.facts))


def not_your_turn(seat: Seat, turn: Seat) -> Refusal:
    """Return the refusal for a seat whose turn it is not."""
    return Refusal(Reason.NOT_YOUR_TURN, f"seat {turn} is to move, not seat {seat}", seat=seat, turn=turn)


def ply_mismatch(match: Match, ply: int) -> Refusal:
    """Return the refusal for a move whose ply is not the match's current ply."""
    return Refusal(
        Reason.PLY_MISMATCH,
        f"the match is at ply {match.ply}, the move is for ply {ply}: read the match again",
        expected=match.ply,
        actual=ply,
    )


def not_active(match: Match) -> Refusal:
    """Return the refusal for a command that the match's phase does not allow."""
    result = match.result
    outcome = "none" if result is None else f"{result.winner or result.result.value} {result.reason}"
    return Refusal(
        Reason.MATCH_NOT_ACTIVE,
        f"the match is {match.phase.value}" + (f": {outcome}" if result is not None else ""),
        phase=match.phase.value,
        outcome=outcome,
    )


def strike_refusal(match: Match, refused: Refused, position: str) -> Refusal:
    """Return the answer to an illegal or malformed move, built from its record."""
    message, move, left = refused.message, refused.move.shown, match.created.policy.illegal_moves - refused.strikes
    if refused.reason is Reason.MOVE_MALFORMED:
        return Refusal(Reason.MOVE_MALFORMED, message, move=move, game=match.created.game, strikes_left=left)
    return Refusal(Reason.MOVE_ILLEGAL, message, move=move, position=position, ply=refused.ply, strikes_left=left)


def no_draw(why: str) -> Refusal:
    """Return the refusal for a draw that is not possible; `why` is a clause for people and programs."""
    return Refusal(Reason.DRAW_NOT_AVAILABLE, why, why=why)
