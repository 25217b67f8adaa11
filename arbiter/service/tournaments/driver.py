"""The driver of one tournament: it decides the tournament's commands, and creates its matches.

A driver has one task and a queue of commands: requests, ends of matches, proposals of the pairer. The task decides all
queued commands and stores their events in one append. Then it calls the listeners and starts the work that follows:
pairing (`pairings`), creating and ending matches (`matches_under_way`), and the next tournament of a series
(`next_in_series`). After a crash, the log and the request ids of the matches tell the next driver where to continue, so
nothing is done twice.

A server that has the page alone has drivers too, which follow the log and decide requests. They leave to the drivers of
the other servers what follows by itself: pairings, matches, results, the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from arbiter.errors import Reason, Refusal
from arbiter.service.matches.live import DRAINING
from arbiter.service.ports.journal import JournalConflict, StoreFailed
from arbiter.service.record.tournament_log import StoredLog
from arbiter.service.tasks import Tasks
from arbiter.service.tournaments.command_queue import CommandQueue, QueuedCommand
from arbiter.service.tournaments.game_matches import RETRY_S
from arbiter.service.tournaments.league_seasons import Tournaments
from arbiter.service.tournaments.live_log import Listener, TournamentLog
from arbiter.service.tournaments.matches_under_way import MatchesUnderWay
from arbiter.service.tournaments.next_in_series import Succession
from arbiter.service.tournaments.pairings import Pairings
from arbiter.service.tournaments.tournament_ports import Dependencies
from arbiter.service.tournaments.trial_decision import PairTest
from arbiter.service.tournaments.unpaired import why_unpaired
from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments import formats
from arbiter.tournaments.folding import old_games
from arbiter.tournaments.recalling import Recalled
from arbiter.tournaments.tournament import Tournament, TournamentPhase
from arbiter.tournaments.unpaired_reasons import Why

PAIRED_AT_ONCE: Final = 64  #: games that are paired, after which others get their turn: some milliseconds
LOOK_S: Final = 1.0  #: time between two checks of a running tournament: players may have come, or be free again
HAS_JUST_ENDED: Final = Refusal(
    Reason.TOURNAMENT_CLOSED, "the tournament has just ended: send the request again", phase="ended", why="it is over"
)
"""The answer to a ruling or correction that came with the end; the registry makes it then."""
NOT_PLACED: Final = Refusal(
    Reason.TOURNAMENT_CLOSED, "players have entered: send the request again", phase="entry", why="they have no division"
)
"""The answer to the start of a league's season while a player has no division."""
PLACINGS: Final = 10  #: how often players are placed for one request: others may enter each time


