"""The messages of Play streams, with the instants of traced moves."""

from __future__ import annotations

from arbiter_protos.v1 import play_pb2 as pb

from arbiter.observability.traced_moves import TracedMoves
from arbiter.rpc.play_sender import Messages
from arbiter.service.play.session import Session, TurnItem


class TracedMessages:
    """The messages of Play streams; it notes when traced moves arrive, and when their turns are written."""

    def __init__(self, messages: Messages, moves: TracedMoves) -> None:
        self._act = messages.act
        self._message = messages.message
        self._moves = moves
        self._now_ns = moves.now_ns

    def act(self, session: Session, act: pb.PlayAct, arrived: int) -> None:
        """Do what a bot's message asks; a move among it begins now."""
        self._moves.acting_since = self._now_ns()
        try:
            self._act(session, act, arrived)
        finally:
            self._moves.acting_since = None

    def message(self, session: Session) -> tuple[bytes, int]:
        """Make a message of a stream's first items; the turns among them are handed over now."""
        if not self._moves.awaited:
            return self._message(session)
        before = list(session.outbox)
        made = self._message(session)
        for item in before[: len(before) - len(session.outbox)]:
            if isinstance(item, TurnItem):
                self._moves.handed_over(item.match.created.match, item.match.ply)
        return made
