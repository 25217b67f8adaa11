"""`arbiter doctor`: everything that a server needs is looked at without a server, and nothing is changed.

Each function looks at one thing, and returns what it found: with what to do, where something is wrong. What is wrong
keeps a server from starting, or puts its record or its players at risk; what is noted may be meant so.
"""

from __future__ import annotations

import asyncio
import platform
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import structlog
from google.protobuf.internal import api_implementation

from arbiter import __version__
from arbiter.bootstrap.bus import make_bus
from arbiter.bootstrap.certificate_findings import as_served, in_files
from arbiter.bootstrap.disk_growth import LEAST_BYTES, growth_of_store
from arbiter.bootstrap.findings import Finding, Grade
from arbiter.bootstrap.tracing import tracing
from arbiter.bus.nats_addresses import shown as shown_bus
from arbiter.config import Settings
from arbiter.errors import OperatorError
from arbiter.games import registry
from arbiter.keys.key_ring import KeyRing
from arbiter.keys.watermark import SUFFIX, Watermark
from arbiter.runtime import machine
from arbiter.runtime.build import is_compiled
from arbiter.runtime.own_postgres import OwnPostgres
from arbiter.runtime.private import open_to_others
from arbiter.service.gate.addresses import host_and_port, is_loopback
from arbiter.store.database import may_be_shared, shown
from arbiter.store.looking import StoreState, look
from arbiter.workers.plugin_games import SHADOWED, loaded_apart
from arbiter.workers.syzygy import table_folder

FEW_BYTES: Final = 2 << 30  #: free space, below which it is noted
SLOW_FLUSH_MS: Final = 10.0
SLOW_ROUND_TRIP_MS: Final = 5.0
CLOCKS_APART_MS: Final = 1_000.0
FEW_CONNECTIONS: Final = 10  #: that a database still takes; a server needs about as many
COLLECTOR_S: Final = 2.0  #: for a connection to the collector of traces
OTHER_FILES: Final = 300  #: open files that a server needs beside its connections


class Examination(NamedTuple):
    """Everything that was found, and whether a server serves the store. newest: the number of its last record."""

    findings: tuple[Finding, ...]
    served: bool
    newest: int = 0


def examine(settings: Settings, disk_bytes: int = 0) -> Examination:
    """Look at the programs, the addresses, the certificate, the bus, the store, the keys and the machine.

    disk_bytes: the size of the store's disk; 0: look at it, if it is here.
    """
    found = [
        _programs(),
        *_plugins(settings),
        *_addresses(settings),
        *in_files(settings),
        *_traces(settings),
        *_bus(settings),
        *_syzygy(settings),
    ]
    served, newest, own = False, 0, list(_own_postgres(settings))
    found += own
    if own and not any(each.grade is Grade.GOOD for each in own):
        return Examination((*found, *_disk(settings), _open_files(settings), _clock()), served)
    try:
        state = look(settings.store)
    except OperatorError as error:
        found.append(Finding("store", Grade.WRONG, str(error)))
    else:
        served, newest = state.served, state.records
        found += [*as_served(settings)] if served else []
        found += [
            *_store(settings, state),
            *filter(None, [growth_of_store(state, disk_bytes)]),
            *_keys(settings, state),
        ]
    found += [*_permissions(settings), *_disk(settings), _open_files(settings), _clock()]
    return Examination(tuple(found), served, newest)


def _programs() -> Finding:
    modules = "compiled" if is_compiled() else "interpreted"
    text = f"arbiter {__version__}, {modules} modules, Python {platform.python_version()}"
    if api_implementation.Type() == "upb":
        return Finding("programs", Grade.GOOD, text)
    why = f"{text}; protobuf runs on {api_implementation.Type()}, so that messages take many times as long"
    return Finding("programs", Grade.WRONG, why, "install protobuf's binary wheel")


