"""The use cases with their dependencies, and the table of who hears of what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from structlog import get_logger as log

from arbiter.bootstrap.life import Life
from arbiter.bootstrap.shared_parts import AloneParts, Begun, SharingParts
from arbiter.bootstrap.world import World
from arbiter.config import Settings
from arbiter.errors import OperatorError, Refusal
from arbiter.matches import time_control
from arbiter.matches.clock import CreditRules
from arbiter.matches.policy import Policy
from arbiter.ratings import anchors
from arbiter.runtime.web_hook_sender import HttpSender
from arbiter.service.alone import OtherServers
from arbiter.service.background import Background
from arbiter.service.cut_off import CutOff, CutOffListener
from arbiter.service.gate.open_streams import OpenStreams
from arbiter.service.gate.readiness import Readiness
from arbiter.service.gate.use_cases import UseCases
from arbiter.service.matches.attendance import Attendance
from arbiter.service.matches.comment_keys import CommentKeys
from arbiter.service.matches.creating import Creation
from arbiter.service.matches.decisions import Decisions
from arbiter.service.matches.live import EndedMatches, LiveMatches
from arbiter.service.matches.live_match import AdoptionListener, FailureListener, MatchListener, MatchListeners
from arbiter.service.matches.match_registry import MatchRegistry
from arbiter.service.matches.reading import MatchReader
from arbiter.service.matches.recovery import Recovery
from arbiter.service.matches.revival import Revival, RevivalListener
from arbiter.service.matches.stall_detector import StallDetector
from arbiter.service.matches.transcripts import Transcripts
from arbiter.service.observing.feed import Feed
from arbiter.service.play.acts import PlayActs
from arbiter.service.play.catch_up import CatchUp, FirstItems
from arbiter.service.play.challenges import Challenges
from arbiter.service.play.connected_players import Connections
from arbiter.service.play.delivery import Delivery
from arbiter.service.play.move_lists import MoveLists
from arbiter.service.play.sessions import Sessions
from arbiter.service.players.accounts import Accounts, ShutOutListener
from arbiter.service.ports.directory import Directory
from arbiter.service.ports.environment import Environment
from arbiter.service.ports.journal import AppendThen, Journal
from arbiter.service.ports.meter import NO_METER
from arbiter.service.ports.notices import NoticeListener
from arbiter.service.ratings.rating_queries import Ratings
from arbiter.service.ratings.ruling_on_ratings import RatingRulings
from arbiter.service.sharing.following import Follower
from arbiter.service.sharing.following import Listener as LogListener
from arbiter.service.sharing.replica import Replica
from arbiter.service.tournaments.calls_to_bots import TournamentCalls
from arbiter.service.tournaments.capacity import Capacity
from arbiter.service.tournaments.deliveries import Deliveries
from arbiter.service.tournaments.live_log import Listener as TournamentListener
from arbiter.service.tournaments.series_tables import SeriesTables
from arbiter.service.tournaments.standings_cache import StandingsCache
from arbiter.service.tournaments.tournament_files import TournamentFiles
from arbiter.service.tournaments.tournament_ports import Dependencies
from arbiter.service.tournaments.tournament_registry import TournamentRegistry
from arbiter.service.tournaments.web_hooks import TournamentWebHooks


@dataclass(frozen=True)
class Arbiter(UseCases):
    """The use cases, wired together.

    match_listeners, log_listeners: are called in this order with durable events of matches, and with new records of a
    log that other servers write to as well. life: what is to be done at its start and its end.
    """

    match_listeners: list[MatchListener]
    log_listeners: list[LogListener]
    acts: PlayActs
    delivery: Delivery
    deliveries: Deliveries
    life: Life
    stalls: StallDetector

    @property
    def replica(self) -> Replica | None:
        """The heartbeat of this server, if it shares its store."""
        return self.life.replica

    @property
    def follower(self) -> Follower:
        """Who follows the log of a store that is shared."""
        assert self.replica is not None
        return self.replica.follower


@dataclass
class _Listeners:
    """Who hears of what: each list goes to the part that calls it, in this order, and `_subscribe` fills it."""

    matches: list[MatchListener] = field(default_factory=list)  #: durable events of matches
    failures: list[FailureListener] = field(default_factory=list)  #: matches that differ from the store
    adoptions: list[AdoptionListener] = field(default_factory=list)  #: matches that are live now as others stored them
    revivals: list[RevivalListener] = field(default_factory=list)  #: matches that are live again after a start
    tournaments: list[TournamentListener] = field(default_factory=list)  #: durable events of tournaments
    first_items: list[FirstItems] = field(default_factory=list)  #: Play streams that open
    shut_out: list[ShutOutListener] = field(default_factory=list)  #: players who are suspended, tokens that are revoked
    cut_off: list[CutOffListener] = field(default_factory=list)  #: this server can't reach the store any more
    cut_off_over: list[Callable[[], None]] = field(default_factory=list)  #: it can again
    log: list[LogListener] = field(default_factory=list)  #: new records of a log that other servers write to as well
    notices: list[NoticeListener] = field(default_factory=list)  #: notices of all servers


class _Parts:
    """What is used more than once: each property says what its part is built from, and builds it when it is first used.

    Raises Refusal for settings with which nothing could be played or rated.
    """

    def __init__(self, settings: Settings, world: World) -> None:
        self.settings, self.limits = settings, settings.limits
        self.world, self.clock = world, world.clock
        self.policy = _policy(settings)
        self.environment = Environment(world.clock, world.ids, settings.limits, self.policy)
        self.anchors = anchors.checked(settings.ratings.anchors.items())
        self.listeners = hear = _Listeners()
        self.stalls = StallDetector(self.limits.stall_ms)
        self.background = Background(100 if settings.has_page_alone else self.limits.background_percent)
        self.connections = Connections(self.clock)
        self.cut_off = CutOff(hear.cut_off, hear.cut_off_over)
        self.readiness = Readiness(self.cut_off)
        replicas = world.store.replicas
        self.beside: AloneParts | SharingParts = (
            SharingParts(world, replicas, self.connections, self.cut_off, settings, hear.log)
            if replicas is not None
            else AloneParts(world, self.cut_off)
        )
        self.journal: Journal = world.store.journal
        self.directory: Directory = self.beside.directory
        self.others: OtherServers = self.beside.others

    # -- players and matches -----------------------------------------------------------------------------------------

    @cached_property
    def accounts(self) -> Accounts:
        registration, shut_out = self.settings.registration, self.listeners.shut_out
        return Accounts(self.directory, self.world.ids, self.clock, registration, self.limits, shut_out)

    @cached_property
    def decisions(self) -> Decisions:
        logger, traces = log("arbiter.matches"), self.world.traces
        live = LiveMatches(CommentKeys(self.world.signer).of, self.connections, EndedMatches(), logger)
        append_then: AppendThen = self.beside.appends.append_then
        if traces is not None:
            append_then = traces.moves.traced(append_then)
        append_then = self.background.after_play(append_then)
        listeners = MatchListeners(self.listeners.matches, self.listeners.failures)
        return Decisions(append_then, self.clock, live, listeners, self.others, self.stalls, logger)

    @cached_property
    def attendance(self) -> Attendance:
        return Attendance(self.decisions, self.decisions.live, self.others, self.clock, log("arbiter.matches"))

    @cached_property
    def recovery(self) -> Recovery:
        adoptions = self.listeners.adoptions
        return Recovery(self.journal, self.decisions, self.attendance, adoptions, log("arbiter.matches"))

    @cached_property
    def reader(self) -> MatchReader:
        revivals, logger = self.listeners.revivals, log("arbiter.matches")
        revival = Revival(self.journal, self.decisions, self.attendance, self.others, revivals, logger)
        return MatchReader(self.journal, self.decisions.live, self.recovery, revival)

    @cached_property
    def matches(self) -> MatchRegistry:
        creation = Creation(
            self.journal, self.reader, self.decisions, self.attendance, self.recovery, self.others, self.environment
        )
        return MatchRegistry(
            self.reader, creation, self.decisions, self.attendance, self.recovery, self.others, self.clock
        )

    @cached_property
    def feed(self) -> Feed:
        return Feed(self.journal, self.limits, self.matches, self.others, self.background)

    # -- play --------------------------------------------------------------------------------------------------------

    @cached_property
    def catch_up(self) -> CatchUp:
        return CatchUp(self.matches, self.directory, self.listeners.first_items, self.others, self.limits)

    @cached_property
    def delivery(self) -> Delivery:
        credit_ms, late_ms = self.settings.credit.hand_over_most_ms, self.limits.stall_ms
        move_lists = MoveLists(self.world.turn_rules, self.limits, credit_ms, log("arbiter.sessions"))
        live = self.matches.live
        return Delivery(self.connections, live, self.attendance, self.catch_up, move_lists, self.clock, late_ms)

    @cached_property
    def sessions(self) -> Sessions:
        return Sessions(
            self.connections,
            self.matches,
            self.accounts,
            self.catch_up,
            self.delivery,
            self.others,
            self.environment,
        )

    @cached_property
    def challenges(self) -> Challenges:
        return Challenges(
            self.directory,
            self.accounts,
            self.matches,
            self.sessions,
            self.others,
            self.environment,
            log("arbiter.challenges"),
        )

    @cached_property
    def begun(self) -> Begun:
        return self.beside.live(self.matches, self.feed, self.sessions, self.delivery, self.listeners.notices)

    # -- ratings and tournaments -------------------------------------------------------------------------------------

    @cached_property
    def ratings(self) -> Ratings:
        return Ratings(self.journal, self.clock, self.world.rating, self.anchors, log("arbiter.ratings"))

    @cached_property
    def of_tournaments(self) -> Dependencies:
        return Dependencies(
            self.journal,
            self.beside.appends,
            self.world.store.snapshots,
            self.matches,
            self.feed,
            self.clock,
            Capacity(self.sessions, self.limits.tournament_games),
            self.world.pairing,
            self.ratings,
            self.policy,
            self.world.judges,
            self.others,
            log("arbiter.tournaments"),
        )

    @cached_property
    def tournaments(self) -> TournamentRegistry:
        return TournamentRegistry(self.of_tournaments, self.world.ids, self.limits, self.listeners.tournaments)

    @cached_property
    def tables(self) -> StandingsCache:
        return StandingsCache(log("arbiter.gate"), self.ratings)

    @cached_property
    def series(self) -> SeriesTables:
        return SeriesTables(self.journal, self.tournaments, self.tables, self.limits.series_tournaments)

    @cached_property
    def deliveries(self) -> Deliveries:
        settings = self.settings.web_hooks
        return Deliveries(self.of_tournaments, self.tournaments, self.directory, HttpSender(settings), settings)

    @cached_property
    def calls(self) -> TournamentCalls:
        return TournamentCalls(self.connections, self.tournaments, self.clock)

    # -- the gate ----------------------------------------------------------------------------------------------------

    @cached_property
    def streams(self) -> OpenStreams:
        return OpenStreams(self.accounts, self.limits, self.cut_off)


def _subscribe(parts: _Parts) -> None:
    """Fill the table of who hears of what: this is the order in which they are called."""
    hear, world = parts.listeners, parts.world
    counts = [world.metrics.listener(parts.clock)] if world.metrics is not None else []
    observers, delivery, tournaments = parts.feed.subscribers, parts.delivery, parts.tournaments
    hear.matches += (*parts.begun.match_listeners, *counts)
    hear.matches += (observers.match_changed, delivery.match_changed, tournaments.match_changed)
    hear.failures += (parts.recovery.append_failed,)
    hear.adoptions += (delivery.match_adopted,)
    hear.revivals += (tournaments.match_revived,)
    hear.tournaments += (parts.series.tournament_changed, parts.calls.tournament_changed)
    hear.tournaments += (parts.deliveries.tournament_changed,)
    hear.first_items += (parts.calls.first_items,)
    hear.shut_out += (parts.sessions.shut_out, parts.streams.shut_out)
    hear.cut_off += (parts.sessions.cut_all, parts.streams.end_all, parts.readiness.cut_off_changed)
    hear.cut_off_over += (parts.readiness.cut_off_changed,)
    hear.log += (*parts.begun.log_listeners, tournaments.log_grown, parts.series.log_grown)
    hear.log += (parts.deliveries.log_grown,)
    hear.notices += (parts.accounts.hear, parts.challenges.hear)


def wire(settings: Settings, world: World) -> Arbiter:
    """Wire up the use cases. Raises OperatorError for settings with which no match could be created."""
    try:
        parts = _Parts(settings, world)
    except Refusal as refusal:
        raise OperatorError(f"the configuration is wrong: {refusal.message}") from None
    _subscribe(parts)
    return Arbiter(
        policy=parts.policy,
        accounts=parts.accounts,
        matches=parts.matches,
        transcripts=Transcripts(parts.matches, world.signer),
        feed=parts.feed,
        sessions=parts.sessions,
        challenges=parts.challenges,
        tournaments=parts.tournaments,
        tournament_files=TournamentFiles(parts.journal, parts.tournaments, world.signer, parts.ratings),
        tables=parts.tables,
        series=parts.series,
        web_hooks=TournamentWebHooks(parts.deliveries, world.ids, world.clock),
        ratings=parts.ratings,
        rulings=RatingRulings(parts.journal, world.clock, world.signer, settings.limits.ruling_games),
        streams=parts.streams,
        readiness=parts.readiness,
        cut_off=parts.cut_off,
        background=parts.background,
        match_listeners=parts.listeners.matches,
        log_listeners=parts.listeners.log,
        acts=PlayActs(parts.matches, parts.delivery, world.clock, settings.limits, world.metrics or NO_METER),
        delivery=parts.delivery,
        deliveries=parts.deliveries,
        life=parts.begun.life,
        stalls=parts.stalls,
    )


def _policy(settings: Settings) -> Policy:
    matches = settings.matches
    time_control.parse(matches.time_control)
    said = matches.model_dump(exclude={"time_control"})
    return Policy(**said, credit=CreditRules(**settings.credit.model_dump()))
