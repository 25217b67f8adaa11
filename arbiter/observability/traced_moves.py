"""The instants of traced moves, as the path of a move notes them; `arbiter.observability.traces` makes spans.

Nothing here is on the path unless traces are on: `TracedMoves.traced` and `arbiter.bootstrap.traced_messages` are put
around the parts that they watch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple
from zlib import crc32

from arbiter.matches.events import Ended, Moved
from arbiter.matches.match import Match
from arbiter.matches.record import read
from arbiter.service.ports.journal import Append, AppendThen, Stored
from arbiter.service.record.published import Published

MOST_AWAITED: Final = 10_000  #: turns that nobody has got yet; beyond it, the oldest one gets no span
MOST_NOTED: Final = 100_000  #: moves and turns without spans yet; beyond it, the oldest one gets none
DRAWS: Final = 1 << 32


def is_drawn(match_id: str, revision: int, bound: int) -> bool:
    """Say whether an event's move is traced: of all events, `bound` of DRAWS are."""
    return crc32(match_id.encode(), revision) < bound


class Decided(NamedTuple):
    """A move whose record is on its way to the store: when the server began with it, if known, and decided it (ns)."""

    match_id: str
    revision: int
    event: Moved
    began_ns: int | None
    decided_ns: int


class Awaited(NamedTuple):
    """A turn that was not handed over yet: since when (ns), and the move before it."""

    ply: int
    revision: int
    since_ns: int


class HandedOver(NamedTuple):
    """A turn that its player got: the move before it, and from when to when it took (ns)."""

    match_id: str
    revision: int
    since_ns: int
    at_ns: int


class TracedMoves:
    """What one server notes of its traced moves. Everything runs on the event loop, but for `take`.

    now_ns: the server's clock, UTC nanoseconds since 1970. share: the part of the moves that are traced, from 0 to 1.
    """

    def __init__(self, now_ns: Callable[[], int], share: float) -> None:
        self.now_ns = now_ns
        self.bound = round(share * DRAWS)
        self.acting_since: int | None = None  #: when the server began with the act of a bot that it is at now
        self.awaited: dict[str, Awaited] = {}  #: by match
        self._noted: deque[tuple[Decided, int] | HandedOver] = deque(maxlen=MOST_NOTED)

    def take(self) -> tuple[Decided, int] | HandedOver | None:
        """Take the oldest note: a stored move and since when it is (ns), or a turn. Any thread may ask."""
        return self._noted.popleft() if self._noted else None

    def match_changed(self, match: Match, events: Sequence[Published]) -> None:
        """Note the turns that begin with moves of other servers; a listener for servers that share a store."""
        for published in events:
            event, match_id = published.event, published.match_id
            if isinstance(event, Moved):
                known = self.awaited.get(match_id)
                drawn = is_drawn(match_id, published.revision, self.bound)
                if drawn and (known is None or known.revision != published.revision):
                    self._turn_begins(match_id, published.revision, event.ply + 1, self.now_ns())
            elif isinstance(event, Ended):
                self.awaited.pop(match_id, None)

    def _turn_begins(self, match_id: str, revision: int, ply: int, now_ns: int) -> None:
        """Note that the opponent is to get its turn, of this ply, after a move that is durable now."""
        self.awaited.pop(match_id, None)
        if len(self.awaited) >= MOST_AWAITED:
            del self.awaited[next(iter(self.awaited))]
        self.awaited[match_id] = Awaited(ply, revision, now_ns)

    def handed_over(self, match_id: str, ply: int) -> None:
        """Note that a turn was written to its player's stream now, if the move before it is traced."""
        turn = self.awaited.get(match_id)
        if turn is None or turn.ply != ply:
            return
        del self.awaited[match_id]
        self._noted.append(HandedOver(match_id, turn.revision, turn.since_ns, self.now_ns()))

    def traced(self, append_then: AppendThen) -> AppendThen:
        """Return a function that appends records as another one does, and traces the moves that are drawn of them."""
        return partial(self._append_then, append_then)

    def _append_then(self, append_then: AppendThen, append: Append, then: Stored) -> None:
        if append.closed is not None:
            self.awaited.pop(append.records[0].match_id, None)
        for record in append.records:
            if is_drawn(record.match_id, record.revision, self.bound):
                event = read(record.body)
                if isinstance(event, Moved):
                    decided = Decided(record.match_id, record.revision, event, self.acting_since, self.now_ns())
                    then = partial(self._stored, decided, append.closed is None, then)
        append_then(append, then)

    def _stored(self, move: Decided, goes_on: bool, then: Stored, last: int, error: BaseException | None) -> None:
        durable_ns = self.now_ns()
        if error is None and goes_on:
            self._turn_begins(move.match_id, move.revision, move.event.ply + 1, durable_ns)
        try:
            then(last, error)  # the players first
        finally:
            if error is None:  # else it was not played: the store failed, or another server was first
                self._noted.append((move, durable_ns))
