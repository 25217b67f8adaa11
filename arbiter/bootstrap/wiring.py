"""The use cases with their dependencies, and the lists of listeners for events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import structlog

from arbiter.bootstrap.world import World
from arbiter.config import Settings
from arbiter.errors import OperatorError, Refusal
from arbiter.matches import time_control
from arbiter.matches.credit import CreditRules
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
from arbiter.service.play.membership import Membership
from arbiter.service.play.move_lists import MoveLists
from arbiter.service.play.replica import Replica
from arbiter.service.play.sessions import FirstItems, Sessions
from arbiter.service.players.accounts import Accounts
from arbiter.service.ports.directory import Directory
from arbiter.service.ports.journal import Journal
from arbiter.service.ports.meter import NO_METER
from arbiter.service.ratings.ratings import Ratings
from arbiter.service.record.announcing import AnnouncingDirectory, AnnouncingJournal
from arbiter.service.record.following import Follower
from arbiter.service.record.following import Listener as LogListener
from arbiter.service.record.news import News
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


def wire(settings: Settings, world: World) -> Arbiter:
    """Wire up the use cases. Raises OperatorError for settings with which no match could be created."""
    limits = settings.limits
    try:
        policy = _policy(settings)
        given = anchors.checked(settings.ratings.anchors.items())
    except Refusal as refusal:
        raise OperatorError(f"the configuration is wrong: {refusal.message}") from None
    journal, directory = world.store.journal, world.store.directory
    clock, pairing, judges, log = world.clock, world.pairing, world.judges, structlog.get_logger
    news = None
    if world.bus is not None:
        news = News(world.bus, clock, log("arbiter.bus"))
        directory = cast(Directory, AnnouncingDirectory(directory, news))
    # Listeners are called in this order. The lists are filled below, once all parts exist.
    match_listeners: list[MatchListener] = []
    adoption_listeners: list[AdoptionListener] = []
    revival_listeners: list[RevivalListener] = []
    log_listeners: list[LogListener] = []
    tournament_listeners: list[TournamentListener] = []
    first_items: list[FirstItems] = []

    follower = Follower(journal, log_listeners, log("arbiter.store"), limits.held_up_ms / 1_000, news)
    if world.store.shared:
        report = follower.stored if news is None else news.stored
        journal = cast(Journal, AnnouncingJournal(journal, follower, report))
    connections = Connections(clock)
    connections.is_outdated = follower.is_silent
    secret = CommentKeys(world.signer).of
    stalls = StallDetector(limits.held_up_ms)
    matches = MatchRegistry(
        world.traces.moves.journal(journal) if world.traces is not None else journal,
        clock,
        world.ids,
        limits,
        secret,
        connections,
        match_listeners,
        adoption_listeners,
        revival_listeners,
        world.store.shared,
        stalls,
        log("arbiter.matches"),
    )
    feed = Feed(journal, limits, matches, world.store.shared)
    accounts = Accounts(directory, world.ids, clock, settings.registration, limits)
    catch_up = CatchUp(matches, directory)
    move_lists = MoveLists(world.turn_rules, limits, settings.credit.hand_over_most_ms, log("arbiter.sessions"))
    delivery = Delivery(connections, matches.live, catch_up, move_lists, clock, limits.held_up_ms)
    acts = PlayActs(matches, delivery, clock, limits, world.metrics or NO_METER)
    cut_off = CutOff()
    replicas = world.store.replicas
    membership = None
    if replicas is not None:
        membership = Membership(replicas, world.ids, limits.server_silence_ms, delivery.hand_overs, cut_off, news)
    sessions = Sessions(
        connections,
        matches,
        accounts,
        directory,
        catch_up,
        delivery,
        first_items,
        membership,
        cut_off,
        follower.silence_s,
        clock,
        limits,
    )
    cut_off.when_begun.append(sessions.cut_all)
    challenges = Challenges(
        directory,
        accounts,
        matches,
        sessions,
        world.ids,
        clock,
        limits,
        policy,
        world.store.shared,
        log("arbiter.challenges"),
    )
    capacity = Capacity(sessions, limits.tournament_games)
    ratings = Ratings(journal, clock, world.rating, given, log("arbiter.ratings"))
    dependencies = Dependencies(
        journal,
        matches,
        feed,
        clock,
        capacity,
        pairing,
        ratings,
        policy,
        judges,
        world.store.shared,
        log("arbiter.tournaments"),
    )
    tournaments = TournamentRegistry(dependencies, world.ids, limits, tournament_listeners)
    calls = TournamentCalls(connections, tournaments, clock)

    if world.metrics is not None:
        count = world.metrics.listener(clock)
        match_listeners.append(_own(count, matches.live) if world.store.shared else count)
    if world.traces is not None and world.store.shared:
        match_listeners.append(world.traces.moves.match_changed)
    match_listeners += [feed.subscribers.match_changed, delivery.match_changed, tournaments.match_changed]
    adoption_listeners += [delivery.match_adopted]
    revival_listeners += [tournaments.match_revived]
    log_listeners += [matches.log_grown, feed.subscribers.log_grown, tournaments.log_grown]
    replica = None
    if membership is not None:
        hear = (accounts.hear, challenges.hear)
        replica_log = log("arbiter.replica")
        replica = Replica(membership, connections, sessions, matches, follower, directory, hear, replica_log, news)
        log_listeners.insert(0, replica.log_grown)
        if news is not None:
            news.on_stream_opened(lambda player: connections.of(player) is not None)
    tournament_listeners += [calls.tournament_changed]
    first_items += [calls.first_items]
    accounts.on_shut_out(sessions.shut_out)

    return Arbiter(
        matches=matches,
        match_listeners=match_listeners,
        feed=feed,
        accounts=accounts,
        sessions=sessions,
        acts=acts,
        delivery=delivery,
        challenges=challenges,
        transcripts=Transcripts(matches, world.signer),
        tournaments=tournaments,
        ratings=ratings,
        cut_off=cut_off,
        policy=policy,
        follower=follower,
        replica=replica,
        news=news,
        stalls=stalls,
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
