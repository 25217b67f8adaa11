"""Traces for OpenTelemetry: a move is one trace, from its arrival until its opponent has the turn.

The spans of a trace are `move` (from the arrival until the move is durable), in it `rules` (until it is decided) and
`commit` (until it is stored), and `hand_over` (until the turn was written to the opponent's Play stream). A trace has
its id from the match and the revision of the move, and so has its first span, which alone says what move it is. So a
server that hands over a turn adds to the trace of the server that decided the move, and nothing has to be sent from one
to the other. The share of moves that are traced is drawn from the same numbers: all servers trace the same moves.

Nothing here is on the path of a move unless traces are on: `TracedJournal`, and the messages of `arbiter.bootstrap`,
are put around the parts that they watch. These only note instants: the library takes a third of a millisecond for the
spans of a move, and three times as long if it does so now and then. So a thread makes the spans of many moves at once.
Instants are those of the server's clock, which servers with one store share.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from typing import Any, Final, NamedTuple, cast
from zlib import crc32

from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, TraceFlags, set_span_in_context

from arbiter import __version__
from arbiter.matches.events import Ended, Moved
from arbiter.matches.match import Match
from arbiter.matches.record import read
from arbiter.service.ports.journal import Append, Journal, Record, Stored
from arbiter.service.record.published import Published

MOST_AWAITED: Final = 10_000  #: turns that nobody has got yet; beyond it, the oldest one gets no span
MOST_NOTED: Final = 100_000  #: moves and turns without spans yet; beyond it, the oldest one gets none
DRAWS: Final = 1 << 32
MS: Final = 1_000_000  #: nanoseconds
TRACED: Final = TraceFlags(TraceFlags.SAMPLED | TraceFlags.RANDOM_TRACE_ID)


class MoveIds(NamedTuple):
    """The ids of a move's trace (128 bits) and of its first span (64 bits)."""

    trace: int
    span: int


def ids_of(match_id: str, revision: int) -> MoveIds:
    """Return the ids of a move's trace: the first 24 bytes of SHA-256 of MATCH/REVISION."""
    digest = sha256(f"{match_id}/{revision}".encode()).digest()
    return MoveIds(int.from_bytes(digest[:16]), int.from_bytes(digest[16:24]))


def is_drawn(match_id: str, revision: int, bound: int) -> bool:
    """Say whether an event's move is traced: of all events, `bound` of DRAWS are."""
    return crc32(match_id.encode(), revision) < bound


class _Ids(RandomIdGenerator):
    """Random ids, except for the first span of a move."""

    def __init__(self) -> None:
        self.first: MoveIds | None = None

    def generate_trace_id(self) -> int:
        return super().generate_trace_id() if self.first is None else self.first.trace

    def generate_span_id(self) -> int:
        return super().generate_span_id() if self.first is None else self.first.span


class Decided(NamedTuple):
    """A move whose record is on its way to the store: when the server began with it, if known, and decided it (ns)."""

    match_id: str
    revision: int
    event: Moved
    began_ns: int | None
    decided_ns: int


class _Awaited(NamedTuple):
    """A turn that was not handed over yet: since when (ns), and the move before it."""

    ply: int
    revision: int
    since_ns: int


class _HandedOver(NamedTuple):
    """A turn that its player got: the move before it, and from when to when it took (ns)."""

    match_id: str
    revision: int
    since_ns: int
    at_ns: int


