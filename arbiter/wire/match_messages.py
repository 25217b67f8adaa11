"""Matches and their events as messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from arbiter_protos.v1 import match_pb2 as pb
from arbiter_protos.v1 import play_pb2, refusal_pb2

from arbiter.errors import Refusal
from arbiter.matches import events as ev
from arbiter.matches.answers import rejection
from arbiter.matches.clock import UNLIMITED_MS, Ledger, SeatClock, available
from arbiter.matches.comments import UNSAID, Comment, Searched, fitting, key_of, opened
from arbiter.matches.match import Match, Phase
from arbiter.matches.policy import Policy
from arbiter.matches.requests import Receipt
from arbiter.matches.time_control import TimeControl, Unlimited, parse_pair
from arbiter.plain_text import plain
from arbiter.service.ports.journal import MatchEnd, MatchSummary
from arbiter.service.record.match_log import end_of
from arbiter.service.record.published import Published
from arbiter.wire.refusal_messages import refusal_message

_PHASES = {
    Phase.PENDING: pb.PHASE_PENDING,
    Phase.ACTIVE: pb.PHASE_ACTIVE,
    Phase.PAUSED: pb.PHASE_PAUSED,
    Phase.ENDED: pb.PHASE_ENDED,
}


def match_message(match: Match, with_moves: bool = False, unrated_by: int = 0) -> pb.Match:
    """Return a match's current state. unrated_by: the number of the ruling by which it does not count for ratings."""
    created = match.created
    message = pb.Match(
        match_id=match.id,
        game=created.game,
        players=created.players,
        time_control=created.time,
        time_controls=[str(control) for control in match.controls],
        rated=created.rated,
        label=created.label,
        phase=_PHASES[match.phase],
        revision=match.revision,
        ply=match.ply,
        turn=match.turn,
        position=match.text,
        moves=match.moves if with_moves else (),
        turn_started_ms=match.turn_started or 0,
        draw_offered_by=match.offer.seat if match.offer else 0,
        result=result_message(end_of(match)) if match.result else None,
        created_ms=created.at,
        ended_ms=match.result.at if match.result else 0,
        policy=policy_message(created.policy),
        comments=comment_messages(match) if with_moves else (),
        opening_plies=len(created.opening),
        start_position=created.position,
        versions=match.versions,
        unrated_by=unrated_by,
    )
    if match.phase is not Phase.PENDING:
        fill_clocks(message.clocks, match.controls, match.clocks, created.policy)
    return message


def comment_of(move: pb.SubmitMoveRequest | play_pb2.MoveAct) -> Comment | None:
    """Return the comment that came with a move, if there is one, cut to what can be stored."""
    if not move.HasField("comment"):
        return None
    comment = move.comment
    said = {field.name: value for field, value in comment.ListFields()}
    search = Searched(*map(said.get, Searched._fields))
    return fitting(said.get("evaluation"), comment.line, UNSAID if search == UNSAID else search)


def comment_message(comment: Comment) -> pb.MoveComment:
    """Return a comment as a message."""
    return pb.MoveComment(evaluation=comment.evaluation, line=comment.line, **comment.search._asdict())


def comment_messages(match: Match) -> list[pb.CommentedMove]:
    """Return the comments of a match that has ended; before its end, none."""
    result = match.result
    if result is None or not result.key:
        return []
    return [
        pb.CommentedMove(ply=ply, comment=comment_message(comment))
        for ply, comment in opened(match.comments, key_of(result.key)).items()
    ]


def row_message(row: MatchSummary) -> pb.Match:
    """Return a match's list entry."""
    message = pb.Match(
        match_id=row.match_id,
        game=row.game,
        players=(row.player_1, row.player_2),
        time_control=row.time_control,
        time_controls=[str(control) for control in parse_pair(row.time_control)],
        rated=row.rated,
        label=row.label,
        created_ms=row.created_ms,
        unrated_by=row.ruling,
    )
    if row.end is not None:
        message.phase = pb.PHASE_ENDED
        message.result.CopyFrom(result_message(row.end))
        message.ended_ms = row.end.ended_ms
        message.ply = row.end.ply
        message.versions.extend((row.end.version_1, row.end.version_2))
        message.position = row.end.position
    return message


