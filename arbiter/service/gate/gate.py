"""All calls that an API can pass on. An API reads a request, makes one call here, and writes the answer."""

from __future__ import annotations

from arbiter.config import Settings
from arbiter.service.gate.account_calls import AccountGate
from arbiter.service.gate.addresses import Proxies
from arbiter.service.gate.admission import Admission
from arbiter.service.gate.browser_calls import BrowserGate
from arbiter.service.gate.game_calls import GameGate
from arbiter.service.gate.match_calls import MatchGate
from arbiter.service.gate.play import PlayGate
from arbiter.service.gate.player_calls import PlayerGate
from arbiter.service.gate.rating_calls import RatingGate
from arbiter.service.gate.reports import ReportGate
from arbiter.service.gate.series_calls import SeriesGate
from arbiter.service.gate.server_calls import ServerGate
from arbiter.service.gate.tournament_calls import TournamentGate
from arbiter.service.gate.turns import turns_of
from arbiter.service.gate.use_cases import UseCases
from arbiter.service.gate.web_hook_calls import WebHookGate
from arbiter.service.ports.environment import Clock
from arbiter.service.ports.rules import EncodingRules


class Gate:
    """The calls, by service. Rates and streams are counted over all APIs together.

    turns: when an API may go on with a call. background: where what is not play takes its turns. readiness: whether the
    server is for clients.
    """

    def __init__(self, settings: Settings, clock: Clock, rules: EncodingRules, use_cases: UseCases) -> None:
        limits, cut_off, accounts = settings.limits, use_cases.cut_off, use_cases.accounts
        matches, sessions = use_cases.matches, use_cases.sessions
        admission = Admission(accounts, limits, cut_off, settings.reads_are_public, Proxies(settings.listen_proxies))
        self.background = use_cases.background
        self.streams = streams = use_cases.streams
        self.turns = turns_of(admission, streams, use_cases.background, cut_off.waiting)
        self.readiness = use_cases.readiness
        self.server = ServerGate(settings, clock, use_cases.transcripts)
        self.games = GameGate(admission, streams, matches, rules, limits)
        self.matches = MatchGate(admission, streams, use_cases, clock, settings)
        self.play = PlayGate(admission, streams, use_cases.background, limits)
        self.players = PlayerGate(
            admission, accounts, use_cases.challenges, sessions, use_cases.tournaments, clock, settings
        )
        self.accounts = AccountGate(admission, accounts, sessions, use_cases.tournaments)
        self.browsers = BrowserGate(admission, accounts, limits.session_ms)
        self.tournaments = TournamentGate(admission, streams, use_cases, limits)
        self.series = SeriesGate(admission, use_cases.series)
        self.reports = ReportGate(admission, use_cases.tournaments, accounts)
        self.web_hooks = WebHookGate(admission, use_cases.tournaments, use_cases.web_hooks)
        self.ratings = RatingGate(admission, streams, use_cases, limits)
