"""Decides what a command does to a match, by a table of phase × kind of command.

A missing key means the refusal MATCH_NOT_ACTIVE. A recorded request gets its first answer again, without the table. So
that this holds for refusals too, a refusal of a player's request leaves an event: `refused` (a strike) or `rejected`.
Three refusals leave none, because their answer never changes: a request that no match could carry out
(ARGUMENT_INVALID), a request id that another request has used (REQUEST_ID_REUSED), and any request after the end.
Requests of organisers get no other refusals. A match keeps at most `Policy.kept_refusals` rejected requests of each
player. The same code handles both seats.

The checks of a move, in order: the request is new, the ply matches, it is the seat's turn, the flag has not fallen, the
move is legal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from arbiter.errors import Refusal
from arbiter.event_json.canonical import MalformedRecordError
from arbiter.matches import ends
from arbiter.matches.answers import (
    LONGEST_NOTE,
    Decision,
    carried_out,
    earlier_answer,
    no_draw,
    not_active,
    not_your_turn,
    ply_mismatch,
    receipt_of,
    rejection,
    strike_refusal,
    unchanged,
)
from arbiter.matches.commands import (
    Abort,
    Adjudicate,
    AnswerDraw,
    Arrive,
    ClaimDraw,
    Command,
    Interrupt,
    Leave,
    OfferDraw,
    OrganiserRequest,
    Play,
    ReportFault,
    Request,
    Resign,
    ResultKind,
    SeatRequest,
    Tick,
)
from arbiter.matches.comments import opened, seal
from arbiter.matches.events import (
    Arrived,
    DrawDeclined,
    DrawOffered,
    Ended,
    Interrupted,
    LateMove,
    Left,
    MatchEndReason,
    Moved,
    Refused,
    Rejected,
    Resumed,
    Started,
)
from arbiter.matches.evolution import evolve
from arbiter.matches.match import LIVE, Judgement, Match, Phase, deadline, judge, other, with_position
from arbiter.matches.origins import asked
from arbiter.matches.requests import Receipt, shown


def decide(match: Match, command: Command, now: int) -> Decision:
    """Return what a command does to a match at an instant (UTC epoch milliseconds).

    A move that is given by an alias is resolved first: the record holds the game's own text of it, and so does what a
    repeated request is compared with. It never raises a refusal: a refusal is part of the decision. Events get the
    instant `now`, or that of the last event if the system clock has been set back since.
    """
    at = max(now, match.at)
    if isinstance(command, Play) and (move := match.game.canonical(command.move)) != command.move:
        command = replace(command, move=move)
    try:
        if isinstance(command, Request):
            answer = earlier_answer(match, command)
            if answer is not None:
                return Decision((), answer)
    except Refusal as refusal:
        return Decision((), refusal.with_traceback(None))  # an answer to keep, not an error to trace
    try:
        handler = TABLE.get((match.phase, type(command)))
        if handler is None:
            raise not_active(match)
        return _disclosed(match, handler(match, command, at))
    except Refusal as refusal:
        return _reject(match, command, at, refusal.with_traceback(None))


def _reject(match: Match, command: Command, at: int, refusal: Refusal) -> Decision:
    """Return a refusal as an answer; record it with an event if a repeated request might get another answer."""
    if match.phase is Phase.ENDED or not isinstance(command, SeatRequest):
        return Decision((), refusal)
    if match.rejected[command.seat - 1] >= match.created.policy.kept_refusals:
        return Decision((), refusal)
    facts = tuple(sorted(refusal.facts.items()))
    rejected = Rejected(at, command.seat, command.request, asked(command), refusal.reason, refusal.message, facts)
    return Decision((rejected,), rejection(rejected))


def _disclosed(match: Match, decision: Decision) -> Decision:
    """Add the key of the comments to a decision, if it ends the match and the key is known here."""
    last = decision.events[-1] if decision.events else None
    if not isinstance(last, Ended) or not match.secret:
        return decision
    moves = (move for move in decision.events if isinstance(move, Moved))
    comments = [*match.comments, *((move.ply, move.comment) for move in moves)]
    try:
        if not opened(((ply, sealed) for ply, sealed in comments if sealed), match.secret):
            return decision
    except MalformedRecordError:  # encrypted with a signing key that has been lost
        return decision
    ended = replace(last, key=match.secret.hex())
    answer = decision.answer
    if isinstance(answer, Receipt) and answer.result is last:
        answer = replace(answer, result=ended)
    return Decision((*decision.events[:-1], ended), answer)


# Being there


def _arrive(match: Match, command: Arrive, at: int) -> Decision:
    arrived = Arrived(at, command.seat, command.version)
    if match.present[command.seat - 1]:
        another = command.version not in ("", match.bots.arrived[command.seat - 1])
        return carried_out(match, arrived) if another else unchanged(match)
    if match.phase is Phase.PENDING and match.present[other(command.seat) - 1]:
        return carried_out(match, arrived, _start(match, at))
    if match.phase is Phase.PAUSED and command.seat == match.turn:
        return carried_out(match, arrived, _resume(match, at))
    return carried_out(match, arrived)


def _leave(match: Match, command: Leave, at: int) -> Decision:
    if not match.present[command.seat - 1]:
        return unchanged(match)
    return carried_out(match, Left(at, command.seat))


def _interrupt(match: Match, command: Interrupt, at: int) -> Decision:
    if command.player and not is_turn(match, command.player, command.began_by):
        return unchanged(match)
    return carried_out(match, Interrupted(at, command.reason))


def is_turn(match: Match, player: str, began_by: int | None) -> bool:
    """Return whether a player's clock runs, in a turn that began by an instant, if one is given."""
    started = match.turn_started
    return started is not None and match.players[match.turn - 1] == player and (began_by is None or started <= began_by)


