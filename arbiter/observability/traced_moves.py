"""The instants of traced moves, as the path of a move notes them; `arbiter.observability.traces` makes spans.

Nothing here is on the path unless traces are on: `TracedJournal` and `arbiter.bootstrap.traced_messages` are put around
the parts that they watch.
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
from arbiter.service.ports.journal import Append, Journal, Record, Stored
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

    def journal(self, journal: Journal) -> Journal:
        """Return a journal for matches that also notes the moves that are appended to it."""
        return TracedJournal(journal, self)

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
                    self.turn_begins(match_id, published.revision, event.ply + 1, self.now_ns())
            elif isinstance(event, Ended):
                self.awaited.pop(match_id, None)

    def decided(self, record: Record, move: Moved) -> Decided:
        """Return a move that is decided now."""
        return Decided(record.match_id, record.revision, move, self.acting_since, self.now_ns())

    def stored(self, decided: Decided, durable_ns: int) -> None:
        """Note that a move was stored at an instant."""
        self._noted.append((decided, durable_ns))

    def turn_begins(self, match_id: str, revision: int, ply: int, now_ns: int) -> None:
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


class TracedJournal:
    """A journal of matches whose moves are traced."""

    def __init__(self, journal: Journal, moves: TracedMoves) -> None:
        self._append_then = journal.append_then
        self._moves = moves
        self._bound = moves.bound
        self.append: Final = journal.append
        self.know: Final = journal.know
        self.brought: Final = journal.brought
        self.read: Final = journal.read
        self.read_many: Final = journal.read_many
        self.read_all: Final = journal.read_all
        self.head: Final = journal.head
        self.last_gap: Final = journal.last_gap
        self.unfinished: Final = journal.unfinished
        self.unfinished_matches: Final = journal.unfinished_matches
        self.summary: Final = journal.summary
        self.summary_of_request: Final = journal.summary_of_request
        self.summaries: Final = journal.summaries
        self.results: Final = journal.results
        self.tallies: Final = journal.tallies
        self.results_by_kind: Final = journal.results_by_kind
        self.rated_games: Final = journal.rated_games
        self.dated_tallies: Final = journal.dated_tallies
        self.first_rated: Final = journal.first_rated
        self.encounters: Final = journal.encounters
        self.rule_on_ratings: Final = journal.rule_on_ratings
        self.rulings: Final = journal.rulings
        self.rated_matches: Final = journal.rated_matches
        self.unfinished_tournaments: Final = journal.unfinished_tournaments
        self.tournament_summary: Final = journal.tournament_summary
        self.tournament_of_request: Final = journal.tournament_of_request
        self.tournaments: Final = journal.tournaments

    def append_then(self, append: Append, then: Stored) -> None:
        """Store records as the journal does, and trace the moves that are drawn among them."""
        if append.closed is not None:
            self._moves.awaited.pop(append.records[0].match_id, None)
        for record in append.records:
            if is_drawn(record.match_id, record.revision, self._bound):
                event = read(record.body)
                if isinstance(event, Moved):
                    then = partial(self._stored, self._moves.decided(record, event), append.closed is None, then)
        self._append_then(append, then)

    def _stored(self, move: Decided, goes_on: bool, then: Stored, last: int, error: BaseException | None) -> None:
        durable_ns = self._moves.now_ns()
        if error is None and goes_on:
            self._moves.turn_begins(move.match_id, move.revision, move.event.ply + 1, durable_ns)
        try:
            then(last, error)  # the players first
        finally:
            if error is None:  # else it was not played: the store failed, or another server was first
                self._moves.stored(move, durable_ns)
