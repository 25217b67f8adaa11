"""Why the last Play streams of each player ended. A bot's author can see it without the server's log."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Final, NamedTuple

from arbiter.errors import Refusal
from arbiter.service.play.session import Session

ENDS_KEPT: Final = 20  #: ends in memory for each player
PLAYERS_KEPT: Final = 2_000  #: players with ends in memory; the one whose last stream ended first is dropped first


class StreamEnd(NamedTuple):
    """The end of a Play stream.

    opened_ms, ended_ms: its first and last instant (UTC, ms). reason: the name of the arbiter's refusal, '' if the bot
    ended the stream or its connection broke. message: the refusal's text.
    """

    opened_ms: int
    ended_ms: int
    bot_version: str
    reason: str
    message: str


class StreamEnds:
    """The last ends of Play streams, in memory: a restart of the server loses them."""

    def __init__(self) -> None:
        self._of_player: OrderedDict[str, deque[StreamEnd]] = OrderedDict()

    def note(self, session: Session, now_ms: int) -> None:
        """Note that a stream has ended."""
        why: Refusal | None = session.ended
        end = StreamEnd(
            session.opened_ms,
            now_ms,
            session.hello.bot_version,
            why.reason if why is not None else "",
            why.message if why is not None else "",
        )
        self._of_player.setdefault(session.player, deque(maxlen=ENDS_KEPT)).append(end)
        self._of_player.move_to_end(session.player)
        if len(self._of_player) > PLAYERS_KEPT:
            self._of_player.popitem(last=False)

    def of(self, player: str) -> Sequence[StreamEnd]:
        """Return the last ends of a player's streams, the newest first."""
        return tuple(reversed(self._of_player.get(player, ())))
