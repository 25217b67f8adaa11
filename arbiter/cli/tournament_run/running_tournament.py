"""One tournament of a run: created, entered, started and followed to its end, and resumed after a stop.

Every request has an id that is derived from the run's plan. A resumed run therefore sends the same requests again, and
the arbiter answers as it did before: nothing is created twice.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

import arbiter_client as arb

from arbiter.cli.tournament_bots import BotEntry
from arbiter.cli.tournament_run.bot_log import BotLog
from arbiter.cli.tournament_run.progress import EndedMatch, Progress
from arbiter.cli.tournament_run.run_processes import now_ms
from arbiter.cli.tournament_run.trial_line import TrialLine
from arbiter.cli.tournament_view import planned_games

MOST_LIVE: Final = 1_000  #: matches whose plies are looked at
SIDES: Final = 2  #: players of a trial
FAREWELL_S: Final = 2.0  #: timeout for pausing a tournament with a limited duration


class View(Protocol):
    """The interface that shows a run to a person. look_every_s: how often it wants to know the state."""

    look_every_s: float

    def note(self, text: str) -> None:
        """Show an important line."""

    def ended(self, played: EndedMatch, contest: RunningTournament) -> None:
        """Show that a match has ended while this process was running."""

    def found(self, statistics: str) -> None:
        """Show the statistics of a trial, a line."""

    def looked(self) -> None:
        """Show the state of the tournament, which is known anew."""


class TournamentState(NamedTuple):
    """The state of a tournament."""

    tournament: arb.Tournament
    standings: arb.Standings


class RunningTournament:
    """A tournament that is played. stand: its latest known state, or None. trial: its statistics, if it is a trial.

    key: the prefix of its request ids. filled: waits until all bots are connected, unless the tournament is over
    anyway.
    """

    def __init__(
        self,
        client: arb.Client,
        spec: arb.TournamentSpec,
        bots: Sequence[BotEntry],
        key: str,
        bot_logs: Mapping[str, BotLog],
        view: View,
        filled: Callable[[], Awaitable[None]],
    ) -> None:
        self.spec = spec
        self.progress = Progress(now_ms())
        self.stand: TournamentState | None = None
        self.refused = False  # the server has refused to create the tournament
        is_trial = spec.format is arb.TournamentFormat.TRIAL and len(bots) == SIDES
        self.trial = TrialLine(spec, (bots[0].name, bots[1].name)) if is_trial else None
        self._client = client
        self._bots = bots
        self._key = key
        self._bot_logs = bot_logs
        self._view = view
        self._filled = filled

    @property
    def planned(self) -> int | None:
        """The number of games that will be played, as far as it is known; None if play decides that."""
        if self.stand is None or self.stand.tournament.phase is arb.TournamentPhase.ENTRY:
            return None
        planned = planned_games(self.stand.tournament)
        return None if planned is None else max(planned, self.progress.paired)

    async def play(self) -> TournamentState:
        """Play until the tournament has ended. Raises ClientError.

        If this is cancelled, a tournament with a limited duration is paused, so that the interruption does not use up
        its time.
        """
        tournament_id = await self._create_and_start()
        await self._look(tournament_id)  # from the first line on, progress counts towards what is planned
        looking = asyncio.create_task(self._look_now_and_then(tournament_id))
        try:
            await self._follow(tournament_id)
            return await self._look(tournament_id)
        except asyncio.CancelledError:
            if self.stand is not None and self.stand.tournament.ends_ms:
                with contextlib.suppress(arb.ClientError, TimeoutError):
                    async with asyncio.timeout(FAREWELL_S):
                        await self._client.pause_tournament(tournament_id)
            raise
        finally:
            looking.cancel()
            await asyncio.wait({looking})

    async def _create_and_start(self) -> str:
        """Create the tournament and start it, unless that has been done before; return its id."""
        client, key = self._client, self._key
        try:
            found = await client.create_tournament(self.spec, f"{key}/create")
        except arb.ArbiterError:
            self.refused = True
            raise
        if found.phase is arb.TournamentPhase.ENTRY and self._may_enter_early():
            for bot in self._bots:
                await self._enter(found.tournament_id, bot, came=False)
        if found.phase is not arb.TournamentPhase.ENDED:
            await self._filled()
        if found.phase is arb.TournamentPhase.ENTRY:
            for bot in self._bots:
                await self._enter(found.tournament_id, bot, came=True)
            if not self.spec.schedule.start_ms:
                await client.start_tournament(found.tournament_id, f"{key}/start")
        elif found.phase is arb.TournamentPhase.PAUSED:
            await client.resume_tournament(found.tournament_id)
        return found.tournament_id

    def _may_enter_early(self) -> bool:
        """Return whether the bots are entered before they come: in the order of the file, whichever comes first.

        Not if their versions decide whether they may enter, since these are not known yet.
        """
        return not (self.spec.entry.versions or self.spec.entry.badge)

    async def _enter(self, tournament_id: str, bot: BotEntry, *, came: bool) -> None:
        """Enter a bot. Raises ClientError.

        One that has entered by itself is only given the rating of the file. If it was entered before it came, its
        version is noted once it has.
        """
        client, key = self._client, self._key
        try:
            there = await client.enter_tournament(
                tournament_id, bot.name, rating=bot.rating, team=bot.team, request_id=f"{key}/enter/{bot.name}"
            )
            if came and not there.version:
                await client.change_entry(
                    tournament_id, bot.name, byes=there.byes, request_id=f"{key}/version/{bot.name}"
                )
        except arb.ArbiterError as refusal:
            entrants = (await client.get_tournament(tournament_id)).entrants
            entered = next((each for each in entrants if each.player == bot.name and not each.withdrawn), None)
            if refusal.reason != "TOURNAMENT_CLOSED" or entered is None:
                raise
            if bot.rating not in (0, entered.rating):
                await client.change_entry(
                    tournament_id, bot.name, rating=bot.rating, request_id=f"{key}/rate/{bot.name}"
                )

    async def _follow(self, tournament_id: str) -> None:
        """Process the events of the tournament and its matches but for moves, from the first one to the last."""
        async for event in self._client.observe_tournament(tournament_id, "0", without_moves=True):
            played = self.progress.take(event)
            if played is not None and played.at_ms >= self.progress.began_ms:
                self._view.ended(played, self)
            if self.trial is not None and isinstance(event, arb.TournamentEvent):
                line = self.trial.take(event)
                if line and event.at_ms >= self.progress.began_ms:
                    self._view.found(line)
            if isinstance(event, arb.MatchEvent):
                self._pass_to_bot_logs(event)
            elif isinstance(event.what, arb.TournamentEnded):
                return

    def _pass_to_bot_logs(self, event: arb.MatchEvent) -> None:
        if isinstance(event.what, arb.MatchCreated):
            for player in set(event.what.players) & self._bot_logs.keys():
                self._bot_logs[player].begun(event.match_id, event.at_ms)
        elif isinstance(event.what, arb.Result):
            for bot_log in self._bot_logs.values():
                bot_log.ended(event.match_id, event.at_ms)

    async def _look_now_and_then(self, tournament_id: str) -> None:
        while True:
            await asyncio.sleep(self._view.look_every_s)
            with contextlib.suppress(arb.ClientError):  # the task that follows the events will see the same error
                await self._look(tournament_id)
                self._view.looked()

    async def _look(self, tournament_id: str) -> TournamentState:
        found = await self._client.get_tournament(tournament_id)
        self.stand = TournamentState(found, await self._client.get_standings(tournament_id))
        live = await self._client.list_matches(label=tournament_id, phase=arb.Phase.ACTIVE, most=MOST_LIVE)
        self.progress.looked({match.match_id: match.ply for match in live}, now_ms())
        return self.stand
