"""All calls that an API can pass on. An API reads a request, makes one call here, and writes the answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from arbiter.config import Settings
from arbiter.errors import Refusal
from arbiter.matches.policy import Policy
from arbiter.service.cut_off import CutOff
from arbiter.service.gate.addresses import Proxies
from arbiter.service.gate.admission import Admission, Call
from arbiter.service.gate.games import GameGate
from arbiter.service.gate.matches import MatchGate
from arbiter.service.gate.play import PlayGate
from arbiter.service.gate.players import PlayerGate
from arbiter.service.gate.ratings import RatingGate
from arbiter.service.gate.readiness import Readiness
from arbiter.service.gate.server import ServerGate
from arbiter.service.gate.streams import OpenStreams
from arbiter.service.gate.tournaments import TournamentGate
from arbiter.service.matches.registry import MatchRegistry
from arbiter.service.matches.transcripts import Transcripts
from arbiter.service.observing.feed import Feed
from arbiter.service.play.challenges import Challenges
from arbiter.service.play.sessions import Sessions
from arbiter.service.players.accounts import Accounts
from arbiter.service.ports.environment import Clock
from arbiter.service.ports.log import Logger
from arbiter.service.ports.rules import RulesWorker
from arbiter.service.ratings.ratings import Ratings
from arbiter.service.tournaments.registry import TournamentRegistry

Refusing = Callable[[Call], Awaitable[None]]
"""Waits until the caller of a call may hear that it is refused."""

Waiting = Callable[[], AbstractAsyncContextManager[None]]
"""Returns the context in which an API waits for the answer of a call that is no stream."""


class Gate:
    """The calls, by service. Rates and streams are counted over all APIs together.

    refusing: for an API that does not count requests itself: waits before it refuses a call. waiting: refuses a call
    that waits while this server is cut off from its store. readiness: whether the server is for clients.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        policy: Policy,
        clock: Clock,
        rules: RulesWorker,
        accounts: Accounts,
        matches: MatchRegistry,
        feed: Feed,
        sessions: Sessions,
        challenges: Challenges,
        transcripts: Transcripts,
        tournaments: TournamentRegistry,
        ratings: Ratings,
        cut_off: CutOff,
        log: Logger,
    ) -> None:
        limits = settings.limits
        admission = Admission(accounts, limits, cut_off, settings.reads_are_public, Proxies(settings.listen_proxies))
        self.waiting: Waiting = cut_off.waiting
        self.refusing: Refusing = admission.refused
        self.readiness = Readiness(cut_off)
        self.streams = streams = OpenStreams(accounts, limits, cut_off)
        self.server = ServerGate(settings, clock, transcripts)
        self.games = GameGate(admission, streams, matches, rules, limits)
        self.matches = MatchGate(
            admission,
            streams,
            matches,
            feed,
            accounts,
            sessions,
            transcripts,
            tournaments,
            clock,
            settings,
            policy,
        )
        self.play = PlayGate(admission, streams)
        self.players = PlayerGate(admission, accounts, challenges, sessions, clock, settings)
        self.tournaments = TournamentGate(admission, tournaments, accounts, ratings, limits, log)
        self.ratings = RatingGate(admission, streams, ratings, accounts, limits)

    def end_streams(self, refusal: Refusal) -> None:
        """End every open stream with a refusal, which says why."""
        self.streams.end_all(refusal)
