"""A contest on several servers: replicas that share a PostgreSQL, or one server on SQLite, with players and observers.

The two players of a pair are on any two replicas, each combination as often as the others, and an observer of
everything is on the last one. So with several replicas most moves cross from one to another.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import cycle, islice, product
from pathlib import Path
from typing import Any, Final, NamedTuple

import grpc
from arbiter_protos.v1 import player_pb2

from arbiter.bench.fanout import OBSERVERS
from arbiter.bench.nats_process import NatsProcess
from arbiter.bench.playing_server import connected, matches_for
from arbiter.bench.processes import BenchError, BenchProcess, spent_s
from arbiter.bench.scripts import GAME, SCRIPTS, scripts
from arbiter.bench.server_process import ServerProcess
from arbiter.bench.stores import new_store
from arbiter.errors import OperatorError
from arbiter.runtime.own_postgres import OwnPostgres, running

NOBODY: Final = "nobody"  #: the user of a benchmark's PostgreSQL, if the benchmark runs as root


class Servers(NamedTuple):
    """A contest's servers: this many replicas on PostgreSQL, 0 for one server on SQLite; with NATS as their bus."""

    replicas: int
    bus: bool = False


@dataclass(frozen=True, slots=True)
class ClusterRound:
    """What a round found.

    rate: moves a second. us: processor time of each part in µs a move. acks, seen: milliseconds until moves were
    acknowledged, and until the observer had events that another replica had committed (of one server: all events).
    """

    rate: float
    us: Mapping[str, float]
    acks: Sequence[float]
    seen: Sequence[float]


@dataclass(frozen=True, slots=True)
class Database:
    """A PostgreSQL server for benchmarks: the URL of a database on it, and its main process, 0 if it is not ours."""

    url: str
    process: int = 0

    def cpu_s(self) -> float:
        """Return the processor time that its processes have used so far; 0 if they are not ours."""
        if not self.process:
            return 0.0
        children = Path(f"/proc/{self.process}/task/{self.process}/children").read_text().split()
        # What has ended is counted in the main process.
        return spent_s(self.process, with_ended=True) + sum(spent_s(int(child)) for child in children)


@contextmanager
def database(url: str = "") -> Iterator[Database]:
    """Use a PostgreSQL server that is there, or run one in a temporary folder. Raises BenchError."""
    if url:
        yield Database(url)
        return
    with tempfile.TemporaryDirectory(prefix="arbiter-bench-pg-", dir="/tmp") as folder:  # a socket's path is short
        Path(folder).chmod(0o711)
        try:
            postgres = OwnPostgres(Path(folder) / "pg", _programs(), NOBODY, servers=8)
            with running(postgres) as process:
                yield Database(f"postgresql://arbiter@/arbiter?host={folder}/pg", process.pid)
        except OperatorError as error:
            raise BenchError(str(error)) from None


def _programs() -> Path | None:
    given = os.environ.get("ARBITER_POSTGRES_PROGRAMS")
    return Path(given) if given else None


@dataclass(frozen=True, slots=True)
class Replicas:
    """Servers, with the players and the observer that are connected to them."""

    servers: Sequence[BenchProcess]
    database: Database | None
    bus: NatsProcess | None
    players: BenchProcess
    observer: BenchProcess

    def round(self, seconds: float, **offered: Any) -> ClusterRound:
        """Let all players play for a while. With `offered` and `seed`: as many moves a second, drawn with the seed."""
        self._events()
        before = self._cpu_s()
        played = self.players.ask(seconds=seconds, **offered)
        after, events = self._cpu_s(), self._events()
        moves = played["moves"] or 1
        elsewhere = [event for decided in (events[:-1] or events) for event in decided]
        return ClusterRound(
            rate=played["in_time"] / played["seconds"],
            us={part: (after[part] - before[part]) / moves * 1e6 for part in after},
            acks=played["latencies"],
            seen=self.observer.ask(durable=elsewhere)["latencies"],
        )

    def _cpu_s(self) -> dict[str, float]:
        return {
            "replicas": sum(server.cpu_s() for server in self.servers),
            "postgres": self.database.cpu_s() if self.database is not None else 0.0,
            "nats": self.bus.cpu_s() if self.bus is not None else 0.0,
            "drivers": self.players.cpu_s() + self.observer.cpu_s(),
        }

    def _events(self) -> list[list[Any]]:
        """Return the events that each server has committed since the last call."""
        return [server.ask()["durable"] for server in self.servers]


@contextmanager
def contest(
    replicas: int, pairs: int, moves: float, place: Database, folder: Path | None, bus: NatsProcess | None = None
) -> Iterator[Replicas]:
    """Start replicas, or (0) a server on SQLite, with pairs of players, and with matches for this many moves."""
    games = scripts(GAME, SCRIPTS)
    with ExitStack() as stack:
        store = stack.enter_context(new_store(folder, place.url if replicas else ""))
        plan = {"store": store.url, "keys": store.keys, "profile": False, "limits": {}, "metrics": False}
        plan |= {"traces": "", "web": "", "shared": bool(replicas), "bus": bus.url if bus is not None else ""}
        servers, ports, token = [], [], ""
        for _ in range(max(1, replicas)):
            server = stack.enter_context(BenchProcess("arbiter.bench.measured_server", **plan))
            serves = server.next_answer()
            servers.append(server)
            ports.append(serves["port"])
            token = token or serves["token"]
        channel = stack.enter_context(grpc.insecure_channel(f"127.0.0.1:{ports[0]}"))
        organiser = ServerProcess(servers[0], ports[0], token, "", channel)
        names = [(f"first-{pair}", f"second-{pair}") for pair in range(pairs)]
        try:
            tokens = organiser.tokens([name for pair in names for name in pair])
            (eye,) = organiser.tokens(["observer"], player_pb2.SCOPE_OBSERVE)
            made = organiser.matches(GAME, names * matches_for(games, moves / pairs))
        except grpc.RpcError as error:
            raise BenchError(f"the first server refused what the players need: {error}") from None
        addresses = [f"127.0.0.1:{port}" for port in ports]
        # In this order, the first players of pairs and the second ones are on every combination of replicas.
        where = [address for both in islice(cycle(product(addresses, addresses)), pairs) for address in both]
        (players,) = stack.enter_context(connected(where, [tokens], games, made, 1, 0.0))
        observer = stack.enter_context(BenchProcess(OBSERVERS, address=addresses[-1], token=eye, observers=1))
        observer.next_answer()
        yield Replicas(servers, place if replicas else None, bus, players, observer)
