"""The use cases behind the gate."""

from __future__ import annotations

from dataclasses import dataclass

from arbiter.matches.policy import Policy
from arbiter.service.background import Background
from arbiter.service.cut_off import CutOff
from arbiter.service.gate.open_streams import OpenStreams
from arbiter.service.gate.readiness import Readiness
from arbiter.service.matches.match_registry import MatchRegistry
from arbiter.service.matches.transcripts import Transcripts
from arbiter.service.observing.feed import Feed
from arbiter.service.play.challenges import Challenges
from arbiter.service.play.sessions import Sessions
from arbiter.service.players.accounts import Accounts
from arbiter.service.ratings.rating_queries import Ratings
from arbiter.service.ratings.ruling_on_ratings import RatingRulings
from arbiter.service.tournaments.series_tables import SeriesTables
from arbiter.service.tournaments.standings_cache import StandingsCache
from arbiter.service.tournaments.tournament_files import TournamentFiles
from arbiter.service.tournaments.tournament_registry import TournamentRegistry
from arbiter.service.tournaments.web_hooks import TournamentWebHooks


@dataclass(frozen=True)
class UseCases:
    """What the calls of an API are passed on to.

    policy: of matches for which nobody has chosen another. cut_off: whether this server can't reach a store that it
    shares. readiness: whether the server is for clients. background: where what is not play takes its turns.
    """

    policy: Policy
    accounts: Accounts
    matches: MatchRegistry
    transcripts: Transcripts
    feed: Feed
    sessions: Sessions
    challenges: Challenges
    tournaments: TournamentRegistry
    tournament_files: TournamentFiles
    tables: StandingsCache
    series: SeriesTables
    web_hooks: TournamentWebHooks
    ratings: Ratings
    rulings: RatingRulings
    streams: OpenStreams
    readiness: Readiness
    cut_off: CutOff
    background: Background