class TournamentDriver:
    """A tournament and the task that drives it. queue: its commands; matches: of its games."""

    def __init__(self, dependencies: Dependencies, log: StoredLog, listener: Listener, all_: Tournaments) -> None:
        self.queue = CommandQueue()
        self._dependencies = dependencies
        self._page_only = dependencies.others.page_only
        self._state = TournamentLog(dependencies, log, listener)
        self._log = dependencies.log.bind(tournament=self.id)
        self._tasks = Tasks(lambda error: self._log.error("tournament_task_failed", exc_info=error))
        self._aside: list[QueuedCommand] = []  # about old games of a ladder: decided once these are here
        self._recalled: Recalled | None = None
        self._recalling = False
        self._cancels: list[QueuedCommand] = []  # cancel commands: decided once no game is under way
        self._revision_elsewhere = 0  # the last revision in the log, by its follower
        self._pairer = formats.of(log.tournament.spec)
        self._succession = Succession(all_, dependencies, self.queue, self._tasks)
        self.matches = MatchesUnderWay(dependencies, self._state, self.queue, self._tasks)
        self._pairings = Pairings(dependencies, self._state, self.queue, self._tasks)
        self._begin_test()

    def _begin_test(self) -> None:
        """Begin the sequential test of a trial that has started, with the games that have ended."""
        started = self._pairer.ends_by_test and bool(self._newest.seeds)
        self._test = PairTest(self._newest) if started else None

    @property
    def id(self) -> str:
        """The tournament's id."""
        return self._state.id

    @property
    def tournament(self) -> Tournament:
        """The tournament in its durable state."""
        return self._state.durable

    @property
    def _ended(self) -> bool:
        return self._newest.phase is TournamentPhase.ENDED

    @property
    def _newest(self) -> Tournament:
        return self._state.newest

    # -- for the registry ----------------------------------------------------------------------------------------

    def start(self, ended: Callable[[TournamentDriver], None]) -> None:
        """Start the task. `ended` is called once the tournament has ended and nothing is left to do."""
        self._tasks.start(self._run(ended))

    async def close(self) -> None:
        """Stop the task at once. After the next start, the tournament continues from its log."""
        await self._tasks.cancel()
        await self.matches.close()
        self.queue.close(lambda _: DRAINING)
        for waiting in (*self._aside, *self._cancels):
            waiting.settle(DRAINING)

    async def request(self, command: do.Request) -> Refusal | None:
        """Prepare and decide a request; return its refusal, or None once its events are durable. Raises Refusal."""
        refusal: Refusal | None = None
        for _ in range(PLACINGS):
            await self._succession.prepare(self.tournament, command)
            refusal = await self.queue.submit(command)
            if refusal is not NOT_PLACED:
                break
        return refusal

    def log_grown(self, revision: int) -> None:
        """Note the last revision in the log. If another server wrote it, the task reads its events."""
        if revision > self.tournament.revision:
            self._revision_elsewhere = revision
            self.queue.wake()

    def why_unpaired(self, player: str) -> Why | None:
        """Return why a player has no game under way; see `arbiter.service.tournaments.unpaired`."""
        tournament, capacity = self.tournament, self._dependencies.capacity
        return why_unpaired(tournament, player, capacity, lambda: self._pairings.field(tournament))

    # -- the task ------------------------------------------------------------------------------------------------

    async def _run(self, ended: Callable[[TournamentDriver], None]) -> None:
        self._tasks.start(self.matches.check())
        while not self._ended:
            if await self._decide_queued():
                self._start_work()
            if self._state.snapshot_is_due() and not self._page_only:
                self._tasks.start(self._state.keep_snapshot())
            if not self.queue.waiting and not self._ended:
                await self.queue.wait(self._due_s())
        self.queue.close(self._after_the_end)
        await self.matches.close()
        await self._tasks.finish()
        self._dependencies.capacity.hold(self.id, 0)
        ended(self)

    def _after_the_end(self, command: do.Command) -> Refusal | None:
        """Return the answer to a command that came after the end: it changes nothing, or is for the registry."""
        return HAS_JUST_ENDED if isinstance(command, do.AfterTheEnd) else self._state.decide(command).refusal

    def _due_s(self) -> float | None:
        """Return the seconds until the next check of the tournament; None if it needs none before it is woken."""
        if self._page_only:
            return None
        tournament, now = self._newest, self._dependencies.clock.now_ms()
        if tournament.may_pair:
            left_s = LOOK_S if tournament.ends_at is None else (tournament.ends_at - now) / 1000
            return min(left_s, LOOK_S) if left_s > 0 else LOOK_S
        starts = tournament.spec.schedule.start_ms
        if tournament.phase is TournamentPhase.ENTRY and starts:
            return (starts - now) / 1000 if starts > now else LOOK_S  # overdue: players are missing
        return None

    async def _decide_queued(self) -> bool:
        """Decide all commands in the queue, store their events, and answer; return whether the events were stored.

        If another server wrote the next revision first, the commands go back into the queue and are decided again.
        """
        requested = any(isinstance(each.command, do.Request) for each in self.queue.waiting)
        asked = requested and self._dependencies.others.may_know_more
        if asked or self._revision_elsewhere > self.tournament.revision:  # do not refuse because of an old state
            await self._state.follow()
            self._begin_test()
        queued = self._without_aside()
        self._cancels += [each for each in queued if isinstance(each.command, do.Cancel)]
        waiting = [each for each in queued if not isinstance(each.command, do.Cancel)]
        failure: Exception | None = None
        refusals: list[Refusal | None] = []
        try:
            refusals += [self._decide(each.command) for each in waiting]
            now = self._dependencies.clock.now_ms()
            if not (self._closing(now) and (self.matches.making or self._newest.running)):
                refusals += [self._decide(each.command) for each in self._cancels]
                waiting += self._cancels
                self._cancels = []
                self._decide_due(now)
            await self._state.store()
        except JournalConflict as conflict:
            if await self._catch_up():
                self.queue.waiting[:0] = waiting
                return False
            failure = StoreFailed(f"it refused the next records of tournament {self.id}, although it has none of them")
            self._log.error("tournament_failed", error=str(conflict))
        except Exception as error:  # the store failed, or our code has an error: continue from the log
            failure = error
            self._log.error("tournament_failed", error=str(error), exc_info=not isinstance(error, StoreFailed))
            await self._read_again()
        for n, each in enumerate(waiting):
            each.settle(failure or refusals[n])
        return failure is None

    def _decide_due(self, now: int) -> None:
        """Decide what nobody has to ask for: the end of the tournament, and its next pairing."""
        if self._page_only:
            return
        if not self._succession.is_due(self._newest):
            self._decide(self._verdict() or do.Tick(), now)  # the verdict counts also after the last game
        began, games = self._newest.revision, len(self._newest.games)
        while len(self._newest.games) < games + PAIRED_AT_ONCE:
            known, following = self._newest.revision, self._pairings.at_once()
            if following is None or self._decide(following) is not None or self._newest.revision == known:
                break
        if self._newest.revision > began:
            self.queue.wake()  # more may follow

    async def _catch_up(self) -> bool:
        """Apply the events that another server has written; return whether there are any."""
        known = self._state.durable.revision
        await self._read_again(0)
        revision = self._state.durable.revision
        self._log.info("tournament_caught_up", known=known, revision=revision)
        return revision > known

    def _without_aside(self) -> list[QueuedCommand]:
        """Return the queued commands but those about old games of a ladder, which wait until these are here."""
        if self._recalled is not None:
            self._state.put_back(self._recalled)
            self._recalled = None
        others: list[QueuedCommand] = []
        for each in self.queue.take():
            (self._aside if old_games(self._newest, [each.command]) else others).append(each)
        if self._aside and not self._recalling:
            self._recalling = True
            self._tasks.start(self._recall())
        return others

    async def _recall(self) -> None:
        """Read the old games that commands are about, and let these commands be decided."""
        failure: Exception | None = None
        try:
            games = old_games(self._newest, [each.command for each in self._aside])
            self._recalled = await self._state.recall(games)
        except Exception as error:  # the store failed, or our code has an error: these commands get an answer
            failure = error
            self._log.error("tournament_failed", error=str(error), exc_info=not isinstance(error, StoreFailed))
        self._recalling = False
        waiting, self._aside = self._aside, []
        for each in waiting:
            if failure is not None:
                each.settle(failure)
            else:
                self.queue.add(*each)
        self.queue.wake()

    async def _read_again(self, pause_s: float = RETRY_S) -> None:
        await self._state.read_again(pause_s)
        self._begin_test()
        self._tasks.start(self.matches.check())  # queued ends of matches are lost
        self.queue.wake()

    def _decide(self, command: do.Command, at: int | None = None) -> Refusal | None:
        if isinstance(command, do.Start) and self._succession.lacks_places(self._newest):
            return NOT_PLACED
        decision = self._state.decide(command, at)
        for event in decision.events:
            if isinstance(event, ev.Started):
                self._begin_test()
            elif isinstance(event, ev.EndedGame) and self._test is not None:
                self._test.update()
        return decision.refusal

    # -- the end -------------------------------------------------------------------------------------------------

    def _closing(self, now: int) -> bool:
        """Return whether the tournament is about to end: no game begins any more, and those under way are ended first.

        A game may have ended by itself before its tournament was informed; then its result counts. So the end is the
        last event of the log.
        """
        is_running, ends_at = self._newest.phase is TournamentPhase.RUNNING, self._newest.ends_at
        is_late = is_running and ends_at is not None and now >= ends_at
        return bool(self._cancels) or is_late or self._verdict() is not None

    def _verdict(self) -> do.Decide | None:
        """Return the verdict of the trial's test, or None."""
        if self._test is None or self._newest.phase is not TournamentPhase.RUNNING:
            return None
        answer = self._test.answer()
        return do.Decide(answer, self._test.has_decided) if answer else None

    def _start_work(self) -> None:
        """Start what follows from the state: the next of a series, ends of matches, pairing, creating matches."""
        if self._page_only:
            self.matches.finish(self._newest.running if self._cancels else ())
            return
        self._succession.start_due(self.tournament)
        closing = self._closing(self._dependencies.clock.now_ms())
        self.matches.stop_due(closing=closing)
        if not closing and self._newest.may_pair:
            self._pairings.start_due()
            self.matches.start_due()
