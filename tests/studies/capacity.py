"""A model of what servers that share a PostgreSQL carry, from measured costs to cores, and of what gives out first.

Work is processor time. A move costs the replica that decides it `move`, each replica that follows its match `follow`,
and PostgreSQL `database`, and `read` for each replica that follows. An event costs `deliver` for each observer. So with
n moves a second on R replicas, of which each follows the share f of the moves that others decide, and with w observers
of each match, a replica is busy for

    n / R · move + n · (1 - 1/R) · f · follow + n · w / R · deliver

of each second, and PostgreSQL for n · database + n · (R - 1) · f · read. With a bus, `follow` is another one, and
PostgreSQL is busy for n · database + n · (R - 1) · writer: nobody reads there, but more writers have smaller commits. A
replica is one process, which runs on one core at a time: it may be busy for FULL of it, so that queues stay short. All
parts together have the cores there are. The log takes a number of events a second, however many write to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil, inf
from typing import Final

FULL: Final = 0.7  #: share of a core that a part may use on average
GIB_A_CORE: Final = 4.0  #: memory that machines have for each core
MANY: Final = 10_000  #: replicas; more are not tried


class Limit(StrEnum):
    """What gives out first."""

    REPLICA = "each replica"
    CORES = "cores in all"
    LOG = "the log"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class Costs:
    """Processor time in µs, as in the module's docstring; the log's events a second; KiB of a live match in a replica.

    bus: of NATS, for a move and for each replica that it tells; then no replica reads the log of others. bus_follow,
    bus_writer: with a bus, what following costs a replica (None: as without), and each further writer PostgreSQL.

    The defaults are measured apart. `deliver`: by `arbiter bench fanout`. `match_kib`: by `growth`, compiled, of 10,000
    live matches of 30 moves (deploy/FIGURES.md). `streams_kib`, of the two streams of players: what `moves` finds for a
    match with its streams before its first move, 130 KiB, less 6, which `growth` finds for a match of one move. `bus`,
    if it was not measured with the others: as that of nats-server at 2,000 events a second. `log_per_s`: what one
    PostgreSQL stored with one, two and four writers under one lock, 16 events a commit, on a disk with a fast flush. A
    flush of a millisecond halves it.
    """

    move: float
    follow: float
    database: float
    read: float
    deliver: float = 39.0
    bus: float = 42.0
    bus_follow: float | None = None
    bus_writer: float = 0.0
    log_per_s: float = 9_000.0
    match_kib: float = 27.0
    streams_kib: float = 124.0


@dataclass(frozen=True, slots=True)
class Load:
    """Live matches, moves a second in each, and observers, each of one match."""

    matches: float
    pace: float
    observers: float

    @property
    def moves(self) -> float:
        """Moves a second."""
        return self.matches * self.pace

    def times(self, share: float) -> Load:
        """Return a share of this load."""
        return Load(self.matches * share, self.pace, self.observers * share)


@dataclass(frozen=True, slots=True)
class Design:
    """How servers share the work.

    everywhere: every replica follows every match; otherwise those on which one of its players or observers is. log: how
    many times the events a second of a log with one lock. bus: NATS tells of moves.
    """

    name: str
    everywhere: bool = True
    log: float = 1.0
    bus: bool = False

    def followed(self, replicas: int, observers: float) -> float:
        """Return the share of the moves of others that a replica follows; observers: of a match."""
        return 1.0 if self.everywhere else 1 - (1 - 1 / replicas) ** (1 + observers)


@dataclass(frozen=True, slots=True)
class Demand:
    """What a load takes: busy cores of one replica and of each part, the share of the log, memory."""

    replica: float
    replicas: float
    database: float
    bus: float
    log: float
    memory_gib: float

    @property
    def cores(self) -> float:
        """Cores that are busy, in all parts."""
        return self.replicas + self.database + self.bus


@dataclass(frozen=True, slots=True)
class Carried:
    """The most of a load that so many cores carry, with the best number of replicas; limit: what gives out first."""

    cores: float
    replicas: int
    share: float
    load: Load
    demand: Demand
    limit: Limit


def demand(load: Load, costs: Costs, design: Design, replicas: int) -> Demand:
    """Return what a load takes on a number of replicas."""
    moves, watching = load.moves, load.observers / load.matches
    others = moves * (1 - 1 / replicas) * design.followed(replicas, watching)
    own = moves / replicas
    replica = (own * costs.move + others * _follow(costs, design.bus) + own * watching * costs.deliver) / 1e6
    heard = others * replicas
    more = moves * (replicas - 1) * costs.bus_writer if design.bus else heard * costs.read
    database = (moves * costs.database + more) / 1e6
    bus = (moves + heard) * costs.bus / 1e6 if design.bus else 0.0
    held = 1 / replicas + (1 - 1 / replicas) * design.followed(replicas, watching)
    memory = load.matches * (replicas * held * costs.match_kib + costs.streams_kib) / (1 << 20)
    return Demand(replica, replica * replicas, database, bus, moves / (costs.log_per_s * design.log), memory)


def strains(taken: Demand, cores: float) -> dict[Limit, float]:
    """Return the share of each limit that is used; above 1 it is exceeded."""
    return {
        Limit.REPLICA: taken.replica / FULL,
        Limit.CORES: taken.cores / (FULL * cores),
        Limit.LOG: taken.log,
        Limit.MEMORY: taken.memory_gib / (GIB_A_CORE * cores),
    }


def carried(load: Load, costs: Costs, design: Design, cores: int) -> Carried:
    """Return how much of a load some cores carry, up to all of it and beyond."""
    return max((_carried_by(load, costs, design, cores, each) for each in range(1, cores + 1)), key=_share)


def _carried_by(load: Load, costs: Costs, design: Design, cores: float, replicas: int) -> Carried:
    whole = strains(demand(load, costs, design, replicas), cores)
    limit = max(whole, key=lambda limit: whole[limit])
    share = 1 / whole[limit]  # what a load takes is in proportion to it
    part = load.times(share)
    return Carried(cores, replicas, share, part, demand(part, costs, design, replicas), limit)


def _share(found: Carried) -> float:
    return found.share


def needed(load: Load, costs: Costs, design: Design) -> Carried:
    """Return the fewest cores that carry all of a load. If no number does, `cores` is 0, and `share` what many carry.

    More replicas take more cores in all, so the first number of them of which none is too busy is the best one.
    """
    most = _carried_by(load, costs, design, inf, 1)
    for replicas in range(1, MANY + 1):
        found = _carried_by(load, costs, design, inf, replicas)
        if found.share >= 1:
            taken = demand(load, costs, design, replicas)
            cores = max(replicas, ceil(taken.cores / FULL), ceil(taken.memory_gib / GIB_A_CORE))
            used = strains(taken, cores)
            return Carried(cores, replicas, 1.0, load, taken, max(used, key=lambda limit: used[limit]))
        most = max(most, found, key=_share)
    return replace(most, cores=0)


def predicted(costs: Costs, replicas: int, bus: bool = False) -> tuple[float, float, float]:
    """Return the processor time a move, in µs, of all replicas, PostgreSQL and NATS, where each follows every match."""
    others = replicas - 1
    return (
        costs.move + others * _follow(costs, bus),
        costs.database + others * (costs.bus_writer if bus else costs.read),
        replicas * costs.bus if bus else 0.0,
    )


def _follow(costs: Costs, bus: bool) -> float:
    return costs.bus_follow if bus and costs.bus_follow is not None else costs.follow


def costs_of(one: tuple[float, float], two: tuple[float, float], **others: float) -> Costs:
    """Return the costs by which one and two replicas have taken so much processor time: replicas, PostgreSQL; in µs."""
    return Costs(one[0], max(0.0, two[0] - one[0]), one[1], max(0.0, two[1] - one[1]), **others)


TODAY: Final = Design("today")
DESIGNS: Final[Sequence[Design]] = (
    TODAY,
    Design("follow what is needed", everywhere=False),
    Design("and NATS", everywhere=False, bus=True),
    Design("and a position for each writer", everywhere=False, bus=True, log=2.0),
)
"""Each has one change more than the one before: replicas follow less; NATS tells of moves; the log has no one lock.

A change mends one limit, and helps only where this gives out first: so with some costs a design carries no more than
the one before it, or less.
"""


def remedy(limit: Limit, design: Design) -> str:
    """Return what to do where a limit gives out first: nothing that the design has already."""
    match limit:
        case Limit.REPLICA if design.everywhere:
            return "let each replica follow only the matches that its players and observers need"
        case Limit.REPLICA:
            return "add cores, and replicas: each of them then has fewer players and observers"
        case Limit.CORES:
            return "add cores: more machines with replicas, and PostgreSQL on one of its own"
        case Limit.LOG if design.log <= 1:
            return "number the log by writer (about twice the events a second)"
        case Limit.LOG:
            return "spread matches over several databases"
        case Limit.MEMORY if design.everywhere:
            return "add memory, or let each replica hold only the matches that it needs"
        case Limit.MEMORY:
            return "add memory"
