"""Traces for OpenTelemetry: a move is one trace, from its arrival until its opponent has the turn.

The spans of a trace are `move` (from the arrival until the move is durable), in it `rules` (until it is decided) and
`commit` (until it is stored), and `hand_over` (until the turn was written to the opponent's Play stream). A trace has
its id from the match and the revision of the move, and so has its first span, which alone says what move it is. So a
server that hands over a turn adds to the trace of the server that decided the move, and nothing has to be sent from one
to the other. The share of moves that are traced is drawn from the same numbers: all servers trace the same moves.

The path of a move only notes instants (`arbiter.observability.traced_moves`): the library takes a third of a
millisecond for the spans of a move, and three times as long if it does so now and then. So a thread makes the spans of
many moves at once. Instants are those of the server's clock, which servers with one store share.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Final, NamedTuple

from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, TraceFlags, set_span_in_context

from arbiter import __version__
from arbiter.observability.traced_moves import Decided, HandedOver, TracedMoves

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


class _Ids(RandomIdGenerator):
    """Random ids, except for the first span of a move."""

    def __init__(self) -> None:
        self.first: MoveIds | None = None

    def generate_trace_id(self) -> int:
        return super().generate_trace_id() if self.first is None else self.first.trace

    def generate_span_id(self) -> int:
        return super().generate_span_id() if self.first is None else self.first.span


class Traces:
    """The traces of one server. `moves` notes what is traced, on the event loop.

    processor: takes the spans. instance: names the server among others. For the others see `TracedMoves`.
    """

    def __init__(self, processor: SpanProcessor, now_ns: Callable[[], int], share: float, instance: str) -> None:
        self.moves = TracedMoves(now_ns, share)
        self._ids = _Ids()
        about = {"service.name": "arbiter", "service.version": __version__, "service.instance.id": instance}
        provider = TracerProvider(ALWAYS_ON, Resource.create(about), shutdown_on_exit=False, id_generator=self._ids)
        provider.add_span_processor(processor)
        self._tracer = provider.get_tracer("arbiter", __version__)

    def make_spans(self) -> None:
        """Make the spans of what was noted since the last call. One thread at a time may call it."""
        while (noted := self.moves.take()) is not None:
            if isinstance(noted, HandedOver):
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

    def _make_hand_over(self, turn: HandedOver) -> None:
        ids = ids_of(turn.match_id, turn.revision)
        first = NonRecordingSpan(SpanContext(ids.trace, ids.span, is_remote=True, trace_flags=TRACED))
        context = set_span_in_context(first, Context())
        self._tracer.start_span("hand_over", context, start_time=turn.since_ns).end(turn.at_ns)
