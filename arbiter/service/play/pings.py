"""Pings: they measure the round trip of each Play stream, and show which streams are silent, or old."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.service.play.connected_players import Connections
from arbiter.service.play.session import Session
from arbiter.service.ports.environment import Clock

CONNECT_AGAIN: Final = Refusal(
    Reason.DRAINING,
    "connect again, at another server if you know one: streams end now and then, so that players are spread",
    retry_after_ms=100,
)


class Pings:
    """Pings all Play streams in turn. may_go: whether a stream that is so old may be ended now, in milliseconds."""

    def __init__(
        self, connections: Connections, clock: Clock, limits: Limits, may_go: Callable[[Session, int], bool]
    ) -> None:
        self._connections = connections
        self._clock = clock
        self._limits = limits
        self._may_go = may_go
        self._in_turn: OrderedDict[Session, None] = OrderedDict()  # an ordered set: the next one to ping is the first
        self._to_ping = 0.0  # how many pings are due, with a fraction

    def begin(self, session: Session) -> None:
        """Ping a stream that has just opened, and from now on in its turn."""
        self._in_turn[session] = None
        session.ping()

    def end(self, session: Session) -> None:
        """Ping a stream no more."""
        self._in_turn.pop(session, None)

    def sweep(self, share: float = 1.0) -> None:
        """Ping a share of the streams, in turn, and end those of them that have been silent for too long.

        Call it often, with a small share: a thousand pongs at once would delay every match and distort the measured
        round trips.
        """
        now = self._clock.now_ms()
        streams = self._connections.by_player
        self._to_ping = min(self._to_ping + share * len(streams), len(streams))
        while self._to_ping >= 1:
            session, _ = self._in_turn.popitem(last=False)
            if streams.get(session.player) is not session:
                continue  # it has ended
            self._in_turn[session] = None
            self._to_ping -= 1
            if now - session.last_act_ms > self._limits.silence_ms:
                session.end(silent(self._limits.silence_ms))
            elif self._may_go(session, now - session.opened_ms):
                session.end(CONNECT_AGAIN)
            else:
                session.ping()

    def excuse_silence(self, stall_ms: int) -> None:
        """Do not count the time of a stall of the server as silence of the streams."""
        for session in self._connections:
            session.last_act_ms += stall_ms


def silent(limit_ms: int) -> Refusal:
    """Return the refusal that ends a stream on which nothing has arrived for too long."""
    return Refusal(
        Reason.SESSION_SILENT, f"nothing arrived on this stream for {limit_ms} ms: connect again", limit=limit_ms
    )
