"""Metrics for Prometheus: what a running server counts and measures, and the small HTTP server that shows it.

What is counted on the path of a move is in `arbiter.observability.move_counts`. The library reads it when somebody
asks, in a thread of its own, which answers even while the event loop stands still. Two figures of one answer may be a
few events apart.
"""

from __future__ import annotations

import socket
import ssl
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, Gauge, GCCollector, ProcessCollector, make_wsgi_app
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from arbiter.config import Limits, Settings
from arbiter.errors import OperatorError, Reason, Refusal
from arbiter.matches.events import Cause
from arbiter.observability.move_counts import LONG_SECONDS, SIZES, Distribution, MatchCounter
from arbiter.runtime.certificates import ServedCertificate
from arbiter.service.gate.addresses import host_and_port
from arbiter.service.matches.live_match import MatchListener
from arbiter.service.ports.environment import Clock

WAITING: Final = 128  #: connections that wait to be accepted


class Metrics(Collector):
    """Everything that is measured of one server: its `Meter`, a listener for events of matches, and gauges."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._moves: Counter[str] = Counter()
        # Each begins at 0, so that the first one of a kind is seen as an increase.
        self._ends = Counter({cause.value: 0 for cause in Cause})
        self._refusals = Counter({reason.value: 0 for reason in Reason})
        self._stages = {"acknowledge": Distribution(), "hand_over": Distribution(), "network": Distribution()}
        self._commit = Distribution()
        self._writes = Distribution(SIZES)
        self._late = Distribution()
        self._jobs: dict[str, Distribution] = {}
        self.registry.register(self)
        if sys.platform == "linux":
            ProcessCollector(registry=self.registry)
        GCCollector(registry=self.registry)

    def gauge(self, name: str, text: str, value: Callable[[], float]) -> None:
        """Publish a number, read at each request for the metrics. `value` runs in another thread than the loop."""
        Gauge(f"arbiter_{name}", text, registry=self.registry).set_function(value)

    def counter(self, name: str, text: str, value: Callable[[], float]) -> None:
        """Show a number that only grows, and is read when somebody asks. For `value` see `gauge`."""
        self.registry.register(_Counter(name, text, value))

    def gauges(self, name: str, text: str, label: str, values: Callable[[], Mapping[str, float]]) -> None:
        """Publish numbers by a label, read at each request for the metrics. For `values`, see `gauge`."""
        self.registry.register(_Gauges(f"arbiter_{name}", text, label, values))

    def info(self, name: str, text: str, **words: str) -> None:
        """Show words, as the labels of a gauge that is always 1."""
        Gauge(f"arbiter_{name}", text, list(words), registry=self.registry).labels(**words).set(1)

    def refused(self, refusal: Refusal) -> None:
        """Count a refusal; see `Meter`."""
        self._refusals[refusal.reason.value] += 1

    def loop_late(self, seconds: float) -> None:
        """Note that the event loop was late; see `Meter`."""
        self._late.observe(seconds)

    def job_done(self, job: str, seconds: float) -> None:
        """Note how long a job took; see `Meter`."""
        if job not in self._jobs:
            self._jobs[job] = Distribution(LONG_SECONDS)
        self._jobs[job].observe(seconds)

    def committed(self, writes: int, seconds: float) -> None:
        """Note a commit. It is called in the writer's thread; see `arbiter.store.writer.Committed`."""
        self._commit.observe(seconds)
        self._writes.observe(writes)

    def listener(self, clock: Clock) -> MatchListener:
        """Return a listener that counts the events of matches. A clock tells when they have become durable."""
        return MatchCounter(self._moves, self._ends, self._stages, clock).match_changed

    def collect(self) -> Iterator[Metric]:
        """Yield what was counted, for the library."""
        yield _counter("moves", "Moves that this server has decided, by game.", "game", self._moves)
        yield _counter("matches_ended", "Matches that this server has ended, by cause.", "cause", self._ends)
        yield _counter(
            "refusals", "Calls, streams, acts and moves that were refused, by reason.", "reason", self._refusals
        )
        yield _histogram(
            "move_seconds",
            "Time of a move, by stage. acknowledge: from its arrival until it is durable. hand_over: from the start of "
            "the turn until it was written to the player's stream. network: the round trip that was measured there.",
            "stage",
            self._stages,
        )
        yield _histogram("commit_seconds", "Time of a commit, with its flush to the disk.", "", {"": self._commit})
        yield _histogram("commit_writes", "Writes that share a commit.", "", {"": self._writes})
        yield _histogram("event_loop_late_seconds", "How late the event loop runs what is due.", "", {"": self._late})
        text = (
            "Time of a job in a worker process, from the request to the answer, by kind: propose and opening are "
            "pairing, the others ratings."
        )
        yield _histogram("job_seconds", text, "job", dict(self._jobs))


