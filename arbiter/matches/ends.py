"""All ends of a match, built in one place.

`decide` builds an end from the match and what happened. A replay builds it again (`rebuilt`) and compares, so it finds
a record with a wrong end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from arbiter.event_json.canonical import MalformedRecordError
from arbiter.games.contract import Seat
from arbiter.matches.adjudication import ScoreClaim, agreed_level, agreed_winner
from arbiter.matches.commands import ResultKind
from arbiter.matches.comments import key_of, unseal
from arbiter.matches.events import Cause, Ended, LateMove, MatchEndReason, Party
from arbiter.matches.match import Match, Phase, deadline, flag_instant, gone_since, judge, other
from arbiter.matches.policy import NoShow

_SEATS: Final[tuple[Seat, Seat]] = (1, 2)

BY_EVALUATION: Final = frozenset({MatchEndReason.ADJUDICATED_EVALUATION.value, MatchEndReason.ADJUDICATED_LEVEL.value})
"""Reasons of ends by rule that follow from the bots' comments, which can be read once the key is disclosed."""

BY_RULE: Final = BY_EVALUATION | {MatchEndReason.ADJUDICATED_MATERIAL.value, MatchEndReason.ADJUDICATED_LENGTH.value}
"""Reasons of ends by the rules that a match was made with."""


def by_rules(match: Match, at: int, winner: int, reason: str, mover: Seat) -> Ended:
    """Return the end that the rules of the game give after a move of `mover`."""
    result = ResultKind.WIN if winner else ResultKind.DRAW
    return Ended(at, winner, result, reason, Cause.RULES, Party.PLAYER, mover)


def claimed(match: Match, at: int, reason: str, request: str) -> Ended:
    """Return the draw that the seat to move claims for a reason of the game."""
    return Ended(at, 0, ResultKind.DRAW, reason, Cause.RULES, Party.PLAYER, match.turn, request)


def agreed(match: Match, at: int, request: str) -> Ended:
    """Return the draw that both players agreed on; the request is that of the player who accepts."""
    return Ended(
        at, 0, ResultKind.DRAW, MatchEndReason.DRAW_AGREED.value, Cause.AGREEMENT, Party.PLAYERS, request=request
    )


def resigned(match: Match, at: int, seat: Seat, request: str) -> Ended:
    """Return the loss of a player that resigns."""
    return _lost(at, seat, MatchEndReason.RESIGNATION, Cause.RESIGNATION, request)


def struck_out(match: Match, at: int) -> Ended:
    """Return the loss of the seat to move for too many illegal and malformed moves."""
    return _lost(at, match.turn, MatchEndReason.ILLEGAL_MOVES, Cause.RULE_VIOLATION)


def flag_fell(match: Match, at: int, request: str = "", late: LateMove | None = None) -> Ended:
    """Return the loss of the seat to move on time: its move came too late, or none came."""
    return _lost(at, match.turn, MatchEndReason.TIME, Cause.TIME, request, late)


def overdue(match: Match, at: int) -> Ended | None:
    """Return the end that is due at an instant because a player did not come, move or come back; or None.

    If a flag and an absence are both due, the earlier one counts; at the same instant the flag counts. A player loses
    on time, or because it has been away for too long, only to one who is there. While both are away, the match waits
    until one is back, or the flag falls, or both have been away for too long; then it is void.
    """
    due = deadline(match)
    if due is None or at < due:
        return None
    match match.phase:
        case Phase.PENDING:
            void = match.created.policy.no_show is NoShow.VOID
            return _absence(at, [not present for present in match.present], MatchEndReason.NO_SHOW, void)
        case Phase.ACTIVE:
            gone = [since is not None for since in gone_since(match)]
            if flag_instant(match) == due and not all(gone):
                return flag_fell(match, at)
            return _absence(at, gone, MatchEndReason.ABANDONMENT, False)
        case _:
            return None


def overdue_earlier(match: Match, at: int) -> Ended | None:
    """Return the end that servers of earlier versions gave an active match where now it is void; None if none was due.

    Whoever left first, or whose flag fell, had lost, even to a player who was away too. Their records are still read.
    """
    if match.phase is Phase.ACTIVE and at >= flag_instant(match) and None not in gone_since(match):
        return flag_fell(match, at)
    limit = match.created.policy.abandon_ms
    due = min((since + limit for since in match.away if since is not None), default=None)
    if match.phase is not Phase.ACTIVE or not limit or due is None or at < due or flag_instant(match) <= due:
        return None
    gone = [since is not None and since + limit == due for since in match.away]
    return _absence(at, gone, MatchEndReason.ABANDONMENT, False)


def organised(
    at: int, result: ResultKind, winner: int, reason: MatchEndReason, by: str, request: str, note: str
) -> Ended:
    """Return the end that the organiser sets."""
    return Ended(at, winner, result, reason.value, Cause.ORGANISER, Party.ORGANISER, request=request, by=by, note=note)


