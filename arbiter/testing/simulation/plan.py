"""The plan of a run: everything that a seed decides beforehand.

Each seed has its own selection of faults and its own number of each. Faults that always occur together would hide what
a single one shows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random
from typing import Final, NamedTuple

from arbiter.games import registry
from arbiter.matches.clock import CreditRules
from arbiter.matches.commands import Create
from arbiter.matches.policy import ClockStart, NoShow, Policy
from arbiter.testing.clock import NOON_MS
from arbiter.tournaments.formats import PAIRERS
from arbiter.tournaments.schedule import Schedule
from arbiter.tournaments.spec import Options, Spec, options_in

ORGANISER: Final = "org"
OPERATORS: Final = ("boss", "deputy")  #: they correct tournaments, as their creator does, and rule on ratings
GUEST: Final = "guest"  #: enters a tournament that is corrected, never comes, and is suspended now and then
GAMES: Final = (
    ("circle-of-life(target=2)", 30),
    ("circle-of-life(target=1)", 30),
    ("circle-of-life", 10),
    ("hop-it", 20),
    ("hop-it(start=frogs-ahead)", 15),
    ("pods(size=3)", 15),
    ("pondlife", 12),
    ("pondlife(eel=true,handicap=6)", 8),
    ("elevation(tiles=0)", 3),
)
"""Variants with their weights: short games mostly, because faults are met by matches and not by plies."""
CUP_GAME: Final = "circle-of-life(target=1)"  #: of tournaments
TIME_CONTROLS: Final = (
    "20s",
    "1m+1s",
    "10s+500ms",
    "15s+2sd",
    "15s+1500msb",
    "4s/move",
    "1s/move+20s",
    "10s+3x5s",
    "8/20s",
    "none",
)


CHALLENGED: Final = 0.5  #: the chance that players of several servers challenge each other
SCHEDULED: Final = 0.3  #: the chance that a tournament starts at an instant, and not when its organiser says so
TOURNAMENTS: Final = 0.35  #: the chance that several servers have a tournament of rounds or with a bracket
CORRECTED: Final = 0.25  #: the chance that they have one of any format that its organiser and the operators correct
OPEN_ENDED: Final = 0.25  #: the chance that they have one of another format, whose length depends on how it goes
ALONE: Final = 0.05  #: the chance that a match is one of a player against itself
OPENED: Final = 0.2  #: the chance that a match begins with an opening
LOCKED: Final = 0.4  #: the chance that the log is locked in a run with faults
STANDS: Final = 0.3  #: the chance that a server alone on its store stands still now and then, in a run with faults


class Fault(StrEnum):
    """The faults of a run; see `arbiter.testing.simulation.fault_injector` and the parts on which they act."""

    CRASH = "crash"  #: the server dies, and loses what it had not stored
    DRAIN = "drain"  #: the server shuts down gracefully, and restarts
    CUT = "cut"  #: a connection is reset: messages under way are lost in both directions
    HALF_OPEN = "half-open"  #: a connection dies, and the server is not notified
    STALL = "stall"  #: a player reads nothing for a while
    SUPERSEDE = "supersede"  #: a player connects a second time
    FORGET = "forget"  #: a bot restarts without any memory
    AWAY = "away"  #: a player disconnects, for up to a minute
    LEAP = "leap"  #: the server's clock jumps ahead, as after a machine was suspended
    CUT_OBSERVER = "cut observer"
    STALL_OBSERVER = "stall observer"
    # by stopping readers (`arbiter.testing.simulation.readers`):
    UNREAD = "unread"  #: a client stops reading its stream for ever
    SHUT_OUT = "shut out"  #: a client's token is revoked, or it is suspended, while its stream is open
    # by chance, each time:
    LOST = "lost"  #: a unary call or its answer
    DOUBLED = "doubled"  #: a unary call arrives twice
    LATE = "late"  #: messages take seconds; unary calls overtake each other
    REFUSED = "refused append"
    LIED = "lied append"  #: stored, but reported as failed
    SLOW = "slow commit"
    DEAF = "failed read"  #: a read of the journal, or any call of the directory, fails
    OVERTAKEN = "overtaken append"  #: another server has interrupted the match first
    # now and then, besides the others:
    LOCKED = "log locked"  #: nobody can use the log for a while; a server alone on its store can't use its disk
    SERVER_STALL = "server stall"  #: a server alone on its store stands still for a while, with all its clients
    # where several servers share the store:
    STOP = "stop"  #: a server's process is stopped for a while, and continued
    CUT_OFF = "cut off"  #: a server can't reach the store for a while
    MOVE = "move"  #: a player connects to another server
    RACE = "race"  #: both players of a match act at the same instant
    CHASE = "chase"  #: the server of a player is killed, and the next one that it takes too
    LATE_NEWS = "late news"  #: a server reads what others have stored up to three seconds late
    BUS_AWAY = "bus away"  #: the bus between all servers carries nothing for a while
    PACE = "pace"  #: the clock of a server's machine runs faster or slower from now on, by up to one part in 2,000
    ACCEPTING = "accepting"  #: by chance: a server is killed while a player accepts a challenge at it
    CORRECTING = "correcting"  #: by chance: a server is killed while an organiser or operator corrects something at it


AMONG_SERVERS: Final = frozenset(
    {
        Fault.STOP,
        Fault.CUT_OFF,
        Fault.MOVE,
        Fault.RACE,
        Fault.CHASE,
        Fault.LATE_NEWS,
        Fault.BUS_AWAY,
        Fault.PACE,
        Fault.ACCEPTING,
        Fault.CORRECTING,
    }
)
"""Faults that only several servers have. They have no `LEAP`: the clock of a server follows that of the store."""

HAPPENING: Final = (
    Fault.CRASH,
    Fault.DRAIN,
    Fault.CUT,
    Fault.HALF_OPEN,
    Fault.STALL,
    Fault.SUPERSEDE,
    Fault.FORGET,
    Fault.AWAY,
    Fault.LEAP,
    Fault.CUT_OBSERVER,
    Fault.STALL_OBSERVER,
    Fault.STOP,
    Fault.CUT_OFF,
    Fault.MOVE,
    Fault.RACE,
    Fault.CHASE,
    Fault.BUS_AWAY,
    Fault.PACE,
)
"""Faults that happen now and then, one after the other; the rates of the others are chances, except those of
`LOCKED` and `SERVER_STALL`, which happen besides the others."""


@dataclass(frozen=True, slots=True)
class PlayerPlan:
    """A player: how long it thinks, how often it errs, how it sends.

    think_ms: its usual maximum thinking time. blunder: the chance of a request that must be refused. unary: the chance
    that a request is sent as a unary call. chatty: the chance of a draw offer. sleepy: the chance that it never answers
    another turn of a match. patience_ms: the time after which it repeats a request. rtt_ms: the minimum round-trip time
    of its network. comes_ms: when it first connects. exact: it never moves back to an earlier position where the game
    forbids this. prepares_ms: how long it takes to get ready for a match, of which it says so; None: it says nothing.
    """

    name: str
    think_ms: int
    blunder: float
    unary: float
    chatty: float
    sleepy: float
    patience_ms: int
    rtt_ms: int
    comes_ms: int
    exact: bool = False
    prepares_ms: int | None = None


@dataclass(frozen=True, slots=True)
class MatchPlan:
    """A match: when and how it is created, how many plies its players want to play, and what the organiser does to it.

    after_ms: since the start of the run. intervenes_ms: time from its creation until the organiser ends it; 0: never.
    """

    after_ms: int
    create: Create
    plies: int
    intervenes_ms: int


@dataclass(frozen=True, slots=True)
class TournamentPlan:
    """A tournament: when it is created, and who enters it.

    corrections: how many decisions its creator and each operator make, while it is played and after its end.
    """

    after_ms: int
    spec: Spec
    players: tuple[str, ...]
    corrections: int = 0


@dataclass(frozen=True, slots=True)
class ChallengePlan:
    """A challenge, or a seek if `opponent` is '': when it is made, and what players do then, all at the same instant.

    later_ms: time from its creation until then. acts: who accepts it, or else declines or withdraws it. repeats:
    whether they repeat a call until its answer is final.
    """

    after_ms: int
    challenger: str
    opponent: str
    later_ms: int
    acts: tuple[tuple[str, bool], ...]
    repeats: bool


class BusPlan(NamedTuple):
    """The bus of a run with several servers: the shares of lost and of doubled messages, and the longest delay."""

    lost: float
    doubled: float
    longest_s: float


@dataclass(frozen=True, slots=True)
class Plan:
    """A run. Durations are milliseconds; `faults` are events per virtual minute, or probabilities.

    faulty_ms: how long there are faults. observers: the number of observers of single matches, of everything, of a
    label. readers: the number of clients that stop reading and are shut out. limits: the server limits that the run
    sets (see `arbiter.config.Limits`). replicas: the number of servers, which share a store if there are several.
    """

    seed: int
    players: tuple[PlayerPlan, ...]
    matches: tuple[MatchPlan, ...]
    observers: tuple[int, int, int]
    faults: dict[Fault, float]
    faulty_ms: int
    limits: dict[str, int]
    readers: int = 0
    replicas: int = 1
    tournaments: tuple[TournamentPlan, ...] = ()
    challenges: tuple[ChallengePlan, ...] = ()
    bus: BusPlan | None = None

    def dice(self, of: str) -> Random:
        """Return the random generator of one part of the run: no part's draws depend on how many another makes."""
        return Random(f"{self.seed} {of}")

    @property
    def calm(self) -> bool:
        """Whether there are no faults and no player errs."""
        return not self.faults


