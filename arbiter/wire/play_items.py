"""The items of a Play stream as messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from arbiter_protos.v1 import play_pb2 as pb

from arbiter.service.play import session as s
from arbiter.wire.encoding import key, part
from arbiter.wire.match_messages import match_message, result_message
from arbiter.wire.move_bytes import answer_bytes, turn_bytes
from arbiter.wire.player_messages import challenge_message
from arbiter.wire.refusal_messages import refusal_message
from arbiter.wire.tournament_messages import format_message, phase_message
from arbiter.wire.version import READY

_ITEMS: Final = key(pb.PlayResponse, "items")
_TURN: Final = key(pb.PlayItem, "turn")
_ANSWER: Final = key(pb.PlayItem, "answer")


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
        says_ready=READY in message.capabilities,
    )


def item_bytes(item: s.Item, now: int, extras: s.Extras) -> bytes:
    """Return a `PlayResponse` that has one item; several, one after the other, are a response with all their items.

    `now`: the instant of sending. `extras`: the extras that the bot asked for.
    """
    if isinstance(item, s.TurnItem):
        data = part(_TURN, turn_bytes(item, now, extras))
    elif isinstance(item, s.AnswerItem):
        data = part(_ANSWER, answer_bytes(item.request_id, item.match_id, item.answer))
    else:
        message = pb.PlayItem()
        _FILL[type(item)](item, message)
        data = message.SerializeToString()
    return part(_ITEMS, data)


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