def _plugins(settings: Settings) -> Iterator[Finding]:
    """Load the games of packages as a server does."""
    for game, package in registry.shadowed().items():
        text = f"the rules of {game} that {package} adds are not used: {SHADOWED}"
        yield Finding("games", Grade.WRONG, text, f"remove the package {package}, or have it name its game differently")
    packages = registry.plugins()
    if not packages:
        return
    _, faults = asyncio.run(loaded_apart(settings.limits))
    for package, games in packages.items():
        for name in games:
            if name in faults:
                advice = f"mend or remove the package {package}; until then matches of this game wait"
                yield Finding("games", Grade.WRONG, faults[name], advice)
        good = sum(name not in faults for name in games)
        if good:
            yield Finding("games", Grade.GOOD, f"the package {package} adds {good}")


def _addresses(settings: Settings) -> Iterator[Finding]:
    secured = settings.tls_certificate is not None or settings.insecure
    for subject, address in (("listen", settings.listen), ("web", settings.web), ("metrics", settings.metrics)):
        if not address:
            continue
        try:
            host, _ = host_and_port(address, "to listen on", "127.0.0.1:7400")
        except OperatorError as error:
            yield Finding(subject, Grade.WRONG, str(error))
            continue
        if is_loopback(host):
            yield Finding(subject, Grade.GOOD, f"{address}: this machine alone reaches it")
        elif subject == "listen" and not secured:
            advice = "give tls_certificate and tls_key, or say insecure = true"
            yield Finding(subject, Grade.WRONG, f"{address} without TLS would send tokens in the clear", advice)
        elif settings.tls_certificate is None:
            text = f"{address} is reached from other machines, unencrypted"
            yield Finding(subject, Grade.NOTE, text, "let only a proxy with TLS, or a network of your own, reach it")
        else:
            yield Finding(subject, Grade.GOOD, f"{address}, with TLS")


def _traces(settings: Settings) -> Iterator[Finding]:
    """Look at the library for traces, and at the collector, which gets none."""
    if not settings.traces:
        return
    try:
        with tracing(settings, lambda: 0):
            address = urlsplit(settings.traces)
            port = address.port or (443 if address.scheme == "https" else 80)
    except (OperatorError, ValueError) as error:
        yield Finding("traces", Grade.WRONG, str(error))
        return
    try:
        socket.create_connection((address.hostname or "", port), timeout=COLLECTOR_S).close()
    except OSError as error:
        text = f"no collector answers at {settings.traces} ({error.strerror or error}): traces would be lost"
        yield Finding("traces", Grade.NOTE, text, "start the collector, or correct the setting `traces`")
    else:
        text = f"{100 * settings.traces_share:g} % of the moves are traced, and {settings.traces} answers"
        yield Finding("traces", Grade.GOOD, text)


def _own_postgres(settings: Settings) -> Iterator[Finding]:
    """Look at the PostgreSQL that is started with the servers, if there is one: it is good if it runs."""
    if settings.postgres is None:
        return
    try:
        postgres = OwnPostgres(settings.postgres, settings.postgres_programs, settings.postgres_user)
    except OperatorError as error:
        yield Finding("postgres", Grade.WRONG, str(error))
        return
    text = f"PostgreSQL {postgres.version} in {postgres.folder}"
    if postgres.is_ready:
        yield Finding("postgres", Grade.GOOD, f"{text} runs")
    elif postgres.exists:
        advice = "to look at the store too, start the server, or `arbiter store postgres`"
        yield Finding("postgres", Grade.NOTE, f"{text} does not run now: it starts with the server", advice)
    else:
        yield Finding("postgres", Grade.NOTE, f"{text} is not made yet", "the first start makes it")


def _bus(settings: Settings) -> Iterator[Finding]:
    if not settings.bus:
        return
    try:
        where, bus = shown_bus(settings.bus), make_bus(settings, None)
    except OperatorError as error:
        yield Finding("bus", Grade.WRONG, str(error))
        return
    if not may_be_shared(settings.store):
        text = "a bus is for servers that share a PostgreSQL, and this store is for one server alone"
        yield Finding("bus", Grade.WRONG, text, "leave out the setting `bus`")
        return
    try:
        took = asyncio.run(bus.round_trip_ms())
    except bus.FAILURES as error:
        text = f"no bus is to be had at {where} ({str(error) or bus.trouble}): servers would hear of news by the store"
        yield Finding("bus", Grade.NOTE, text, "start NATS, or correct the settings `bus` and `bus_credentials`")
    else:
        slow = took > SLOW_ROUND_TRIP_MS
        advice = "move NATS nearer to the server" if slow else ""
        yield Finding("bus", Grade.NOTE if slow else Grade.GOOD, f"{where} answers in {took:.1f} ms", advice)