def listed_message(item: Match | MatchSummary) -> pb.Match:
    """Return a match of a list; more may be known of it than its list entry."""
    return match_message(item) if isinstance(item, Match) else row_message(item)


def policy_message(policy: Policy) -> pb.Policy:
    """Return the public part of a policy."""
    return pb.Policy(
        illegal_moves=policy.illegal_moves,
        no_show_ms=policy.no_show_ms,
        abandon_ms=policy.abandon_ms,
        move_cap_ms=policy.move_cap_ms,
        kept_refusals=policy.kept_refusals,
        ready_ms=policy.ready_ms,
    )


def fill_clocks(
    messages: Any, controls: tuple[TimeControl, TimeControl], clocks: Sequence[SeatClock], policy: Policy
) -> None:
    """Add both clocks to a list of messages; without a time control, none."""
    first, second = controls
    if isinstance(first, Unlimited) and isinstance(second, Unlimited):
        return
    for control, clock in zip(controls, clocks, strict=True):
        message = messages.add()
        message.remaining_ms = clock.remaining_ms
        message.periods_left = clock.periods
        message.moves_left = clock.moves_left
        message.available_ms = min(available(control, clock), policy.move_cap_ms)


def result_message(end: MatchEnd | ev.Ended) -> pb.Result:
    """Return the end of a match."""
    return pb.Result(
        kind=pb.ResultKind.Value(f"RESULT_KIND_{end.result.upper()}"),
        winner=end.winner,
        reason=end.reason,
        cause=pb.Cause.Value(f"CAUSE_{end.cause.upper()}"),
        party=pb.Party.Value(f"PARTY_{end.party.upper()}"),
        responsible_seat=end.seat or 0,
        note=end.note,
    )


def fill_ledger(message: pb.Ledger, ledger: Ledger) -> None:
    """Fill in a move's ledger: how its time was computed."""
    message.started_ms = ledger.started
    message.handed_over_ms = ledger.handed_over or 0
    message.arrived_ms = ledger.arrived
    message.credited_ms = ledger.credited
    message.charged_ms = ledger.charged
    message.left_ms = min(ledger.left, UNLIMITED_MS)
    message.round_trip_ms = ledger.round_trip or 0


def fill_receipt(message: pb.Receipt, request_id: str, match_id: str, receipt: Receipt) -> None:
    """Fill in a receipt."""
    message.request_id = request_id
    message.match_id = match_id
    message.revision = receipt.revision
    message.ply = receipt.ply
    if receipt.ledger is not None:
        fill_ledger(message.ledger, receipt.ledger)
    if receipt.result is not None:
        message.result.CopyFrom(result_message(receipt.result))


def receipt_message(request_id: str, match_id: str, receipt: Receipt) -> pb.Receipt:
    """Return a receipt."""
    message = pb.Receipt()
    fill_receipt(message, request_id, match_id, receipt)
    return message


def fill_answer(message: pb.MoveAnswer, request_id: str, match_id: str, answer: Receipt | Refusal) -> None:
    """Fill in the answer to a request on a stream."""
    message.request_id = request_id
    message.match_id = match_id
    if isinstance(answer, Refusal):
        message.refusal.CopyFrom(refusal_message(answer))
    else:
        fill_receipt(message.receipt, request_id, match_id, answer)


def answer_message(request_id: str, match_id: str, answer: Receipt | Refusal) -> pb.MoveAnswer:
    """Return the answer to a request on a stream."""
    message = pb.MoveAnswer()
    fill_answer(message, request_id, match_id, answer)
    return message


