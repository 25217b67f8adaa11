"""What a server has now, as gauges: read when somebody asks for metrics, in another thread than the event loop's.

So each of these takes one look at a number, or a copy of a collection in one step.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping

from arbiter import __version__
from arbiter.bootstrap.life import Life
from arbiter.bootstrap.wiring import Arbiter
from arbiter.bootstrap.world import World
from arbiter.observability.metrics import Metrics
from arbiter.rpc.unread import Unread
from arbiter.runtime.build import is_compiled
from arbiter.runtime.certificates import ServedCertificate
from arbiter.service.gate.gate import Gate
from arbiter.workers.rules_pool import RulesPool


def add_gauges(
    metrics: Metrics,
    world: World,
    certificate: ServedCertificate | None,
    arbiter: Arbiter,
    gate: Gate,
    unread: Unread,
) -> None:
    """Add the gauges of a server to its metrics."""
    metrics.info(
        "build_info",
        "The version of this arbiter, and whether its modules are compiled; always 1.",
        version=__version__,
        modules="compiled" if is_compiled() else "interpreted",
    )
    metrics.gauge(
        "live_matches",
        "Matches that have not ended; servers that share a store all show the same.",
        lambda: len(arbiter.matches.live),
    )
    metrics.gauge("connected_players", "Players with a Play stream.", lambda: arbiter.sessions.count)
    metrics.gauges("streams", "Streams that clients hold open, by kind.", "kind", gate.streams.counts)
    metrics.gauge("observers", "Streams of events that are being read.", lambda: arbiter.feed.observers)
    metrics.gauge("unread_bytes", "Bytes of answers that clients have not read.", lambda: unread.size)
    metrics.gauge("queued_writes", "Writes that wait for the next transaction.", world.store.queued_writes)
    metrics.gauge("unsent_items", "Items that wait to be sent on Play streams.", lambda: arbiter.sessions.unsent)
    metrics.gauge(
        "clock_offset_seconds",
        "How far the server's clock is ahead of the system's; where servers share a store, they follow the database's.",
        lambda: world.clock.now_ms() / 1_000 - time.time(),
    )
    metrics.gauge(
        "certificate_expires_seconds",
        "When the first of the served TLS certificates expires, in seconds since 1970; infinite without TLS.",
        lambda: certificate.first_to_expire.ends.timestamp() if certificate is not None else math.inf,
    )
    metrics.gauges("rules_jobs", "Requests for rules, by whether they wait or run.", "state", lambda: _jobs(world))
    _add_gauges_of_sharing(metrics, arbiter.life)


def _add_gauges_of_sharing(metrics: Metrics, life: Life) -> None:
    """Add the metrics of a server that shares its store; all are 0 for a server alone."""
    metrics.counter(
        "failovers",
        "Servers of the same store that were gone, whose matches this server has taken care of.",
        lambda: life.counts().failovers,
    )
    metrics.counter(
        "taken_for_gone",
        "How often the other servers took this one for gone, or may have: it could not say in time that it is there.",
        lambda: life.counts().taken_for_gone,
    )
    metrics.counter(
        "log_reads",
        "Reads of the log by which servers that share a store hear of each other; few while the bus works.",
        lambda: life.counts().log_reads,
    )
    metrics.gauge(
        "log_place",
        "The number of the last record of the log that this server has read; 0 where it shares its store with nobody.",
        lambda: life.counts().log_place,
    )
    metrics.gauge(
        "bus_lost",
        "1 if this server has a bus and does not hear all other servers by it, else 0.",
        lambda: life.counts().bus_lost,
    )
    metrics.counter(
        "bus_published",
        "Messages that this server has published on the bus.",
        lambda: life.counts().bus_published,
    )
    metrics.counter(
        "bus_received",
        "Messages of other servers that have arrived on the bus.",
        lambda: life.counts().bus_received,
    )
    metrics.counter(
        "bus_refused",
        "Messages on the bus that no server of this store has sent.",
        lambda: life.counts().bus_refused,
    )


def _jobs(world: World) -> Mapping[str, float]:
    jobs: Counter[str] = Counter(waiting=0, running=0)
    for pool in (world.rules, world.turn_rules):
        if isinstance(pool, RulesPool):
            jobs.update(waiting=pool.waiting, running=pool.busy)
    return jobs
