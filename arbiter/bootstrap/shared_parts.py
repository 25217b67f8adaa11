"""The parts of a server that depend on whether it shares its store, built from the parts that every server has."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from structlog import get_logger as log

from arbiter.bootstrap.life import Life, LifeAlone, SharedLife
from arbiter.bootstrap.world import World
from arbiter.config import Settings
from arbiter.service.alone import Alone, OtherServers
from arbiter.service.cut_off import CutOff
from arbiter.service.matches.live_match import MatchListener
from arbiter.service.matches.match_registry import MatchRegistry
from arbiter.service.observing.feed import Feed
from arbiter.service.play.connected_players import Connections
from arbiter.service.play.delivery import Delivery
from arbiter.service.play.sessions import Sessions
from arbiter.service.ports.directory import Directory
from arbiter.service.ports.journal import Appends
from arbiter.service.ports.notices import NoticeListener
from arbiter.service.ports.replicas import Replicas
from arbiter.service.sharing.elsewhere import MatchesElsewhere
from arbiter.service.sharing.following import Follower
from arbiter.service.sharing.following import Listener as LogListener
from arbiter.service.sharing.membership import Membership
from arbiter.service.sharing.news import News
from arbiter.service.sharing.ordering import HeldBack, Ordering
from arbiter.service.sharing.replica import Replica
from arbiter.service.sharing.reporting import ReportingAppends, ReportingDirectory
from arbiter.service.sharing.shared_server import Sharing


class Begun(NamedTuple):
    """The life of a server, and who hears, before everybody else, of the events of matches, and of new records."""

    life: Life
    match_listeners: Sequence[MatchListener] = ()
    log_listeners: Sequence[LogListener] = ()


class AloneParts:
    """The parts of a server that has its store alone."""

    def __init__(self, world: World, cut_off: CutOff) -> None:
        self.appends: Appends = world.store.journal
        self.directory: Directory = world.store.directory
        self.others: OtherServers = Alone(cut_off)

    def live(
        self,
        matches: MatchRegistry,
        feed: Feed,
        sessions: Sessions,
        delivery: Delivery,
        notice_listeners: Sequence[NoticeListener],
    ) -> Begun:
        """Return the life of this server: nobody hears of others."""
        return Begun(LifeAlone(matches))


class SharingParts:
    """The parts of a server that shares its store. log_listeners: are called with new records of the log."""

    def __init__(
        self,
        world: World,
        replicas: Replicas,
        connections: Connections,
        cut_off: CutOff,
        settings: Settings,
        log_listeners: Sequence[LogListener],
    ) -> None:
        limits = settings.limits
        clock, store = world.clock, world.store
        self.world = world
        has_stream = connections.by_player.__contains__
        self.news = News(world.bus, clock, has_stream, log("arbiter.bus")) if world.bus is not None else None
        self.membership = Membership(
            replicas, world.ids, limits.server_silence_ms, cut_off, self.news, settings.has_page_alone
        )
        long_s, is_alone = limits.stall_ms / 1_000, self.membership.is_alone
        self.follower = Follower(store.journal, log_listeners, log("arbiter.store"), long_s, is_alone, self.news)
        report = self.follower.stored if self.news is None else self.news.stored
        self.appends: Appends = ReportingAppends(store.journal, self.follower, report)
        self.held_back = HeldBack(limits.observer_items)
        self.others = Sharing(
            store.journal, self.directory, connections, clock, self.membership, self.follower, self.held_back
        )

    @cached_property
    def directory(self) -> Directory:
        """The directory, whose notices are reported on the bus."""
        directory = self.world.store.directory
        if self.news is None:
            return directory
        return ReportingDirectory(directory, self.news)

    def live(
        self,
        matches: MatchRegistry,
        feed: Feed,
        sessions: Sessions,
        delivery: Delivery,
        notice_listeners: Sequence[NoticeListener],
    ) -> Begun:
        """Return the life of this server, and who hears of the others."""
        logger = log("arbiter.replica")
        replica = Replica(self.others, sessions, delivery, matches, self.directory, notice_listeners, logger)
        elsewhere = MatchesElsewhere(matches.decisions, matches.attendance, matches.recovery)
        ordering = Ordering(self.held_back, feed.subscribers, matches.live)
        traced = [self.world.traces.moves.match_changed] if self.world.traces is not None else []
        return Begun(
            SharedLife(replica, matches, self.world),
            [elsewhere.match_changed, *traced],
            [replica.log_grown, elsewhere.log_grown, ordering.log_grown],
        )
