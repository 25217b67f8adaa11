"""The messages of a Play stream: executes what a bot sends, and builds what it receives. Calls: `play_service`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from arbiter_protos.v1 import play_pb2 as pb

from arbiter.service.play.acts import PlayActs
from arbiter.service.play.delivery import Delivery
from arbiter.service.play.session import PingItem, Session, TurnItem
from arbiter.service.ports.environment import Clock
from arbiter.wire.match_messages import comment_of
from arbiter.wire.play_items import item_bytes

_OWN_COUNT: Final = ("move", "ready")  #: acts that count towards a flood only if they are wrong
MESSAGE_BYTES = 1_000_000  #: approximate size in bytes at which a new message begins


class PlayMessages:
    """Reads and builds the messages of all Play streams.

    `acknowledge` takes the cursor of a result that a bot has seen.
    """

    def __init__(
        self, acts: PlayActs, delivery: Delivery, acknowledge: Callable[[Session, str], None], clock: Clock
    ) -> None:
        self._acts = acts
        self._delivery = delivery
        self._acknowledge = acknowledge
        self._clock = clock

    def act(self, session: Session, act: pb.PlayAct, arrived: int) -> None:
        """Do what a bot's message asks. The message arrived at the given instant (UTC epoch milliseconds)."""
        kind, acts = act.WhichOneof("act"), self._acts
        acts.arrived(session, kind in _OWN_COUNT, arrived)
        request_id, match_id = act.request_id, act.match_id
        match kind:
            case "move":
                move = act.move
                acts.play(session, request_id, match_id, move.ply, move.move, arrived, comment_of(move))
            case "pong":
                session.pong_arrived(act.pong.number, arrived)
            case "acknowledge":
                self._acknowledge(session, act.acknowledge.cursor)
            case "offer_draw":
                acts.offer_draw(session, request_id, match_id)
            case "answer_draw":
                acts.answer_draw(session, request_id, match_id, act.answer_draw.accept)
            case "claim_draw":
                acts.claim_draw(session, request_id, match_id)
            case "ready":
                acts.ready(session, match_id)
            case "resign":
                acts.resign(session, request_id, match_id)
            case _:
                pass  # an action of a newer client, or a second hello: ignore it

    def message(self, session: Session) -> tuple[bytes, int]:
        """Make a `PlayResponse` of the first items of a stream, as many as its size allows.

        Return it with the instant of sending, UTC epoch milliseconds.

        The message is made just before it is sent, and its instant is taken when it is made: making it is the server's
        time, not the bot's.
        """
        items, extras, now, size = session.outbox, session.hello.extras, self._clock.now_ms(), 0
        parts, timed = list[bytes](), list[TurnItem | PingItem]()
        while items and size <= MESSAGE_BYTES:
            item = items.popleft()
            made = item_bytes(item, now, extras)
            if isinstance(item, TurnItem | PingItem):
                timed.append(item)
            parts.append(made)
            size += len(made)
        now = self._clock.now_ms()
        for item in timed:
            if isinstance(item, TurnItem):
                self._delivery.turn_sent(session, item, now)
            else:
                session.ping_sent(item.number, now)
        return b"".join(parts), now