@dataclass(frozen=True, slots=True)
class _Gauges(Collector):
    name: str
    text: str
    label: str
    values: Callable[[], Mapping[str, float]]

    def collect(self) -> Iterator[Metric]:
        metric = Metric(self.name, self.text, "gauge")
        for word, value in self.values().items():
            metric.add_sample(self.name, {self.label: word}, value)
        yield metric

    def describe(self) -> list[Metric]:
        return [Metric(self.name, self.text, "gauge")]


@dataclass(frozen=True, slots=True)
class _Counter(Collector):
    name: str
    text: str
    value: Callable[[], float]

    def collect(self) -> Iterator[Metric]:
        yield CounterMetricFamily(f"arbiter_{self.name}", self.text, value=self.value())

    def describe(self) -> list[Metric]:
        return [CounterMetricFamily(f"arbiter_{self.name}", self.text)]


@contextmanager
def shown(metrics: Metrics, settings: Settings, served: ServedCertificate | None = None) -> Iterator[int]:
    """Show metrics over HTTP at `settings.metrics` (HTTPS where the server has a certificate); give the port.

    Each connection has a thread of its own, in which it shakes hands too, and is closed if its request does not arrive
    within `limits.request_ms`: one that sends nothing keeps nobody waiting. Those beyond
    `limits.metrics_connections` are closed at once. Raises OperatorError if the address can't be bound.
    """
    host, port = host_and_port(settings.metrics, "for metrics", "127.0.0.1:9464")
    try:
        server = _bound(host.removeprefix("[").removesuffix("]"), port, metrics.registry, settings.limits)
    except OSError:
        raise OperatorError(
            f"can't show metrics on {settings.metrics}: the port is taken, or the address is not this machine's"
        ) from None
    if settings.tls_certificate is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(settings.tls_certificate, settings.tls_key)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        if served is not None:
            served.follow(context)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _bound(host: str, port: int, registry: CollectorRegistry, limits: Limits) -> WSGIServer:
    """Return a server that is bound to an address. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]

    class Server(ThreadingWSGIServer):
        address_family = found[0]
        request_queue_size = WAITING
        slots = threading.Semaphore(limits.metrics_connections)

        def process_request(self, request: Any, client_address: Any) -> None:
            if self.slots.acquire(blocking=False):
                super().process_request(request, client_address)
            else:
                self.shutdown_request(request)

        def process_request_thread(self, request: Any, client_address: Any) -> None:
            try:
                super().process_request_thread(request, client_address)
            finally:
                self.slots.release()

    class Handler(WSGIRequestHandler):
        timeout = limits.request_ms / 1_000

        def handle(self) -> None:
            with suppress(OSError):  # the client has no TLS, is too late, or has gone
                super().handle()

        def log_message(self, format: str, *values: object) -> None:
            pass

    return make_server(host, port, make_wsgi_app(registry), Server, Handler)


def _counter(name: str, text: str, label: str, counts: Counter[str]) -> Metric:
    metric = CounterMetricFamily(f"arbiter_{name}", text, labels=[label])
    for word, count in list(counts.items()):  # copied in one step, since another thread counts on
        metric.add_metric([word], count)
    return metric


def _histogram(name: str, text: str, label: str, distributions: Mapping[str, Distribution]) -> Metric:
    metric = HistogramMetricFamily(f"arbiter_{name}", text, labels=[label] if label else [])
    for word, distribution in distributions.items():
        buckets, total = distribution.buckets()
        metric.add_metric([word] if label else [], buckets, total)
    return metric