def ruled(match: Match, at: int, key: bytes) -> Ended | None:
    """Return the end by one of the match's adjudication rules after a move; None if none applies.

    `key` decrypts the comments; without it the rules about comments are skipped. The rules that every reader of the
    record can check come first: material, then length.
    """
    rules = match.created.adjudication
    if rules is None:
        return None
    if rules.material and match.led.plies >= rules.material_plies:
        return _by_rule(at, match.led.seat, MatchEndReason.ADJUDICATED_MATERIAL)
    if rules.plies and match.ply >= rules.plies:
        return _by_rule(at, 0, MatchEndReason.ADJUDICATED_LENGTH)
    if key and match.comments:
        winner = agreed_winner(rules, _said(match, key))
        if winner:
            return _by_rule(at, winner, MatchEndReason.ADJUDICATED_EVALUATION)
        if agreed_level(rules, _said(match, key)):
            return _by_rule(at, 0, MatchEndReason.ADJUDICATED_LEVEL)
    return None


def _by_rule(at: int, winner: int, reason: MatchEndReason) -> Ended:
    result = ResultKind.WIN if winner else ResultKind.DRAW
    return Ended(at, winner, result, reason.value, Cause.ORGANISER, Party.ORGANISER)


def _said(match: Match, key: bytes) -> Iterator[ScoreClaim]:
    """Yield the evaluations of the bots, the last move's first. Each is decrypted only when it is needed."""
    comments = list(match.comments)
    for ply in range(match.ply - 1, len(match.created.opening) - 1, -1):
        evaluation = None
        if comments and comments[-1][0] == ply:
            _, sealed = comments.pop()
            try:
                evaluation = unseal(sealed, key, ply).evaluation
            except MalformedRecordError:  # encrypted with a signing key that has been lost
                return
        yield ScoreClaim(ply, match.turns[ply], evaluation)


def faulted(at: int, note: str) -> Ended:
    """Return the end for a failure of the arbiter: void."""
    return Ended(at, 0, ResultKind.VOID, MatchEndReason.ARBITER_FAULT.value, Cause.ARBITER, Party.ARBITER, note=note)


def rebuilt(match: Match, ended: Ended) -> Ended | None:
    """Return what the end of this match must be, given its cause and the commands behind it; None: it is impossible.

    `match` is the state before the end. For causes of the rules it needs its position (see `with_position`).
    """
    at, request, late = ended.at, ended.request, ended.late
    match ended.cause:
        case Cause.RULES if request:
            reason = match.game.claim(match.position)
            return None if reason is None else claimed(match, at, reason, request)
        case Cause.RULES:
            outcome = match.position.outcome
            mover: Seat = 2 if match.turns[-1:] == b"\x02" else 1
            return None if outcome is None else by_rules(match, at, outcome.winner, outcome.reason, mover)
        case Cause.AGREEMENT:
            return None if match.offer is None else agreed(match, at, request)
        case Cause.RESIGNATION:
            return None if ended.seat is None else resigned(match, at, ended.seat, request)
        case Cause.RULE_VIOLATION:
            spent = match.strikes[match.turn - 1] >= match.created.policy.illegal_moves
            return struck_out(match, at) if spent else None
        case Cause.TIME if late is not None:
            judged = judge(match, late.ledger.arrived, late.ledger.handed_over, late.ledger.round_trip)
            too_late = judged.clock is None and judged.ledger == late.ledger and late.ply == match.ply
            return flag_fell(match, at, request, late) if too_late else None
        case Cause.TIME | Cause.ABSENCE:
            earlier = overdue_earlier(match, at)
            return earlier if earlier == replace(ended, key="") else overdue(match, at)
        case Cause.ARBITER:
            return faulted(at, ended.note)
        case Cause.ORGANISER if ended.reason in BY_RULE:
            return ruled(match, at, key_of(ended.key) if ended.key else match.secret)
        case _:
            void, reason = ended.result is ResultKind.VOID, MatchEndReason.ADJUDICATED
            if ended.reason == (MatchEndReason.ABORTED if void else MatchEndReason.ADJUDICATED_TABLEBASE):
                reason = MatchEndReason(ended.reason)
            winner = ended.winner if ended.result is ResultKind.WIN else 0
            return organised(at, ended.result, winner, reason, ended.by, request, ended.note)


def _lost(
    at: int, seat: Seat, reason: MatchEndReason, cause: Cause, request: str = "", late: LateMove | None = None
) -> Ended:
    return Ended(at, other(seat), ResultKind.WIN, reason.value, cause, Party.PLAYER, seat, request=request, late=late)


def _absence(at: int, absent: list[bool], reason: MatchEndReason, void: bool) -> Ended:
    """Return the end for absence.

    One absent player loses, unless the match is to be void; if both are absent it is void.
    """
    if all(absent):
        return Ended(at, 0, ResultKind.VOID, reason.value, Cause.ABSENCE, Party.PLAYERS)
    seat = _SEATS[absent.index(True)]
    if void:
        return Ended(at, 0, ResultKind.VOID, reason.value, Cause.ABSENCE, Party.PLAYER, seat)
    return _lost(at, seat, reason, Cause.ABSENCE)