def _start(match: Match, at: int) -> Started:
    return Started(at, match.turn, match.text, match.clocks)


def _resume(match: Match, at: int) -> Resumed:
    return Resumed(at, match.ply, match.turn, match.clocks)


# Moves


def _play(match: Match, command: Play, at: int) -> Decision:
    _check_turn(match, command)
    match = with_position(match)
    seat = command.seat
    judgement = judge(match, min(command.arrived, at), command.handed_over, command.round_trip_ms)
    if judgement.clock is None:
        return _late(match, command, at, judgement)
    try:
        position = match.game.play(match.position, command.move)
    except Refusal as refusal:
        return _strike(match, command, at, refusal)
    clocks = (judgement.clock, match.clocks[1]) if seat == 1 else (match.clocks[0], judgement.clock)
    text = match.game.text(position)
    moved = Moved(
        at,
        command.ply,
        seat,
        command.move,
        text,
        command.request,
        judgement.ledger,
        position.turn,
        clocks,
        seal(command.comment, match.secret, command.ply) if command.comment and match.secret else "",
        after=position,
    )
    ended = _ended_by(match, moved, at)
    if ended is None:
        return carried_out(match, moved)
    return Decision((moved, ended), replace(receipt_of(match, moved), result=ended))


def _ended_by(match: Match, moved: Moved, at: int) -> Ended | None:
    """Return the end that a move causes: by the rules of the game, or else by adjudication."""
    if moved.after.outcome is not None:
        winner, reason = moved.after.outcome
        return ends.by_rules(match, at, winner, reason, moved.seat)
    if match.created.adjudication is None:
        return None
    return ends.ruled(evolve(match, moved), at, match.secret)


def _play_paused(match: Match, command: Play, at: int) -> Decision:
    """Play a move in an interrupted match: the interrupted turn starts again at the instant of the move."""
    _check_turn(match, command)
    resumed = _resume(match, at)
    played = _play(evolve(match, resumed), command, at)
    return Decision((resumed, *played.events), played.answer)


def _check_turn(match: Match, command: Play) -> None:
    if command.ply != match.ply:
        raise ply_mismatch(match, command.ply)
    if command.seat != match.turn:
        raise not_your_turn(command.seat, match.turn)


def _late(match: Match, command: Play, at: int, judgement: Judgement) -> Decision:
    late = LateMove(command.ply, shown(command.move), judgement.ledger)
    return carried_out(match, ends.flag_fell(match, at, command.request, late))


