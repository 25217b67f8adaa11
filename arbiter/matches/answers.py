"""Answers that follow from the record alone: to requests that were seen before, and to moves for a ply that is over.

And the refusals of a match, each with its facts.
"""

from __future__ import annotations

from arbiter.errors import Reason, Refusal
from arbiter.games.contract import Seat
from arbiter.matches.commands import OrganiserRequest, Play, SeatRequest
from arbiter.matches.events import Cause, Kind, Refused
from arbiter.matches.match import Match, Phase
from arbiter.matches.requests import Answered, Receipt, argument_invalid, check_request_id, content, request_id_reused


def earlier_answer(match: Match, command: SeatRequest | OrganiserRequest) -> Receipt | Refusal | None:
    """Return the answer that a request got before, as far as the record says, or None."""
    if isinstance(command, OrganiserRequest):
        caller = command.by
        check_words("organiser", caller, 100, least=1)
    else:
        caller = match.players[command.seat - 1]
    answered = match.requests.find(caller, command.request)
    if answered is not None:
        if answered.content != content(command):
            raise request_id_reused(command.request)
        return _answer_of(match, answered)
    check_request_id(command.request)
    return _past(match, command) if isinstance(command, Play) else None


def _answer_of(match: Match, answered: Answered) -> Receipt | Refusal:
    if answered.refused is not None:
        return strike_refusal(match, answered.refused, answered.position)
    receipt, result = answered.receipt, match.result
    if result is not None and receipt.kind is Kind.MOVED and _ended_by_move(match, receipt.revision):
        return receipt._replace(result=result)
    return receipt


def _ended_by_move(match: Match, revision: int) -> bool:
    result = match.result
    return result is not None and result.cause is Cause.RULES and not result.request and match.revision == revision + 1


def _past(match: Match, command: Play) -> Refusal | None:
    """Return the refusal for a move to a ply that is over or was open when the match ended, or None.

    It says what it would have said while that ply was open to a seat that was not to move.
    """
    ply, turn = command.ply, match.turn
    if 0 <= ply < match.ply:
        turn = 2 if match.turns[ply] == 2 else 1
    elif match.phase is not Phase.ENDED or ply != match.ply or not match.opened:
        return None
    if command.seat != turn:
        return not_your_turn(command.seat, turn)
    return ply_mismatch(match, ply) if ply != match.ply else None


def not_your_turn(seat: Seat, turn: Seat) -> Refusal:
    """Return the refusal for a seat that is not to move."""
    return Refusal(Reason.NOT_YOUR_TURN, f"seat {turn} is to move, not seat {seat}", seat=seat, turn=turn)


def ply_mismatch(match: Match, ply: int) -> Refusal:
    """Return the refusal for a move that is for another ply than the match is at."""
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
    """Return the answer to an illegal or malformed move, made from what the record says about it."""
    facts: dict[str, object] = {"move": refused.move.shown}
    if refused.reason is Reason.MOVE_MALFORMED:
        facts["game"] = match.created.game
    else:
        facts |= {"position": position, "ply": refused.ply}
    left = match.created.policy.illegal_moves - refused.strikes
    return Refusal(refused.reason, refused.message, **facts, strikes_left=left)


def no_draw(why: str) -> Refusal:
    """Return the refusal for a draw that can't be had; `why` is a clause for people and programs."""
    return Refusal(Reason.DRAW_NOT_AVAILABLE, why, why=why)


def check_words(name: str, text: str, most: int, least: int = 0) -> None:
    """Raise Refusal ARGUMENT_INVALID unless a text has `least` to `most` characters, all printable."""
    if not least <= len(text) <= most or not text.isprintable():
        raise argument_invalid(text, name, f"{least} to {most} printable characters")
