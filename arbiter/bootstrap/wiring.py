"""The use cases with their dependencies, and the lists of listeners for events."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from structlog import get_logger as log

from arbiter.bootstrap.world import World
from arbiter.config import Settings
from arbiter.errors import OperatorError, Refusal
from arbiter.matches import time_control
from arbiter.matches.clock import CreditRules
from arbiter.matches.match import Match
from arbiter.matches.policy import Policy
from arbiter.ratings import anchors
from arbiter.service.cut_off import CutOff
from arbiter.service.matches.comment_keys import CommentKeys
from arbiter.service.matches.live import LiveMatches
from arbiter.service.matches.live_match import AdoptionListener, MatchListener
from arbiter.service.matches.registry import MatchRegistry
from arbiter.service.matches.revival import RevivalListener
from arbiter.service.matches.stall_detector import StallDetector
from arbiter.service.matches.transcripts import Transcripts
from arbiter.service.observing.feed import Feed
from arbiter.service.play.acts import PlayActs
from arbiter.service.play.catch_up import CatchUp
from arbiter.service.play.challenges import Challenges
from arbiter.service.play.connections import Connections
from arbiter.service.play.delivery import Delivery
from arbiter.service.sharing.membership import Membership
from arbiter.service.play.move_lists import MoveLists
from arbiter.service.sharing.replica import Replica
from arbiter.service.play.sessions import FirstItems, Sessions
from arbiter.service.players.accounts import Accounts
from arbiter.service.ports.directory import Directory
from arbiter.service.ports.journal import Journal
from arbiter.service.ports.meter import NO_METER
from arbiter.service.ratings.ratings import Ratings
from arbiter.service.sharing.announcing import AnnouncingDirectory, AnnouncingJournal
from arbiter.service.sharing.following import Follower
from arbiter.service.sharing.following import Listener as LogListener
from arbiter.service.sharing.news import News
from arbiter.service.record.published import Published
from arbiter.service.tournaments.calls import TournamentCalls
from arbiter.service.tournaments.capacity import Capacity
from arbiter.service.tournaments.log import Listener as TournamentListener
from arbiter.service.tournaments.ports import Dependencies
from arbiter.service.tournaments.registry import TournamentRegistry


class Arbiter(NamedTuple):
    """The use cases, wired together.

    `match_listeners`: callbacks for durable events of matches, called in this order. `follower`: of the log, and
    `replica`: where other servers use the store too. Whoever starts the arbiter starts the replica before it reads what
    has not ended, and runs both.
    """

    matches: MatchRegistry
    match_listeners: list[MatchListener]
    feed: Feed
    accounts: Accounts
    sessions: Sessions
    acts: PlayActs
    delivery: Delivery
    challenges: Challenges
    transcripts: Transcripts
    tournaments: TournamentRegistry
    ratings: Ratings
    cut_off: CutOff
    policy: Policy
    follower: Follower
    replica: Replica | None
    news: News | None
    stalls: StallDetector


class _Listeners(NamedTuple):
    """Who is called, in this order: each list goes to the part that calls it, and `_subscribe` fills it."""

    matches: list[MatchListener]  #: durable events of matches
    adoptions: list[AdoptionListener]  #: matches that are live here now, as another server has stored them
    revivals: list[RevivalListener]  #: matches that are live again after a start
    log: list[LogListener]  #: new records of a shared log
    tournaments: list[TournamentListener]  #: durable events of tournaments
    first_items: list[FirstItems]  #: Play streams that open


class _Parts:
    """The use cases: each property says what its part is built from, and builds it when it is first used.

    Raises Refusal for settings with which nothing could be played or rated.
    """

    def __init__(self, settings: Settings, world: World) -> None:
        self.settings, self.limits = settings, settings.limits
        self.world, self.clock, self.shared = world, world.clock, world.store.shared
        self.policy = _policy(settings)
        self.anchors = anchors.checked(settings.ratings.anchors.items())
        self.listeners = _Listeners([], [], [], [], [], [])
        self.cut_off = CutOff()
        self.stalls = StallDetector(self.limits.held_up_ms)

    # -- the record, and what other servers write to it --------------------------------------------------------------

    @cached_property
    def news(self) -> News | None:
        bus = self.world.bus
        return News(bus, self.clock, log("arbiter.bus")) if bus is not None else None

    @cached_property
    def directory(self) -> Directory:
        directory = self.world.store.directory
        if self.news is None:
            return directory
        return AnnouncingDirectory(directory, self.news)

    @cached_property
    def follower(self) -> Follower:
        long_s = self.limits.held_up_ms / 1_000
        return Follower(self.world.store.journal, self.listeners.log, log("arbiter.store"), long_s, self.news)

    @cached_property
    def journal(self) -> Journal:
        journal = self.world.store.journal
        if not self.shared:
            return journal
        report = self.follower.stored if self.news is None else self.news.stored
        return AnnouncingJournal(journal, self.follower, report)

    # -- players and matches -----------------------------------------------------------------------------------------

    @cached_property
    def accounts(self) -> Accounts:
        return Accounts(self.directory, self.world.ids, self.clock, self.settings.registration, self.limits)

    @cached_property
    def connections(self) -> Connections:
        return Connections(self.clock, self.follower.is_silent)

    @cached_property
    def matches(self) -> MatchRegistry:
        traces = self.world.traces
        return MatchRegistry(
            self.journal if traces is None else traces.moves.journal(self.journal),
            self.clock,
            self.world.ids,
            self.limits,
            CommentKeys(self.world.signer).of,
            self.connections,
            self.listeners.matches,
            self.listeners.adoptions,
            self.listeners.revivals,
            self.shared,
            self.stalls,
            log("arbiter.matches"),
        )

    @cached_property
    def transcripts(self) -> Transcripts:
        return Transcripts(self.matches, self.world.signer)

    @cached_property
    def feed(self) -> Feed:
        return Feed(self.journal, self.limits, self.matches, self.shared)

    # -- play --------------------------------------------------------------------------------------------------------

    @cached_property
    def catch_up(self) -> CatchUp:
        return CatchUp(self.matches, self.directory)

    @cached_property
    def delivery(self) -> Delivery:
        credit_ms = self.settings.credit.hand_over_most_ms
        move_lists = MoveLists(self.world.turn_rules, self.limits, credit_ms, log("arbiter.sessions"))
        return Delivery(
            self.connections, self.matches.live, self.catch_up, move_lists, self.clock, self.limits.held_up_ms
        )

    @cached_property
    def acts(self) -> PlayActs:
        return PlayActs(self.matches, self.delivery, self.clock, self.limits, self.world.metrics or NO_METER)

    @cached_property
    def membership(self) -> Membership | None:
        replicas, silence_ms = self.world.store.replicas, self.limits.server_silence_ms
        if replicas is None:
            return None
        return Membership(replicas, self.world.ids, silence_ms, self.delivery.hand_overs, self.cut_off, self.news)

    @cached_property
    def sessions(self) -> Sessions:
        return Sessions(
            self.connections,
            self.matches,
            self.accounts,
            self.directory,
            self.catch_up,
            self.delivery,
            self.listeners.first_items,
            self.membership,
            self.cut_off,
            self.follower.silence_s,
            self.clock,
            self.limits,
        )

    @cached_property
    def challenges(self) -> Challenges:
        return Challenges(
            self.directory,
            self.accounts,
            self.matches,
            self.sessions,
            self.world.ids,
            self.clock,
            self.limits,
            self.policy,
            self.shared,
            log("arbiter.challenges"),
        )

    @cached_property
    def replica(self) -> Replica | None:
        if self.membership is None:
            return None
        return Replica(
            self.membership,
            self.connections,
            self.sessions,
            self.matches,
            self.follower,
            self.directory,
            (self.accounts.hear, self.challenges.hear),
            log("arbiter.replica"),
            self.news,
        )

    # -- ratings and tournaments -------------------------------------------------------------------------------------

    @cached_property
    def ratings(self) -> Ratings:
        return Ratings(self.journal, self.clock, self.world.rating, self.anchors, log("arbiter.ratings"))

    @cached_property
    def tournaments(self) -> TournamentRegistry:
        dependencies = Dependencies(
            self.journal,
            self.matches,
            self.feed,
            self.clock,
            Capacity(self.sessions, self.limits.tournament_games),
            self.world.pairing,
            self.ratings,
            self.policy,
            self.world.judges,
            self.shared,
            log("arbiter.tournaments"),
        )
        return TournamentRegistry(dependencies, self.world.ids, self.limits, self.listeners.tournaments)

    @cached_property
    def calls(self) -> TournamentCalls:
        return TournamentCalls(self.connections, self.tournaments, self.clock)


def _subscribe(parts: _Parts) -> None:
    """Fill the lists of listeners: this is the order in which they are called."""
    lists, world, observers = parts.listeners, parts.world, parts.feed.subscribers
    if parts.shared:
        lists.matches.append(parts.matches.elsewhere.match_changed)
    if world.metrics is not None:
        count = world.metrics.listener(parts.clock)
        lists.matches.append(_own(count, parts.matches.live) if parts.shared else count)
    if world.traces is not None and parts.shared:
        lists.matches.append(world.traces.moves.match_changed)
    lists.matches.extend((observers.match_changed, parts.delivery.match_changed, parts.tournaments.match_changed))
    lists.adoptions.append(parts.delivery.match_adopted)
    lists.revivals.append(parts.tournaments.match_revived)
    if parts.replica is not None:
        lists.log.append(parts.replica.log_grown)
    lists.log.extend((parts.matches.elsewhere.log_grown, observers.log_grown, parts.tournaments.log_grown))
    lists.tournaments.append(parts.calls.tournament_changed)
    lists.first_items.append(parts.calls.first_items)


def wire(settings: Settings, world: World) -> Arbiter:
    """Wire up the use cases. Raises OperatorError for settings with which no match could be created."""
    try:
        parts = _Parts(settings, world)
    except Refusal as refusal:
        raise OperatorError(f"the configuration is wrong: {refusal.message}") from None
    _subscribe(parts)
    return Arbiter(
        matches=parts.matches,
        match_listeners=parts.listeners.matches,
        feed=parts.feed,
        accounts=parts.accounts,
        sessions=parts.sessions,
        acts=parts.acts,
        delivery=parts.delivery,
        challenges=parts.challenges,
        transcripts=parts.transcripts,
        tournaments=parts.tournaments,
        ratings=parts.ratings,
        cut_off=parts.cut_off,
        policy=parts.policy,
        follower=parts.follower,
        replica=parts.replica,
        news=parts.news,
        stalls=parts.stalls,
    )


def _own(listener: MatchListener, matches: LiveMatches) -> MatchListener:
    """Return a listener for the events that this server has decided itself."""

    def match_changed(match: Match, events: Sequence[Published]) -> None:
        if matches.decided_here:
            listener(match, events)

    return match_changed


def _policy(settings: Settings) -> Policy:
    matches = settings.matches
    time_control.parse(matches.time_control)
    return Policy(
        illegal_moves=matches.illegal_moves,
        kept_refusals=matches.kept_refusals,
        no_show_ms=matches.no_show_ms,
        abandon_ms=matches.abandon_ms,
        move_cap_ms=matches.move_cap_ms,
        resume_ms=matches.resume_ms,
        credit=CreditRules(**settings.credit.model_dump()),
    )
