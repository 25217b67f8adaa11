"""The items of a Play stream as messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from arbiter_protos.v1 import play_pb2 as pb

from arbiter.matches.clock import UNLIMITED_MS
from arbiter.matches.match import available_ms, claimable
from arbiter.service.play import session as s
from arbiter.wire.games import contents, move_messages
from arbiter.wire.matches import fill_answer, fill_clocks, match_message, result_message
from arbiter.wire.players import challenge_message
from arbiter.wire.refusals import refusal_message
from arbiter.wire.tournaments import format_message, phase_message


def hello_of(message: pb.ClientHello) -> s.Hello:
    """Return what a bot declares about itself."""
    extras = message.extras
    return s.Hello(
        bot_name=message.bot_name,
        bot_version=message.bot_version,
        games=tuple(message.games),
        most_matches=message.most_matches,
        extras=s.Extras(extras.board, extras.legal_move_count, max(0, extras.legal_moves_up_to), extras.steps),
        seeks=message.seeks,
        tournaments=message.tournaments,
    )


def fill_item(message: pb.PlayItem, item: s.Item, now: int, extras: s.Extras) -> None:
    """Fill an item into its message. `now`: the instant of sending. `extras`: the extras that the bot asked for.

    The message is filled in place, and a turn field by field. Every move sends a turn, and to build parts and copy them
    would take twice as long.
    """
    if isinstance(item, s.TurnItem):
        _fill_turn(item, message.turn, now, extras)
    elif isinstance(item, s.AnswerItem):
        fill_answer(message.answer, item.request_id, item.match_id, item.answer)
    else:
        _FILL[type(item)](item, message)


def _fill_turn(item: s.TurnItem, turn: pb.Turn, now: int, extras: s.Extras) -> None:
    match, seat = item.match, item.seat
    created, moves, turns = match.created, match.moves, match.turns
    turn.match_id = created.match
    turn.game = created.game
    turn.seat = seat
    turn.ply = len(moves)
    turn.position = match.text
    last_moves = turn.last_moves
    for ply in range(item.first_ply, len(moves)):
        last = last_moves.add()
        last.ply = ply
        last.seat = turns[ply]
        last.move = moves[ply]
    fill_clocks(turn.clocks, match.controls, match.clocks, created.policy)
    turn.started_ms = match.since
    turn.now_ms = now
    claim = claimable(match)
    if claim is not None:
        turn.draw_claim = claim
    if match.offer is not None:
        turn.draw_offered = match.offer.seat != seat
    turn.opponent = created.players[2 - seat]
    available = available_ms(match, seat)
    if available < UNLIMITED_MS:
        turn.available_ms = available
    turn.revision = match.revision
    if extras.board:
        turn.board.extend(contents(match.game, match.position))
    if item.listing is not None:
        if extras.legal_move_count:
            turn.legal_move_count = item.listing.total
        turn.legal_moves.extend(move_messages(item.listing.moves))


def _state(item: s.StateItem, message: pb.PlayItem) -> None:
    message.match.CopyFrom(match_message(item.match))


def _ended(item: s.EndedItem, message: pb.PlayItem) -> None:
    message.ended.CopyFrom(
        pb.MatchEnded(
            match_id=item.match_id,
            game=item.game,
            seat=item.seat,
            opponent=item.opponent,
            result=result_message(item.end),
            position=item.end.position,
            cursor=str(item.cursor),
        )
    )


def _offer(item: s.OfferItem, message: pb.PlayItem) -> None:
    message.draw_offered.CopyFrom(pb.DrawOffered(match_id=item.match_id, ply=item.ply))


def _challenge(item: s.ChallengeItem, message: pb.PlayItem) -> None:
    message.challenge.CopyFrom(challenge_message(item.challenge))


def _challenge_closed(item: s.ChallengeClosedItem, message: pb.PlayItem) -> None:
    closed = item.challenge
    message.challenge_closed.CopyFrom(
        pb.ChallengeClosed(challenge_id=closed.challenge_id, match_id=closed.match_id, reason=closed.reason)
    )


def _seek(item: s.SeekItem, message: pb.PlayItem) -> None:
    message.seek.CopyFrom(challenge_message(item.challenge))


def _call(item: s.CallItem, message: pb.PlayItem) -> None:
    created, spec = item.created, item.created.spec
    message.tournament.CopyFrom(
        pb.TournamentCall(
            tournament_id=created.tournament,
            name=spec.name,
            format=format_message(spec.format),
            games=spec.games,
            time_control=spec.time_odds.get(item.player, spec.time),
            rated=spec.rated,
            phase=phase_message(item.phase),
            entered=item.entered,
            creator=created.creator,
            start_ms=spec.schedule.start_ms,
            entry_closes_ms=spec.schedule.entry_closes_ms,
        )
    )


def _ping(item: s.PingItem, message: pb.PlayItem) -> None:
    message.ping.number = item.number


def _notice(item: s.NoticeItem, message: pb.PlayItem) -> None:
    message.notice.CopyFrom(refusal_message(item.refusal))


_FILL: Final[Mapping[type, Callable[[Any, pb.PlayItem], None]]] = {
    s.StateItem: _state,
    s.EndedItem: _ended,
    s.OfferItem: _offer,
    s.ChallengeItem: _challenge,
    s.ChallengeClosedItem: _challenge_closed,
    s.SeekItem: _seek,
    s.CallItem: _call,
    s.PingItem: _ping,
    s.NoticeItem: _notice,
}
