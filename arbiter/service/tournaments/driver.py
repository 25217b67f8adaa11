"""One tournament, driven: what it is asked, what its matches tell, and what follows from it.

A room has one task, which takes all that waits for it (requests, ends of matches, proposals of the pairer), decides it,
and stores what came of it in one append. Only then is anybody told, and done what follows: pairs are drawn, matches
made. Whatever crashes in between, the log and the matches' request ids say how to go on, and nothing is done twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

import structlog

from arbiter.errors import Refusal
from arbiter.matches.events import Ended, Moved
from arbiter.matches.match import Match
from arbiter.matches.match import Phase as MatchPhase
from arbiter.service.matches.live import DRAINING
from arbiter.service.ports.journal import StoreFailed
from arbiter.service.record.published import Published
from arbiter.service.record.tournaments import StoredLog, maker
from arbiter.service.tournaments.judging import Judging
from arbiter.service.tournaments.log import Listener, TournamentLog
from arbiter.service.tournaments.matches import RETRY_S, abort, creation, occasion_of, report
from arbiter.service.tournaments.ports import Dependencies, PairingFailed
from arbiter.service.tournaments.trial import PairTest
from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments import formats
from arbiter.tournaments.meetings import Game
from arbiter.tournaments.tournament import Phase, Tournament

MOST_MAKING: Final = 32  #: matches that a tournament has made at the same time; more would wait for each other
LOOK_S: Final = 1.0  #: after which a running tournament looks around: players have come, or have room again
MOST_PATIENCE_S: Final = 60.0  #: before a game that was void again and again is played once more
RATED_EVERY_S: Final = 10.0  #: time between two looks at the strengths of a ladder's players


class _Waiting(NamedTuple):
    """A command that waits, and who waits for its answer."""

    command: do.Command
    answer: asyncio.Future[Refusal | None] | None = None

    def settle(self, answer: Exception | None) -> None:
        """Answer with a refusal, with nothing, or with an error of ours."""
        if self.answer is None or self.answer.done():
            return
        if answer is None or isinstance(answer, Refusal):
            self.answer.set_result(answer)
        else:
            self.answer.set_exception(answer)


class TournamentDriver:
    """A tournament and the task that drives it. `games`: those under way, by match."""

    def __init__(self, dependencies: Dependencies, log: StoredLog, told: Listener) -> None:
        self._dependencies = dependencies
        self._book = TournamentLog(dependencies.journal, dependencies.feed, dependencies.clock, log, told)
        self._inbox: list[_Waiting] = []
        self._wake = asyncio.Event()
        self._over = False
        self._making: set[int] = set()  # games whose match is being made
        self._tasks: set[asyncio.Task[None]] = set()
        self._cancels: list[_Waiting] = []  # decided once no game is under way
        self._finishing: set[str] = set()  # matches that are being ended
        self._hurry = asyncio.Event()  # set while the tournament is about to end: no further match is made
        self._pairing = False
        self._free_since: dict[str, int] = {}
        self._strengths: dict[str, formats.Strength] = {}
        self._shares = formats.Shares()
        self._rated_at = -RATED_EVERY_S
        self._pairer = formats.of(log.tournament.spec)
        plugin = log.tournament.spec.adjudication.plugin
        self._judging = Judging(dependencies.matches, dependencies.judges, plugin, maker(self.id))
        self._log = structlog.get_logger("arbiter.tournaments").bind(tournament=self._book.id)
        self._stand()

    def _stand(self) -> None:
        """Work out what follows from the newest state."""
        tournament = self._newest
        self.games = {running.match: number for number, running in tournament.running.items()}
        started = self._pairer.ends_by_test and bool(tournament.seeds)
        self._test = PairTest(tournament) if started else None

    @property
    def id(self) -> str:
        """The tournament's id."""
        return self._book.id

    @property
    def tournament(self) -> Tournament:
        """The tournament as far as it is durable."""
        return self._book.durable

    @property
    def _ended(self) -> bool:
        return self._newest.phase is Phase.ENDED

    @property
    def _newest(self) -> Tournament:
        return self._book.newest

    # -- from outside --------------------------------------------------------------------------------------------

    def open(self, ended: Callable[[TournamentDriver], None]) -> None:
        """Begin to drive; `ended` is called once the tournament is over and nothing of it is left."""
        self._spawn(self._run(ended))

    async def close(self) -> None:
        """Stop driving, wherever it is: the log says how to go on."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(self._judging.close(), *self._tasks, return_exceptions=True)
        for waiting in (*self._inbox, *self._cancels):
            waiting.settle(DRAINING)

    def ask(self, command: do.Command) -> asyncio.Future[Refusal | None]:
        """Have a command decided; the answer, a refusal or none, comes once what it did is durable."""
        answer: asyncio.Future[Refusal | None] = asyncio.get_running_loop().create_future()
        if self._over:
            answer.set_result(self._book.decide(command).refusal)
        else:
            self._inbox.append(_Waiting(command, answer))
            self.wake()
        return answer

    def wake(self) -> None:
        """Look around."""
        self._wake.set()

    def happened(self, match: Match, published: Sequence[Published]) -> None:
        """Take in what happened in a match of this tournament."""
        number = self.games.get(match.id)
        if number is None:
            return  # its making is not on record yet: then it is looked at
        for event in (each.event for each in published):
            if isinstance(event, Ended):
                self._tell(report(number, match))
            elif isinstance(event, Moved):
                self._judging.look(match)

    def expects(self, match: Match) -> bool:
        """Say whether a match of this tournament is under way for it, or about to be on record as that."""
        if self._ended:
            return False
        number, attempt = occasion_of(match)
        running = self._newest.running.get(number)
        if running is not None or number in self._newest.results:
            return running is not None and running.match == match.id
        return attempt == self._newest.attempts.get(number, 0) + 1

    # -- the task ------------------------------------------------------------------------------------------------

    async def _run(self, ended: Callable[[TournamentDriver], None]) -> None:
        self._spawn(self._look_at_all())
        while not self._ended:
            if await self._turn():
                self._follow()
            if not self._inbox and not self._ended:
                await self._rest()
        self._over = True
        for waiting in self._inbox:  # what came after the end
            waiting.settle(self._book.decide(waiting.command).refusal)
        rest = self._tasks - {asyncio.current_task()}
        await asyncio.gather(self._judging.close(), *rest, return_exceptions=True)
        self._dependencies.capacity.hold(self.id, 0)
        ended(self)

    async def _rest(self) -> None:
        """Wait until something happens, or is due."""
        timer = None
        due_s = self._due_s()
        if due_s is not None:
            timer = asyncio.get_running_loop().call_later(due_s, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            if timer is not None:
                timer.cancel()
        self._wake.clear()

    def _due_s(self) -> float | None:
        """Return in how many seconds the tournament has to look around, None if not before it is woken."""
        tournament, now = self._newest, self._dependencies.clock.now_ms()
        if tournament.phase is Phase.RUNNING:
            left_s = LOOK_S if tournament.ends_at is None else (tournament.ends_at - now) / 1000
            return min(left_s, LOOK_S) if left_s > 0 else LOOK_S
        starts = tournament.spec.schedule.start_ms
        if tournament.phase is Phase.ENTRY and starts:
            return (starts - now) / 1000 if starts > now else LOOK_S  # where players are missing it starts with them
        return None

    async def _turn(self) -> bool:
        """Decide all that waits, store what comes of it, and answer; return whether that went well."""
        self._cancels += [each for each in self._inbox if isinstance(each.command, do.Cancel)]
        waiting = [each for each in self._inbox if not isinstance(each.command, do.Cancel)]
        self._inbox = []
        failure: Exception | None = None
        refusals: list[Refusal | None] = []
        try:
            refusals += [self._decide(each.command) for each in waiting]
            if not (self._closing and (self._making or self._newest.running)):
                refusals += [self._decide(each.command) for each in self._cancels]
                waiting += self._cancels
                self._cancels = []
                self._decide(do.Tick())
                following = self._following()
                if following is not None and self._decide(following) is None:
                    self.wake()  # there may be more
            await self._book.store()
        except Exception as error:  # a store that fails, or a mistake of ours: either way the log is what counts
            failure = error
            self._log.error("tournament_failed", error=str(error), exc_info=not isinstance(error, StoreFailed))
            await self._read_again()
        for n, each in enumerate(waiting):
            each.settle(failure or refusals[n])
        return failure is None

    async def _read_again(self) -> None:
        await self._book.read_again()
        self._stand()
        self._spawn(self._look_at_all())  # what its matches have told is lost with what was in memory
        self.wake()

    def _decide(self, command: do.Command) -> Refusal | None:
        decision = self._book.decide(command)
        for event in decision.events:
            self._took(event)
        return decision.refusal

    def _took(self, event: ev.Event) -> None:
        tournament = self._newest
        if isinstance(event, ev.Begun):
            self.games[event.match] = event.game
        elif isinstance(event, ev.EndedGame | ev.Voided):
            self.games.pop(event.match, None)
        elif isinstance(event, ev.Started) and self._pairer.ends_by_test:
            self._test = PairTest(tournament)
        if isinstance(event, ev.EndedGame) and self._test is not None:
            self._test.update()

    # -- the end -------------------------------------------------------------------------------------------------

    @property
    def _closing(self) -> bool:
        """Whether the tournament is about to end: nothing begins any more, and it waits for the games under way.

        They are ended first, because one of them may have ended by itself while its tournament had not heard of it yet:
        its result counts. So the end is the last event of the log.
        """
        if self._newest.phase is not Phase.RUNNING:
            return bool(self._cancels)
        ends_at = self._newest.ends_at
        in_time = ends_at is None or self._dependencies.clock.now_ms() < ends_at
        return bool(self._cancels) or not in_time or (self._test is not None and bool(self._test.answer()))

    def _finish_games(self) -> None:
        """End the matches under way; what becomes of each is reported as at any other time."""
        for match_id, number in self.games.items():
            if match_id not in self._finishing:
                self._finishing.add(match_id)
                self._spawn(self._finish(match_id, number))

    async def _finish(self, match_id: str, number: int) -> None:
        try:
            await abort(self._dependencies.matches, match_id, self.id)
            await self._look_at(match_id, number)
        finally:
            self._finishing.discard(match_id)

    # -- what follows --------------------------------------------------------------------------------------------

    def _following(self) -> do.Command | None:
        """Return what the tournament asks of itself now: its test's answer, or a pairing that takes no time."""
        if self._newest.phase is not Phase.RUNNING:
            return None
        answer = self._test.answer() if self._test is not None else ""
        if answer:
            return do.Decide(answer)
        field = self._field()
        if self._pairing or self._pairer.heavy(self._newest, field):
            return None
        return self._pairer.propose(self._newest, field)

    def _follow(self) -> None:
        """Begin what takes longer: to pair apart, to make matches."""
        tournament = self._newest
        self._hold()
        if self._closing:
            self._hurry.set()
            self._finish_games()
            return
        self._hurry.clear()
        if tournament.phase is not Phase.RUNNING:
            return
        field = self._field()
        due = len(field.free) > 1 if self._pairer.pairs_whoever_is_free else tournament.all_decided()
        if due and not self._pairing and self._pairer.heavy(tournament, field):
            self._pairing = True
            self._spawn(self._pair(field))
        if self._pairer.pairs_by_strength:
            self._rate()
        for game in tournament.ready(self._making):
            if len(self._making) >= MOST_MAKING or self._dependencies.capacity.full:
                return  # the first that is made, or has ended, wakes this up
            players = {game.seat1, game.seat2}
            if all(map(self._dependencies.capacity.may_play, players)):
                self._making.add(game.number)
                self._hold()
                self._dependencies.capacity.take(players)
                self._spawn(self._make(game, tournament.attempts.get(game.number, 0) + 1))

    def _hold(self) -> None:
        self._dependencies.capacity.hold(self.id, len(self._making | self._newest.running.keys()))

    def _field(self) -> formats.Field:
        """Return who is free, where the format looks at that."""
        tournament, now = self._newest, self._dependencies.clock.now_ms()
        if not self._pairer.pairs_whoever_is_free:
            return formats.Field()
        busy, capacity = tournament.busy(), self._dependencies.capacity
        free = [player for player in tournament.players if player not in busy and capacity.is_free(player)]
        self._free_since = {player: self._free_since.get(player, now) for player in free}
        free.sort(key=self._free_since.__getitem__)
        present = [*free, *(player for player in busy if capacity.is_present(player))]
        sharing = self._pairer.sharing(tournament, present)
        games = {player: len(tournament.meetings_of.get(player, ())) for player in sharing}
        ahead = self._shares.ahead(sharing, games)
        return formats.Field(tuple(free), dict(self._free_since), self._strengths, now, ahead)

    async def _pair(self, field: formats.Field) -> None:
        try:
            proposal = await self._dependencies.pairing.propose(self._book.durable, field)
            if proposal is not None:
                await self.ask(proposal)
                self.wake()  # there may be more; it may have been overtaken
        except (PairingFailed, StoreFailed) as failure:
            self._log.error("not_paired", error=str(failure))
        finally:
            self._pairing = False  # from here on the next look around pairs again

    def _rate(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._rated_at >= RATED_EVERY_S:
            self._rated_at = now
            self._spawn(self._look_at_strengths())

    async def _look_at_strengths(self) -> None:
        try:
            self._strengths = dict(await self._dependencies.ratings.strengths(self._newest.spec.games))
        except Refusal as failure:
            self._log.warning("not_rated", error=str(failure))  # it pairs by what it knew before

    async def _make(self, game: Game, attempt: int) -> None:
        """Make the match of a game, and have it on record."""
        try:
            match = await self._match_of(game, attempt)
            if match is None:
                return
            while isinstance(await self.ask(do.Begin(game.number, attempt, match.id)), StoreFailed):
                pass
            if self.games.get(match.id) == game.number:
                await self._look_at(match.id, game.number)
            elif not self.expects(match):  # a player has withdrawn meanwhile, or the tournament is over
                await abort(self._dependencies.matches, match.id, self.id)
        except (Refusal, PairingFailed) as failure:
            self._log.warning("game_not_made", game=game.number, error=str(failure))
            await asyncio.sleep(RETRY_S)
        finally:
            self._making.discard(game.number)
            self.wake()

    async def _match_of(self, game: Game, attempt: int) -> Match | None:
        """Return the match of a game, made if need be; None if the tournament is about to end."""
        dependencies, openings = self._dependencies, self._newest.spec.openings
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), min(max(0, attempt - 2) * RETRY_S, MOST_PATIENCE_S))
            opening: tuple[str, ...] = ()
            if openings.plies or openings.lines:
                opening = await dependencies.pairing.opening(openings, game.game, game.meeting - 1)
            if self._hurry.is_set():
                return None
            return await dependencies.matches.create(
                creation(self._newest, game, attempt, dependencies.policy, opening)
            )
        finally:
            dependencies.capacity.release({game.seat1, game.seat2})

    async def _look_at_all(self) -> None:
        for match_id, number in list(self.games.items()):
            await self._look_at(match_id, number)

    async def _look_at(self, match_id: str, number: int) -> None:
        """Take in what has happened in a match while nobody listened."""
        while True:
            try:
                match = await self._dependencies.matches.match(match_id)
            except StoreFailed:
                await asyncio.sleep(RETRY_S)
                continue
            if match.phase is MatchPhase.ENDED:
                self._tell(report(number, match))
            else:
                self._judging.look(match)
            return

    def _tell(self, command: do.Command) -> None:
        """Have a command decided that nobody waits for."""
        self._inbox.append(_Waiting(command))
        self.wake()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._log.error("tournament_task_failed", exc_info=task.exception())