def _syzygy(settings: Settings) -> Iterator[Finding]:
    if settings.syzygy is None:
        return
    try:
        tables = table_folder(settings.syzygy)
    except OperatorError as error:
        yield Finding("syzygy", Grade.WRONG, str(error))
    else:
        text = f"tables of {tables.endings:,} endings with at most {tables.pieces} pieces in {tables.path}"
        yield Finding("syzygy", Grade.GOOD, text)


def _store(settings: Settings, state: StoreState) -> Iterator[Finding]:
    url = shown(settings.store)
    if not state.version:
        yield Finding("store", Grade.NOTE, f"{url} ({state.database}) is empty", "the first start makes it")
        return
    text = f"{url} ({state.database}) has {state.records:,} records, in tables of version {state.version}"
    if state.version == state.newest:
        yield Finding("store", Grade.GOOD, text)
    else:
        advice = f"back it up: the next start brings it to version {state.newest}, and older arbiters can't go back"
        yield Finding("store", Grade.NOTE, text, advice)
    yield Finding("lock", Grade.GOOD, _serving(state.servers))
    for clause in state.lock_waits:
        advice = "if that session does nothing, end it: SELECT pg_terminate_backend(its number)"
        yield Finding("lock", Grade.NOTE, f"in the database, {clause}", advice)
    if state.served and state.silent_ms:
        yield _heartbeats(state.silent_ms, settings.limits.server_silence_ms)
    for clause in state.unsafe:
        text = f"{clause} in the database: a power cut could take moves that were acknowledged"
        yield Finding("durability", Grade.WRONG, text, "switch it on in postgresql.conf")
    if state.clock_ms is not None:
        slow = state.round_trip_ms > SLOW_ROUND_TRIP_MS
        text = f"a round trip to the database takes {state.round_trip_ms:.1f} ms"
        advice = "move the server nearer to it: each commit takes two" if slow else ""
        yield Finding("database", Grade.NOTE if slow else Grade.GOOD, text, advice)
        apart = abs(state.clock_ms) > CLOCKS_APART_MS
        if state.free_connections is not None:
            few = state.free_connections < FEW_CONNECTIONS
            text = f"the database takes {state.free_connections:,} more connections"
            advice = "raise max_connections in postgresql.conf, or close what else is connected" if few else ""
            yield Finding("database", Grade.NOTE if few else Grade.GOOD, text, advice)
        text = f"the database's clock differs by {state.clock_ms:+.0f} ms"
        advice = "synchronise both machines (NTP)" if apart else ""
        yield Finding("database", Grade.NOTE if apart else Grade.GOOD, text, advice)


def _serving(servers: int) -> str:
    match servers:
        case 0:
            return "no server serves the store"
        case 1:
            return "a server serves the store"
        case _:
            return f"{servers} servers serve the store"


def _heartbeats(silent_ms: Sequence[float], most_ms: int) -> Finding:
    """Look at the servers' last heartbeats in a store that they share."""
    longest_s = silent_ms[0] / 1_000
    if silent_ms[0] <= most_ms:
        return Finding("servers", Grade.GOOD, f"the servers' last heartbeats are at most {longest_s:.1f} s old")
    silent = sum(each > most_ms for each in silent_ms)
    text = f"{silent} of the {len(silent_ms)} servers of the store last said {longest_s:,.0f} s ago that they are alive"
    advice = "look at their logs: such a server was killed, or can't reach the database; its players are at the others"
    return Finding("servers", Grade.NOTE, text, advice)