def draw(seed: int, matches: int, replicas: int = 1) -> Plan:
    """Return the plan of a seed, with a number of matches and of servers. Every eighth seed has no faults."""
    alone = _draw(seed, matches)
    if replicas == 1:
        return alone
    faults = _among_servers(seed, alone.faults) if alone.faults else {}
    cups, bus = _tournaments(seed, alone) + _open_ended(seed, alone), _bus(seed, bool(faults))
    if faults and bus is not None:
        faults |= _without_bus(seed)
    challenges, corrected = _challenges(seed, alone), _corrected(seed, alone)
    if faults and corrected:
        faults |= {Fault.CORRECTING: Random(f"{seed} correcting").choice((0.02, 0.1))}
    cups += corrected
    return replace(alone, replicas=replicas, faults=faults, tournaments=cups, challenges=challenges, bus=bus)


def _draw(seed: int, matches: int) -> Plan:
    """Return the plan of a seed for one server."""
    dice = Random(f"{seed} plan")
    calm = seed % 8 == 0
    faulty_ms = 1_500 * matches + dice.randint(20_000, 60_000)
    players = tuple(_player(dice, seed, n, faulty_ms, calm) for n in range(dice.randint(2, 4 + matches // 8)))
    names = [player.name for player in players]
    return Plan(
        seed,
        players,
        tuple(_match(dice, seed, n, names, faulty_ms, calm) for n in range(matches)),
        (dice.randint(3, 8), dice.randint(0, 2), dice.randint(0, 1)),
        {} if calm else _faults(dice) | _races(seed) | _locks(seed) | _stalls(seed),
        faulty_ms,
        {
            "observer_items": dice.choice((10, 40, 2_000)),
            "session_items": dice.choice((12, 60, 20_000)),
            "silence_ms": dice.choice((4_000, 10_000, 20_000)),
            "ping_ms": dice.choice((1_000, 2_500)),
            "bookmark_ms": dice.choice((1_000, 5_000)),
        },
        readers=0 if calm else Random(f"{seed} stopped").choice((0, 1, 3)),
    )


def _player(dice: Random, seed: int, n: int, faulty_ms: int, calm: bool) -> PlayerPlan:
    comes_ms = 0 if calm else dice.choice((0, 0, 0, 0, 0, 5_000, faulty_ms // 2, faulty_ms))
    return PlayerPlan(
        name=f"bot{n}",
        think_ms=dice.choice((1, 20, 300, 1_500, 1_500)),
        blunder=0.0 if calm else dice.choice((0.0, 0.02, 0.1)),
        unary=dice.choice((0.0, 0.0, 0.3, 1.0)),
        chatty=dice.choice((0.0, 0.05, 0.2)),
        sleepy=0.0 if calm else dice.choice((0.0, 0.0, 0.02)),
        patience_ms=dice.choice((400, 2_000, 6_000)),
        rtt_ms=dice.choice((0, 2, 50, 200)),
        comes_ms=comes_ms,
        exact=calm,
        prepares_ms=Random(f"{seed} prepares {n}").choice((None, None, 0, 500, 4_000)),
    )


def _match(dice: Random, seed: int, n: int, names: list[str], faulty_ms: int, calm: bool) -> MatchPlan:
    first, second = dice.sample(names, 2)
    game = dice.choices([name for name, _ in GAMES], [weight for _, weight in GAMES])[0]
    rare = Random(f"{seed} rare {n}")  # a generator of its own, so that everything else in a plan stays as it is
    alone = rare.random() < ALONE
    create = Create(
        game=game,
        players=(first, first) if alone else (first, second),
        time="1m+1s" if calm else dice.choice(TIME_CONTROLS),
        creator=ORGANISER,
        request=f"match {n}",
        policy=Policy(
            illegal_moves=dice.choice((1, 2, 4)),
            kept_refusals=dice.choice((0, 3, 100)),
            no_show_ms=dice.choice((5_000, 30_000)),
            abandon_ms=dice.choice((0, 6_000, 30_000)),
            move_cap_ms=dice.choice((20_000, 60_000)),
            resume_ms=dice.choice((0, 3_000, 20_000)),
            start=dice.choice((ClockStart.WHEN_PRESENT, ClockStart.WHEN_PRESENT, ClockStart.AT_ONCE)),
            no_show=dice.choice(tuple(NoShow)),
            credit=dice.choice((CreditRules(), CreditRules(50, 80, 400, 20), CreditRules(0, 0, 0, 0))),
            ready_ms=Random(f"{seed} ready {n}").choice((0, 2_000, 10_000)),
        ),
        rated=dice.random() < 0.5 and not alone,
        label=dice.choice(("", "cup")),
        opening=_opening(rare, game) if rare.random() < OPENED else (),
    )
    long = dice.random() < 0.15
    return MatchPlan(
        after_ms=int(faulty_ms * 0.9 * dice.random()),
        create=create,
        plies=dice.randint(20, 60) if long else dice.randint(0, 18),
        intervenes_ms=0 if calm or dice.random() > 0.06 else dice.randint(0, 15_000),
    )


def _opening(dice: Random, variant: str) -> tuple[str, ...]:
    """Return up to four random moves that do not end the game."""
    game = registry.game(variant)
    position, moves = game.initial(), list[str]()
    for _ in range(dice.randint(1, 4)):
        move = dice.choice(game.moves(position))
        after = game.play(position, move)
        if after.outcome is not None:
            break
        position = after
        moves.append(move)
    return tuple(moves)


def _races(seed: int) -> dict[Fault, float]:
    """Return how often another server is first in a run, if ever: from a generator of its own, as for what is rare."""
    rare = Random(f"{seed} races")
    return {Fault.OVERTAKEN: rare.choice((0.01, 0.05, 0.2))} if rare.random() < 0.5 else {}


def _locks(seed: int) -> dict[Fault, float]:
    """Return how often the log is locked in a run, if ever: a fault of later days, so from a generator of its own."""
    dice = Random(f"{seed} locks")
    return {Fault.LOCKED: dice.choice((2.0, 6.0))} if dice.random() < LOCKED else {}


def _stalls(seed: int) -> dict[Fault, float]:
    """Return how often the server stands still in a run, if ever: from a generator of its own, as for locks."""
    dice = Random(f"{seed} standstills")
    return {Fault.SERVER_STALL: dice.choice((1.0, 4.0))} if dice.random() < STANDS else {}


def _among_servers(seed: int, faults: dict[Fault, float]) -> dict[Fault, float]:
    """Return the faults of a run with several servers, from those of the same seed with one."""
    dice = Random(f"{seed} servers")
    often = {
        Fault.STOP: (1.0, 4.0),
        Fault.CUT_OFF: (1.0, 4.0),
        Fault.MOVE: (4.0, 30.0),
        Fault.RACE: (4.0, 30.0),
        Fault.LATE_NEWS: (0.0005, 0.01),
        Fault.CHASE: (1.0, 4.0),
        Fault.ACCEPTING: (0.1, 0.5),
        Fault.PACE: (1.0, 6.0),
    }
    drawn = {fault: dice.choice(rates) for fault, rates in often.items() if dice.random() < 0.5}
    alone = (Fault.LEAP, Fault.SERVER_STALL)
    return {fault: rate for fault, rate in faults.items() if fault not in alone} | (drawn or {Fault.MOVE: 10.0})


def _bus(seed: int, faulty: bool) -> BusPlan | None:
    """Return the bus of a run with several servers: every second one has one."""
    dice = Random(f"{seed} bus")
    if dice.random() < 0.5:
        return None
    if not faulty:
        return BusPlan(0.0, 0.0, 0.002)
    return BusPlan(dice.choice((0.0, 0.02, 0.5)), dice.choice((0.0, 0.1)), dice.choice((0.002, 0.05, 1.0)))


def _without_bus(seed: int) -> dict[Fault, float]:
    """Return how often the bus of a run is away, if ever."""
    dice = Random(f"{seed} without bus")
    return {Fault.BUS_AWAY: dice.choice((1.0, 3.0))} if dice.random() < 0.5 else {}


def _challenges(seed: int, plan: Plan) -> tuple[ChallengePlan, ...]:
    """Return the challenges of a run with several servers: some in every second run."""
    dice = Random(f"{seed} challenges")
    if dice.random() > CHALLENGED:
        return ()
    names = [player.name for player in plan.players]
    return tuple(_challenge(dice, names, plan.faulty_ms) for _ in range(dice.randint(1, 6)))


def _challenge(dice: Random, names: list[str], faulty_ms: int) -> ChallengePlan:
    challenger, *others = dice.sample(names, len(names))
    is_seek = dice.random() < 0.5
    acts = [(name, True) for name in (others[:3] if is_seek else [others[0]] * dice.randint(1, 2))]
    if dice.random() < 0.3:
        acts.append((challenger, False))
    if not is_seek and dice.random() < 0.2:
        acts.append((others[0], False))
    return ChallengePlan(
        after_ms=dice.randint(0, faulty_ms * 9 // 10),
        challenger=challenger,
        opponent="" if is_seek else others[0],
        later_ms=dice.randint(0, 3_000),
        acts=tuple(dice.sample(acts, len(acts))),
        repeats=dice.random() < 0.5,
    )


def _tournaments(seed: int, plan: Plan) -> tuple[TournamentPlan, ...]:
    """Return a tournament of rounds or with a bracket: one in every third run with several servers."""
    dice = Random(f"{seed} tournaments")
    if dice.random() > TOURNAMENTS:
        return ()
    names = [player.name for player in plan.players]
    players = tuple(dice.sample(names, min(len(names), 4)))
    format_, _ = dice.choice([each for each in PAIRERS.items() if each[1].by_round or each[1].has_bracket])
    options = Options(rounds=len(players) // 2) if "rounds" in options_in(format_) else Options()
    return (_tournament(dice, Spec("the cup", format_, (CUP_GAME,), "1m+1s", options=options), players, plan),)


def _open_ended(seed: int, plan: Plan) -> tuple[TournamentPlan, ...]:
    """Return one of a format that has no rounds: an arena, a ladder, a trial; one in every fourth run.

    Its generator is its own, so that everything else in a plan stays as it is.
    """
    dice = Random(f"{seed} open")
    if dice.random() > OPEN_ENDED:
        return ()
    names = [player.name for player in plan.players]
    format_, pairer = dice.choice([each for each in PAIRERS.items() if not (each[1].by_round or each[1].has_bracket)])
    players = tuple(dice.sample(names, min(len(names), pairer.most_players or 5)))
    drawn = Options(
        duration_ms=dice.randint(5_000, 20_000),
        validation=dice.random() < 0.5,
        elo1=dice.choice((10, 400)),
        most_meetings=dice.randint(2, 8),
    )
    options = replace(Options(), **{name: getattr(drawn, name) for name in options_in(format_)})
    spec = Spec("the open", format_, (CUP_GAME,), "1m+1s", options=options, at_once=dice.choice((1, 2)))
    return (_tournament(dice, spec, players, plan),)


def _corrected(seed: int, plan: Plan) -> tuple[TournamentPlan, ...]:
    """Return a tournament of any format that is corrected; one in every fourth run, from a generator of its own."""
    dice = Random(f"{seed} corrected")
    if dice.random() > CORRECTED:
        return ()
    format_, pairer = dice.choice(list(PAIRERS.items()))
    most = pairer.most_players or 6
    names = [player.name for player in plan.players]
    players = tuple(dice.sample(names, min(len(names), most)))
    if len(players) < most:
        players = (*players, GUEST)
    drawn = Options(rounds=dice.randint(2, 4), duration_ms=dice.randint(10_000, 30_000), most_meetings=6)
    options = replace(Options(), **{name: getattr(drawn, name) for name in options_in(format_)})
    spec = Spec("the corrected", format_, (CUP_GAME,), "1m+1s", options=options, at_once=dice.choice((1, 2)))
    return (replace(_tournament(dice, spec, players, plan), corrections=dice.randint(4, 12)),)


def _tournament(dice: Random, spec: Spec, players: tuple[str, ...], plan: Plan) -> TournamentPlan:
    """Return a tournament that is created in the first half of a run."""
    spec = replace(spec, paired=False, policy={"no_show_ms": 5_000, "abandon_ms": 6_000})
    after_ms = dice.randint(0, plan.faulty_ms // 2)
    if dice.random() < SCHEDULED:
        spec = replace(spec, schedule=Schedule(start_ms=NOON_MS + after_ms + dice.randint(2_000, 20_000)))
    return TournamentPlan(after_ms, spec, players)


def _faults(dice: Random) -> dict[Fault, float]:
    """Return the faults of a run; each fault occurs in about half of all runs."""
    often = {
        Fault.CRASH: (0.5, 2.0, 6.0),
        Fault.DRAIN: (0.3, 2.0),
        Fault.CUT: (2.0, 20.0),
        Fault.HALF_OPEN: (1.0, 5.0),
        Fault.STALL: (1.0, 8.0),
        Fault.SUPERSEDE: (1.0, 4.0),
        Fault.FORGET: (0.5, 4.0),
        Fault.AWAY: (1.0, 4.0),
        Fault.LEAP: (0.5, 2.0),
        Fault.CUT_OBSERVER: (1.0, 10.0),
        Fault.STALL_OBSERVER: (1.0, 4.0),
        Fault.LOST: (0.02, 0.2),
        Fault.DOUBLED: (0.05, 0.4),
        Fault.LATE: (0.01, 0.1),
        Fault.REFUSED: (0.002, 0.02),
        Fault.LIED: (0.002, 0.02),
        Fault.SLOW: (0.01, 0.1),
        Fault.DEAF: (0.005, 0.1),
    }
    drawn = {fault: dice.choice(rates) for fault, rates in often.items() if dice.random() < 0.5}
    return drawn or {Fault.CRASH: 2.0}