class Traces:
    """The traces of one server. Everything runs on the event loop, but for `make_spans` and what `processor` does.

    processor: takes the spans. now_ns: the server's clock, UTC nanoseconds since 1970. share: the part of the moves
    that are traced, from 0 to 1. instance: names the server among others.
    """

    def __init__(self, processor: SpanProcessor, now_ns: Callable[[], int], share: float, instance: str) -> None:
        self.now_ns = now_ns
        self.bound = round(share * DRAWS)
        self.acting_since: int | None = None  #: when the server began with the act of a bot that it is at now
        self.awaited: dict[str, _Awaited] = {}  #: by match
        self._noted: deque[tuple[Decided, int] | _HandedOver] = deque(maxlen=MOST_NOTED)
        self._ids = _Ids()
        about = {"service.name": "arbiter", "service.version": __version__, "service.instance.id": instance}
        provider = TracerProvider(ALWAYS_ON, Resource.create(about), shutdown_on_exit=False, id_generator=self._ids)
        provider.add_span_processor(processor)
        self._tracer = provider.get_tracer("arbiter", __version__)

    def journal(self, journal: Journal) -> Journal:
        """Return a journal for matches that also traces the moves that are appended to it."""
        return cast(Journal, TracedJournal(journal, self))

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

    def make_spans(self) -> None:
        """Make the spans of what was noted since the last call. One thread at a time may call it."""
        while self._noted:
            noted = self._noted.popleft()
            if isinstance(noted, _HandedOver):
                self._make_hand_over(noted)
            else:
                self._make_move(*noted)

    def _make_move(self, decided: Decided, durable_ns: int) -> None:
        match_id, revision, move, began_ns, decided_ns = decided
        arrived_ns = move.ledger.arrived * MS
        if began_ns is None:  # it did not come on a Play stream: its instants are known in whole milliseconds
            began_ns = min(max(arrived_ns, move.at * MS), decided_ns)
        else:
            arrived_ns = max(arrived_ns, min(began_ns, arrived_ns + MS - 1))
        self._ids.first = ids_of(match_id, revision)
        about: dict[str, str | int] = {
            "arbiter.match": match_id,
            "arbiter.revision": revision,
            "arbiter.command": move.request,
            "arbiter.ply": move.ply,
            "arbiter.seat": move.seat,
        }
        first = self._tracer.start_span("move", Context(), SpanKind.SERVER, about, start_time=arrived_ns)
        self._ids.first = None
        context = set_span_in_context(first, Context())
        for name, start_ns, end_ns in (("rules", began_ns, decided_ns), ("commit", decided_ns, durable_ns)):
            self._tracer.start_span(name, context, start_time=start_ns).end(end_ns)
        first.end(durable_ns)

    def turn_begins(self, match_id: str, revision: int, ply: int, now_ns: int) -> None:
        """Note that the opponent is to get its turn, of this ply, after a move that is durable now."""
        self.awaited.pop(match_id, None)
        if len(self.awaited) >= MOST_AWAITED:
            del self.awaited[next(iter(self.awaited))]
        self.awaited[match_id] = _Awaited(ply, revision, now_ns)

    def handed_over(self, match_id: str, ply: int) -> None:
        """Note that a turn was written to its player's stream now, if the move before it is traced."""
        turn = self.awaited.get(match_id)
        if turn is None or turn.ply != ply:
            return
        del self.awaited[match_id]
        self._noted.append(_HandedOver(match_id, turn.revision, turn.since_ns, self.now_ns()))

    def _make_hand_over(self, turn: _HandedOver) -> None:
        ids = ids_of(turn.match_id, turn.revision)
        first = NonRecordingSpan(SpanContext(ids.trace, ids.span, is_remote=True, trace_flags=TRACED))
        context = set_span_in_context(first, Context())
        self._tracer.start_span("hand_over", context, start_time=turn.since_ns).end(turn.at_ns)


class TracedJournal:
    """A journal of matches whose moves are traced."""

    def __init__(self, journal: Journal, traces: Traces) -> None:
        self._journal = journal
        self._append_then = journal.append_then
        self._traces = traces
        self._bound = traces.bound

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def append_then(self, append: Append, then: Stored) -> None:
        """Store records as the journal does, and trace the moves that are drawn among them."""
        if append.closed is not None:
            self._traces.awaited.pop(append.records[0].match_id, None)
        for record in append.records:
            if is_drawn(record.match_id, record.revision, self._bound):
                event = read(record.body)
                if isinstance(event, Moved):
                    then = partial(self._stored, self._traces.decided(record, event), append.closed is None, then)
        self._append_then(append, then)

    def _stored(self, move: Decided, goes_on: bool, then: Stored, last: int, error: BaseException | None) -> None:
        durable_ns = self._traces.now_ns()
        if error is None and goes_on:
            self._traces.turn_begins(move.match_id, move.revision, move.event.ply + 1, durable_ns)
        try:
            then(last, error)  # the players first
        finally:
            if error is None:  # else it was not played: the store failed, or another server was first
                self._traces.stored(move, durable_ns)