def _keys(settings: Settings, state: StoreState) -> Iterator[Finding]:
    path = settings.key_ring
    if not path.exists():
        if not state.records:
            yield Finding("keys", Grade.NOTE, f"there are none at {path}", "the first start makes them")
            return
        advice = "put the file of the server's signing keys there: new ones would sign transcripts unlike the old ones"
        yield Finding("keys", Grade.WRONG, f"there are none at {path}, but the store has records", advice)
        return
    try:
        keys = KeyRing(path, structlog.get_logger("arbiter.keys")).public_keys()
        if not state.served:  # a server checks it at its start, and it would grow during the check
            Watermark(path, shown(settings.store)).check(state.records, state.rulings, keys_are_new=False)
    except OperatorError as error:
        yield Finding("keys", Grade.WRONG, str(error))
        return
    known = {key.key_id for key in keys}
    if state.sealed_by and not state.sealed_by & known:
        text = f"the store's last records are sealed by key {min(state.sealed_by)}, which is not in {path}"
        yield Finding("keys", Grade.WRONG, text, "put the right file of signing keys there")
    else:
        newest = f"{path} has {len(keys)}, the newest is {keys[0].key_id}; only its owner can read it"
        yield Finding("keys", Grade.GOOD, newest)


def _permissions(settings: Settings) -> Iterator[Finding]:
    """Look for files of the store that others than its owner may use. Only stores of before have them."""
    ring = settings.key_ring
    paths = [ring, ring.with_name(ring.name + SUFFIX)]
    if settings.store.startswith("sqlite"):
        paths += [Path(settings.store.partition(":///")[2] + end) for end in ("", "-wal", "-shm")]
    if settings.postgres is not None:
        paths.append(settings.postgres)
    for path, everybody in filter(None, map(open_to_others, paths)):
        who = "every user of this machine" if everybody else "its group"
        advice = f"chmod go= {path}"
        yield Finding("permissions", Grade.WRONG if everybody else Grade.NOTE, f"{path} is open to {who}", advice)


def _disk(settings: Settings) -> Iterator[Finding]:
    """Look at the disk of an SQLite file; of a database server, at that of the keys, whose watermark is written."""
    local = settings.store.startswith("sqlite")
    folder = (Path(settings.store.partition(":///")[2]) if local else settings.key_ring).absolute().parent
    try:
        free, total = machine.space(folder)
        flush = machine.flush_ms(folder)
    except OSError as error:
        text = f"nothing can be written to {folder} ({error.strerror or error})"
        yield Finding("disk", Grade.WRONG, text, "let the user of the server write there")
        return
    text = f"{free / (1 << 30):,.1f} of {total / (1 << 30):,.1f} GiB are free in {folder}"
    grade = Grade.WRONG if free < LEAST_BYTES else Grade.NOTE if free < FEW_BYTES else Grade.GOOD
    yield Finding("disk", grade, text, "" if grade is Grade.GOOD else "make room: without any, every move is refused")
    if local:
        slow = flush > SLOW_FLUSH_MS
        advice = "use a faster disk: the acknowledgement of each move waits for a flush" if slow else ""
        text = f"a flush to the disk takes {flush:.2f} ms"
        yield Finding("disk", Grade.NOTE if slow else Grade.GOOD, text, advice)


def _open_files(settings: Settings) -> Finding:
    connections = settings.limits.connections + settings.limits.page_connections
    may, needs = machine.open_files(), connections + OTHER_FILES
    text = (
        f"a process may have {may:,} open here; for limits.connections and page_connections, {connections:,} in all, "
    )
    if may >= needs:
        return Finding("files", Grade.GOOD, f"{text}a server needs {needs:,}")
    advice = f"`ulimit -n {needs}`, LimitNOFILE={needs} in a unit of systemd, or smaller limits"
    return Finding("files", Grade.NOTE, f"{text}a server would need {needs:,}", advice)


def _clock() -> Finding:
    kept = machine.clock_is_synchronised()
    if kept is None:
        return Finding("clock", Grade.NOTE, "the system does not say whether its clock is synchronised")
    if kept:
        return Finding("clock", Grade.GOOD, "the system's clock is synchronised")
    text = "the system's clock is not synchronised: instants in the record may be wrong"
    return Finding("clock", Grade.NOTE, text, "run an NTP client, such as chrony or systemd-timesyncd")