def event_message(published: Published, match: Match) -> pb.MatchEvent:
    """Return an event of a match. `match` may be in a later state; before its end only if the event is not that."""
    event = cast("ev.Event", published.event)
    message = pb.MatchEvent(
        match_id=published.match_id, revision=published.revision, at_ms=event.at, kind=event.kind.value
    )
    _FILL[event.kind](event, message, match)
    return message


def _created(event: ev.Created, message: pb.MatchEvent, match: Match) -> None:
    message.created.CopyFrom(
        pb.MatchCreated(
            game=event.game,
            players=event.players,
            time_control=event.time,
            rated=event.rated,
            label=event.label,
            opening=event.opening,
            position=event.position,
        )
    )


def _started(event: ev.Started, message: pb.MatchEvent, match: Match) -> None:
    message.turn_started.turn = event.turn
    message.turn_started.position = event.position
    message.turn_started.ply = len(match.created.opening)
    fill_clocks(message.turn_started.clocks, match.controls, event.clocks, match.created.policy)


def _resumed(event: ev.Resumed, message: pb.MatchEvent, match: Match) -> None:
    message.turn_started.turn = event.turn
    message.turn_started.ply = event.ply
    fill_clocks(message.turn_started.clocks, match.controls, event.clocks, match.created.policy)


def _moved(event: ev.Moved, message: pb.MatchEvent, match: Match) -> None:
    moved = message.moved
    moved.ply = event.ply
    moved.seat = event.seat
    moved.move = event.move
    moved.position = event.position
    moved.turn = event.turn
    fill_ledger(moved.ledger, event.ledger)
    fill_clocks(moved.clocks, match.controls, event.clocks, match.created.policy)


def _refused(event: ev.Refused, message: pb.MatchEvent, match: Match) -> None:
    message.strike.CopyFrom(
        pb.StrikeCounted(
            seat=event.seat,
            ply=event.ply,
            move=plain(event.move.shown),
            reason=refusal_pb2.RefusalReason.Value(f"REFUSAL_REASON_{event.reason.value}"),
            strikes=event.strikes,
        )
    )


def _rejected(event: ev.Rejected, message: pb.MatchEvent, match: Match) -> None:
    asked = event.asked
    message.rejected.CopyFrom(
        pb.RequestRejected(
            seat=event.seat,
            request_id=event.request,
            command=asked.command.value,
            ply=asked.ply or 0,
            move=plain(asked.move.shown) if asked.move else "",
            refusal=refusal_message(rejection(event)),
        )
    )


def _arrived(event: ev.Arrived, message: pb.MatchEvent, match: Match) -> None:
    message.seat.seat = event.seat
    message.seat.version = event.version


def _seat(event: ev.Left | ev.DrawOffered | ev.DrawDeclined, message: pb.MatchEvent, match: Match) -> None:
    message.seat.seat = event.seat


def _interrupted(event: ev.Interrupted, message: pb.MatchEvent, match: Match) -> None:
    message.interrupted.reason = event.reason.value


def _ended(event: ev.Ended, message: pb.MatchEvent, match: Match) -> None:
    message.ended.CopyFrom(result_message(event))
    message.plies = match.ply


_FILL: Final[Mapping[ev.EventKind, Callable[[Any, pb.MatchEvent, Match], None]]] = {
    ev.EventKind.CREATED: _created,
    ev.EventKind.ARRIVED: _arrived,
    ev.EventKind.LEFT: _seat,
    ev.EventKind.STARTED: _started,
    ev.EventKind.MOVED: _moved,
    ev.EventKind.REFUSED: _refused,
    ev.EventKind.REJECTED: _rejected,
    ev.EventKind.DRAW_OFFERED: _seat,
    ev.EventKind.DRAW_DECLINED: _seat,
    ev.EventKind.INTERRUPTED: _interrupted,
    ev.EventKind.RESUMED: _resumed,
    ev.EventKind.ENDED: _ended,
}
