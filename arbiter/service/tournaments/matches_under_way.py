"""The matches of one tournament: created once its games can begin, watched, and ended if it does not wait for them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Final

from arbiter.errors import Refusal
from arbiter.games import registry
from arbiter.matches.events import Ended, Moved
from arbiter.matches.match import Match, Phase
from arbiter.service.ports.journal import StoreDamaged, StoreFailed
from arbiter.service.record.published import Published
from arbiter.service.record.tournament_log import maker
from arbiter.service.tasks import Tasks
from arbiter.service.tournaments.command_queue import CommandQueue
from arbiter.service.tournaments.external_adjudication import ExternalAdjudication, judges_of
from arbiter.service.tournaments.game_matches import DAMAGED, RETRY_S, abort, creation, occasion_of, report
from arbiter.service.tournaments.live_log import TournamentLog
from arbiter.service.tournaments.tournament_ports import Dependencies, PairingFailed
from arbiter.tournaments import commands as do
from arbiter.tournaments import formats
from arbiter.tournaments.book_order import Opening
from arbiter.tournaments.meetings import ScheduledGame
from arbiter.tournaments.tournament import TournamentPhase

MOST_MAKING: Final = 32  #: matches that a tournament creates at the same time; more would wait for each other
MOST_PATIENCE_S: Final = 60.0  #: longest pause before a game is played again that was void several times


class MatchesUnderWay:
    """The matches of a tournament. Their begins and ends go into the queue.

    making: the numbers of the games whose match is being created.
    """

    def __init__(self, dependencies: Dependencies, state: TournamentLog, queue: CommandQueue, tasks: Tasks) -> None:
        spec = state.newest.spec
        self.making: set[int] = set()
        self._finishing: set[str] = set()  # matches that are being ended
        self._hurry = asyncio.Event()  # set while the tournament is about to end: no match is created then
        self._dependencies = dependencies
        self._state = state
        self._queue = queue
        self._tasks = tasks
        self._log = dependencies.log.bind(tournament=state.id)
        judges = judges_of(spec.adjudication, dependencies.judges)
        self._judging = ExternalAdjudication(dependencies.matches, judges, maker(state.id), dependencies.log)
        self._waiting_for_rules = frozenset(game for game in spec.games if not registry.installed(game))
        for game in sorted(self._waiting_for_rules):
            self._log.warning("tournament_waits_for_rules", game=game)

    def changed(self, match: Match, published: Sequence[Published]) -> None:
        """Report the end of a match, and ask judges about its moves."""
        number = occasion_of(match).game
        if self._dependencies.others.page_only or not self._is_under_way(number, match.id):
            return  # its start is not in the log yet; once it is, the match is checked
        for event in (each.event for each in published):
            if isinstance(event, Ended):
                self._queue.add(report(number, match))
            elif isinstance(event, Moved):
                self._judging.look(match)

    def expects(self, match: Match) -> bool:
        """Return whether a match belongs to a game under way, or is about to be recorded as one."""
        tournament = self._state.newest
        if tournament.phase is TournamentPhase.ENDED:
            return False
        number, attempt = occasion_of(match)
        if number in tournament.running or tournament.has_result(number):
            return self._is_under_way(number, match.id)
        if tournament.is_stranded(tournament.games[number - 1]):
            return False
        return attempt == tournament.attempts.get(number, 0) + 1

    async def check(self) -> None:
        """Report ends of matches that came before their events reached this server, and ask judges about the others."""
        if not self._dependencies.others.page_only:
            for number, running in list(self._state.newest.running.items()):
                await self._check(running.match, number)

    def finish(self, numbers: Collection[int]) -> None:
        """End the matches of some games under way. Their ends are reported like all others."""
        for number in numbers:
            match_id = self._state.newest.running[number].match
            if match_id not in self._finishing:
                self._finishing.add(match_id)
                self._tasks.start(self._finish(match_id, number))

    def stop_due(self, *, closing: bool) -> None:
        """End the matches that end now. closing: all of them, and until the next call none is created."""
        tournament = self._state.newest
        self._hold()
        if closing:
            self._hurry.set()
        else:
            self._hurry.clear()
        self.finish(tournament.running if closing else tournament.to_stop())

    def start_due(self) -> None:
        """Create the matches of games that can begin, as far as their players and the server accept them."""
        tournament, capacity = self._state.newest, self._dependencies.capacity
        for game in tournament.ready(self.making):
            if game.game in self._waiting_for_rules:
                continue
            if len(self.making) >= MOST_MAKING or capacity.full:
                return  # the next match that is created or ends wakes the task
            players = {game.seat1, game.seat2}
            if all(map(capacity.may_play, players)):
                self.making.add(game.number)
                self._hold()
                capacity.take(players)
                self._tasks.start(self._make(game, tournament.attempts.get(game.number, 0) + 1))

    async def close(self) -> None:
        """Cancel all requests to judges."""
        await self._judging.close()

    def _is_under_way(self, number: int, match_id: str) -> bool:
        running = self._state.newest.running.get(number)
        return running is not None and running.match == match_id

    def _hold(self) -> None:
        self._dependencies.capacity.hold(self._state.id, len(self.making | self._state.newest.running.keys()))

    async def _make(self, game: ScheduledGame, attempt: int) -> None:
        """Create the match of a game, and record it in the log."""
        try:
            made = await self._match_of(game, attempt)
            if made is None:
                return
            match, opening = made
            begin = do.Begin(game.number, attempt, match.id, opening.moves, opening.position, opening.number)
            while isinstance(await self._queue.submit(begin), StoreFailed):
                pass
            if self._is_under_way(game.number, match.id):
                await self._check(match.id, game.number)
            elif not self.expects(match):  # a player has withdrawn meanwhile, or the tournament has ended
                await abort(self._dependencies.matches, match.id, self._state.id)
        except (Refusal, PairingFailed) as failure:
            self._log.warning("game_not_made", game=game.number, error=str(failure))
            await asyncio.sleep(RETRY_S)
        finally:
            self.making.discard(game.number)
            self._queue.wake()

    async def _match_of(self, game: ScheduledGame, attempt: int) -> tuple[Match, Opening] | None:
        """Return the match of a game, created if needed, and how it begins; None if the tournament is about to end."""
        dependencies, openings = self._dependencies, self._state.newest.spec.openings
        try:
            pause_s = min(max(0, attempt - 2) * RETRY_S, MOST_PATIENCE_S)
            if pause_s:
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause_s):  # `wait_for` of Python 3.11 may swallow a cancellation
                        await self._hurry.wait()
            opening = Opening()
            if openings.seed or openings.lines or openings.book:
                turn = formats.of(self._state.newest.spec).turn(self._state.newest, game.meeting)
                opening = await dependencies.pairing.opening(openings, game.game, turn)
            if self._hurry.is_set():
                return None
            match = await dependencies.matches.create(
                creation(self._state.newest, game, attempt, dependencies.policy, opening),
                dependencies.capacity.accepted({game.seat1, game.seat2}),
            )
            return match, opening
        finally:
            dependencies.capacity.release({game.seat1, game.seat2})

    async def _finish(self, match_id: str, number: int) -> None:
        try:
            await abort(self._dependencies.matches, match_id, self._state.id)
            await self._check(match_id, number)
        finally:
            self._finishing.discard(match_id)

    async def _check(self, match_id: str, number: int) -> None:
        """Queue the end of a match, in case it ended before its events reached this driver."""
        while True:
            try:
                match = await self._dependencies.matches.match(match_id)
            except StoreDamaged as damage:  # the match can't continue, and its result is unknown: the game is replayed
                self._log.error("match_set_aside", game=number, match=match_id, error=damage.why)
                self._queue.add(do.ReportResult(number, match_id, None, DAMAGED, ""))
                return
            except StoreFailed:
                await asyncio.sleep(RETRY_S)
                continue
            if match.phase is Phase.ENDED:
                self._queue.add(report(number, match))
            else:
                self._judging.look(match)
            return
