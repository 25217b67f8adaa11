"""The sizes of the benchmarks, each a class: the options of `arbiter bench`, with their defaults.

A benchmark loads what it measures; this module loads nothing of it, so that the command line starts soon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

Section = Literal["at-once", "coalesced", "offered", "thinking", "many"]
EVERYTHING: Final[tuple[Section, ...]] = ("at-once", "coalesced", "offered", "thinking", "many")
LOADS: Final = (500, 1_000, 2_500)  #: moves a second
LIVE: Final = (10, 100, 1_000, 10_000)
SIZES: Final = (1, 2, 4)
AT_ONCE: Final = (1, 2, 8, 32)
Attack = Literal[
    "reading",
    "unread",
    "watching",
    "calling",
    "listing",
    "looking",
    "playing",
    "steps",
    "opening",
    "refused",
    "moving",
    "repeating",
    "acting",
    "asking",
    "missing",
    "styling",
    "visiting",
    "flooding",
    "player",
    "address",
    "addresses",
]


def _numbers(_type: object, tokens: Sequence[Any]) -> tuple[int, ...]:
    """Return the numbers of a list, each once, in their order. Raises ValueError for another text."""
    text = tokens[0].value
    if text and not all(each.isascii() and each.isdecimal() and int(each) > 0 for each in text.split(",")):
        raise ValueError("write whole numbers from 1, separated by commas, such as 500,1000")
    return tuple(sorted({int(each) for each in text.split(",")})) if text else ()


def _listed(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


Count = Annotated[int, Parameter(validator=Number(gte=1))]
Seconds = Annotated[float, Parameter(validator=Number(gt=0))]
Flag = Annotated[bool, Parameter(negative=())]
Numbers = Annotated[
    tuple[int, ...], Parameter(converter=_numbers, n_tokens=1, negative=(), show_default=_listed, metavar="INT,…")
]
Folder = Annotated[
    Path | None,
    Parameter(help="The folder for the database; the speed of its disk counts. [default: the temporary folder]"),
]
_ON: Final = (
    "A database on the PostgreSQL server to measure on, `postgresql://USER@HOST/DATABASE`; its user must be allowed to "
    "create databases, which are removed afterwards."
)
Store = Annotated[str, Parameter(help=f"{_ON} [default: SQLite]")]
Length = Annotated[Seconds, Parameter(help="Length of a round.")]

WARM_UP_S: Final = 1.0
FASTEST: Final = 6_000  #: moves a second for which enough matches are created
ON_POSTGRES: Final = 1.1  #: multiple of the goals for processor time
UNDER_WAY: Final = 2.5  #: thinking times until all matches are under way: a first move starts within one, takes another


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class MovesPlan:
    """The size of `arbiter bench moves`."""

    matches: Annotated[Count, Parameter(help="Number of matches at the same time.")] = 64
    rounds: Annotated[
        Count,
        Parameter(help="Number of rounds. The result is their median; the rounds of the echo alternate with them."),
    ] = 5
    seconds: Length = 3.0
    many: Annotated[Count, Parameter(help="Number of matches that are held at one move a second each.")] = 1_000
    hold_s: Annotated[Seconds, Parameter(name="--hold", help="How many seconds they are held.")] = 60.0
    offered: Annotated[
        Numbers,
        Parameter(
            help="Moves a second that fall due whether or not the ones before are answered; latency counts from then. "
            f"If it is given, only this is measured, unless --only says more. [default: {_listed(LOADS)}]",
            show_default=False,
        ),
    ] = ()
    only: Annotated[
        Sequence[Section],
        Parameter(
            help="What to measure; may be given several times: bots that answer at once, two bots who play all matches "
            "over one stream each, offered loads, bots that think, many matches. [default: all of it]",
            negative=(),
        ),
    ] = ()
    profile: Annotated[
        Flag,
        Parameter(
            help="Show the time of a move by stage, for bots that answer at once; only if the server is not compiled."
        ),
    ] = False
    folder: Folder = None
    store: Store = ""

    @property
    def sections(self) -> Sequence[Section]:
        """What is measured."""
        if self.profile:
            return ("at-once",)
        return self.only or (("offered",) if self.offered else EVERYTHING)

    @property
    def warm_up_s(self) -> float:
        """The time of play before the measurement begins: as long as a round, but at most WARM_UP_S."""
        return min(WARM_UP_S, self.seconds)

    @property
    def most_moves(self) -> float:
        """The maximum number of moves if nobody thinks."""
        return FASTEST * (self.rounds * self.seconds + self.warm_up_s)

    def on_sqlite(self, goal: float) -> float | None:
        """Return a goal that is for SQLite only."""
        return None if self.store else goal

    def of_processor(self, goal: float) -> float:
        """Return a goal for a multiple of processor time on this store."""
        return goal * ON_POSTGRES if self.store else goal


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class FanoutPlan:
    """The size of `arbiter bench fanout`. A round has four windows of `seconds`."""

    observers: Annotated[Count, Parameter(help="Number of streams, each of which gets every event of all matches.")] = (
        1_000
    )
    matches: Annotated[Count, Parameter(help="Number of matches that are played.")] = 10
    offered: Annotated[Count, Parameter(help="Deliveries a second that the pace of play requires.")] = 22_000
    rounds: Annotated[Count, Parameter(help="Number of rounds; in each, the three servers take turns.")] = 5
    seconds: Annotated[Seconds, Parameter(help="Length of the measurement of each server in a round.")] = 2.5
    folder: Folder = None

    @property
    def think_s(self) -> float:
        """How long a player thinks."""
        return self.observers * self.matches / self.offered

    @property
    def lead_s(self) -> float:
        """The time until every match is under way."""
        return UNDER_WAY * self.think_s

    @property
    def moves(self) -> float:
        """The maximum number of moves of a pair: in each round one more than there is time for."""
        return self.rounds * (1 + (self.lead_s + self.seconds) / self.think_s)


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class RecoveryPlan:
    """The size of `arbiter bench recovery`."""

    matches: Annotated[Count, Parameter(help="Number of live matches in the log.")] = 1_000
    plies: Annotated[Count, Parameter(help="Number of moves in each.")] = 30
    rounds: Annotated[Count, Parameter(help="Number of starts. The result is their median.")] = 3
    folder: Folder = None


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class GrowthPlan:
    """The size of `arbiter bench growth`."""

    live: Annotated[Numbers, Parameter(help="Numbers of live matches, separated by commas.")] = LIVE
    ladders: Annotated[
        Numbers, Parameter(help="Numbers of ended games of a ladder, separated by commas; '' for none.")
    ] = (1_000, 10_000)
    plies: Annotated[Count, Parameter(help="Moves of each match in the log.")] = 30
    offered: Annotated[Count, Parameter(help="Moves that fall due a second, in all matches together.")] = 150
    rounds: Annotated[Count, Parameter(help="Starts of each server. The result is their median.")] = 3
    seconds: Annotated[Seconds, Parameter(help="How long is played after each start.")] = 2.0
    folder: Folder = None


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class BudgetPlan:
    """The size of `arbiter bench budget`."""

    pairs: Annotated[Count, Parameter(help="Pairs who play on meanwhile, thinking 50 ms.")] = 8
    history_s: Annotated[Seconds, Parameter(name="--history", help="Seconds of play that make the history.")] = 8.0
    seconds: Annotated[Seconds, Parameter(help="Length of each round.")] = 4.0
    rounds: Annotated[Count, Parameter(help="Rounds beside each attack, and as many without.")] = 5
    reading: Annotated[Count, Parameter(help="Streams that read all history.")] = 60
    unread: Annotated[Count, Parameter(help="Streams that do not read.")] = 100
    watching: Annotated[Count, Parameter(help="Streams of what happens now.")] = 100
    calling: Annotated[Count, Parameter(help="Calls that it makes at once.")] = 250
    listing: Annotated[Count, Parameter(help="Lists, and matches, that it asks for at once.")] = 16
    opening: Annotated[
        Count, Parameter(help="Play streams that it opens far too often, and moves that are refused, at once.")
    ] = 100
    playing: Annotated[
        Count, Parameter(help="Long games whose boards it asks for, and lists of moves with their steps, at once.")
    ] = 8
    visiting: Annotated[Count, Parameter(help="Connections on which visitors ask for pages.")] = 100
    flooding: Annotated[Count, Parameter(help="Connections on which they ask and read nothing.")] = 1_096
    two: Annotated[Flag, Parameter(help="Measure also each two of these at once; with --only, each two of those.")] = (
        False
    )
    only: Annotated[
        Sequence[Attack],
        Parameter(help="Which of these it does; may be given several times. [default: all]", negative=()),
    ] = ()
    folder: Folder = None
    store: Store = ""
    web_process: Annotated[
        Flag, Parameter(help="Another process has the page, as with `arbiter serve --web-process`; needs --store.")
    ] = False
    steps: Annotated[
        Flag,
        Parameter(
            help="Find the longest step of the event loop, which is then asyncio's own, beside each attack too. Goal: "
            "10 ms of a processor's time."
        ),
    ] = False


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class MetricsPlan:
    """The size of `arbiter bench metrics`."""

    matches: Annotated[Count, Parameter(help="Number of matches at the same time.")] = 64
    starts: Annotated[
        Count,
        Parameter(
            help="How often all servers are started: without both, with metrics, with metrics and traces, and without."
        ),
    ] = 6
    rounds: Annotated[Count, Parameter(help="Rounds of each server after each start.")] = 12
    seconds: Length = 1.0
    folder: Folder = None


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class WebPlan:
    """The size of `arbiter bench web`."""

    viewers: Annotated[Count, Parameter(help="Viewers of one match.")] = 1_000
    grid_viewers: Annotated[Count, Parameter(help="Viewers of the grid.")] = 200
    grid: Annotated[Count, Parameter(help="Matches of the grid.")] = 20
    matches: Annotated[Count, Parameter(help="Matches of bots that answer at once.")] = 64
    think_s: Annotated[Seconds, Parameter(name="--think", help="Seconds that a player of a watched match thinks.")] = (
        1.0
    )
    rounds: Annotated[Count, Parameter(help="Rounds with viewers, and as many without.")] = 10
    seconds: Annotated[Seconds, Parameter(help="Length of each round.")] = 2.0
    folder: Folder = None


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """The size of `arbiter bench cluster`."""

    sizes: Annotated[Numbers, Parameter(name="--replicas", help="Numbers of replicas, separated by commas.")] = SIZES
    pairs: Annotated[Count, Parameter(help="Pairs of players.")] = 64
    rounds: Annotated[Count, Parameter(help="Rounds; each starts and plays every number of replicas.")] = 5
    seconds: Annotated[
        Seconds, Parameter(help="Length of each part of a round: players who answer at once, then moves offered.")
    ] = 3.0
    offered: Annotated[Count, Parameter(help="Moves that fall due a second, for the latencies.")] = 200
    loaded: Annotated[
        Count,
        Parameter(
            help="The same, for the processor time of the same load on one and two replicas and on the single process."
        ),
    ] = 1_500
    store: Annotated[str, Parameter(help=f"{_ON} [default: one of its own is run]")] = ""
    folder: Folder = None
    bus: Annotated[bool, Parameter(help="Also measure each number of replicas above 1 with NATS.")] = True


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class ClocksPlan:
    """The size of `arbiter bench clocks`."""

    matches: Annotated[Count, Parameter(help="Number of matches that are played at the same time.")] = 500
    seconds: Annotated[Seconds, Parameter(help="Length of the measurement.")] = 60.0
    think_ms: Annotated[
        Seconds, Parameter(help="How long the player to move thinks, give or take a half, in milliseconds.")
    ] = 1_000.0


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class TournamentPlan:
    """The size of `arbiter bench tournament`."""

    at_once: Annotated[Numbers, Parameter(help="Numbers of games at once, separated by commas.")] = AT_ONCE
    rounds: Annotated[Count, Parameter(help="Number of rounds. The result is their median.")] = 3
    seconds: Annotated[Seconds, Parameter(help="How long is measured of each run.")] = 4.0
    game: Annotated[str, Parameter(help="The variant. [default: circle-of-life(target=60), with --uci chess]")] = ""
    uci: Annotated[
        str,
        Parameter(help="The command of a chess engine, which plays at one node a move. [default: two bots at random]"),
    ] = ""
    network: Annotated[
        bool, Parameter(help="The two bots at random connect by gRPC, as bots of others do.", negative=())
    ] = False
    folder: Folder = None