def _strike(match: Match, command: Play, at: int, refusal: Refusal) -> Decision:
    seat = command.seat
    strikes = match.strikes[seat - 1] + 1
    refused = Refused(
        at, seat, command.ply, command.request, shown(command.move), refusal.reason, refusal.message, strikes
    )
    answer = strike_refusal(match, refused, match.text)
    if strikes < match.created.policy.illegal_moves:
        return Decision((refused,), answer)
    ended = ends.struck_out(match, at)
    return Decision((refused, ended), answer)


# Draws


def _offer_draw(match: Match, command: OfferDraw, at: int) -> Decision:
    if not match.game.facts.draw_offers:
        raise no_draw(f"{match.game.facts.name} knows no draw offers")
    if match.is_self_play:
        raise no_draw("a player has nobody to offer a draw to in a match against itself")
    if match.offer is not None:
        raise no_draw("an offer stands already")
    if match.offered[command.seat - 1] == match.ply:
        raise no_draw("one offer a ply is allowed")
    return carried_out(match, DrawOffered(at, command.seat, match.ply, command.request))


def _answer_draw(match: Match, command: AnswerDraw, at: int) -> Decision:
    if match.offer is None or match.offer.seat == command.seat:
        raise no_draw("there is no offer of the opponent")
    if not command.accept:
        return carried_out(match, DrawDeclined(at, command.seat, command.request))
    return carried_out(match, ends.agreed(match, at, command.request))


def _claim_draw(match: Match, command: ClaimDraw, at: int) -> Decision:
    if command.seat != match.turn:
        raise not_your_turn(command.seat, match.turn)
    reason = match.game.claim(with_position(match).position)
    if reason is None:
        raise no_draw("the rules grant no claim in this position")
    return carried_out(match, ends.claimed(match, at, reason, command.request))


# Ends


def _resign(match: Match, command: Resign, at: int) -> Decision:
    return carried_out(match, ends.resigned(match, at, command.seat, command.request))


def _abort(match: Match, command: Abort, at: int) -> Decision:
    return _organised(match, command, at, ResultKind.VOID, 0, MatchEndReason.ABORTED)


def _adjudicate(match: Match, command: Adjudicate, at: int) -> Decision:
    reason = MatchEndReason.ADJUDICATED_TABLEBASE if command.by_tables else MatchEndReason.ADJUDICATED
    return _organised(match, command, at, command.result, command.winner, reason)


def _organised(
    match: Match, command: OrganiserRequest, at: int, result: ResultKind, winner: int, reason: MatchEndReason
) -> Decision:
    return carried_out(match, ends.organised(at, result, winner, reason, command.by, command.request, command.note))


def _fault(match: Match, command: ReportFault, at: int) -> Decision:
    note = command.note[:LONGEST_NOTE].encode(errors="backslashreplace").decode()
    return carried_out(match, ends.faulted(at, note))


def _tick(match: Match, command: Tick, at: int) -> Decision:
    ended = ends.overdue(match, at)
    if ended is not None:
        return carried_out(match, ended)
    due = deadline(match)
    if match.phase is Phase.PAUSED and due is not None and at >= due:
        return carried_out(match, _resume(match, at))
    return unchanged(match)


Handler = Callable[[Match, Any, int], Decision]


_ROWS: Final[dict[type[Command], tuple[Handler | None, Handler | None, Handler | None]]] = {
    # pending: waits for the players; active: a clock runs; paused: was interrupted
    Arrive: (_arrive, _arrive, _arrive),
    Leave: (_leave, _leave, _leave),
    Interrupt: (_interrupt, _interrupt, _interrupt),
    Tick: (_tick, _tick, _tick),
    Play: (None, _play, _play_paused),
    OfferDraw: (None, _offer_draw, _offer_draw),
    AnswerDraw: (None, _answer_draw, _answer_draw),
    ClaimDraw: (None, _claim_draw, _claim_draw),
    Resign: (None, _resign, _resign),
    Abort: (_abort, _abort, _abort),
    Adjudicate: (_adjudicate, _adjudicate, _adjudicate),
    ReportFault: (_fault, _fault, _fault),
}
"""What a command does in each of the three phases before the end; None: it is refused."""

TABLE: Final[dict[tuple[Phase, type[Command]], Handler]] = {
    (phase, command): handler
    for command, row in _ROWS.items()
    for phase, handler in zip(LIVE, row, strict=True)
    if handler is not None
}
"""What a command does in a phase. After the end no command does anything."""
