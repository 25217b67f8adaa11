"""The driver of one tournament: it decides the tournament's commands, and creates its matches.

A driver has one task and a queue of commands: requests, ends of matches, proposals of the pairer. The task decides all
queued commands and stores their events in one append. Then it calls the listeners and starts the work that follows:
pairing, and creating matches. After a crash, the log and the request ids of the matches tell the next driver where to
continue, so nothing is done twice.

A server that has the page alone has drivers too, which follow the log and decide requests. They leave to the drivers of
the other servers what follows by itself: pairings, matches, results, the end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Sequence
from contextlib import suppress
from typing import Any, Final

from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.matches.events import Ended, Moved
from arbiter.matches.match import Match
from arbiter.matches.match import Phase as MatchPhase
from arbiter.service.matches.live import DRAINING
from arbiter.service.ports.journal import JournalConflict, StoreDamaged, StoreFailed
from arbiter.service.record.published import Published
from arbiter.service.record.tournament_log import StoredLog, maker
from arbiter.service.tournaments.external_adjudication import ExternalAdjudication, judges_of
from arbiter.service.tournaments.game_matches import DAMAGED, RETRY_S, abort, creation, occasion_of, report
from arbiter.service.tournaments.league_seasons import Tournaments
from arbiter.service.tournaments.live_log import Listener, TournamentLog
from arbiter.service.tournaments.next_in_series import Succession
from arbiter.service.tournaments.pairing_input import PairingInput
from arbiter.service.tournaments.queued_command import QueuedCommand
from arbiter.service.tournaments.tournament_ports import Dependencies, PairingFailed
from arbiter.service.tournaments.trial_decision import PairTest
from arbiter.service.tournaments.unpaired import why_unpaired
from arbiter.tournaments import commands as do
from arbiter.tournaments import engine, formats
from arbiter.tournaments import events as ev
from arbiter.tournaments.book_order import Opening
from arbiter.tournaments.folding import old_games
from arbiter.tournaments.meetings import ScheduledGame
from arbiter.tournaments.recalling import Recalled
from arbiter.tournaments.tournament import Tournament, TournamentPhase
from arbiter.tournaments.unpaired_reasons import Why

PAIRED_AT_ONCE: Final = 64  #: games that are paired, after which others get their turn: some milliseconds
MOST_MAKING: Final = 32  #: matches that a tournament creates at the same time; more would wait for each other
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
MOST_PATIENCE_S: Final = 60.0  #: longest pause before a game is played again that was void several times


class TournamentDriver:
    """A tournament and the task that drives it. games: the numbers of the games under way, by match."""

    def __init__(self, dependencies: Dependencies, log: StoredLog, listener: Listener, all_: Tournaments) -> None:
        self._page_only = dependencies.others.page_only
        self._succession = Succession(all_, dependencies.journal, dependencies.clock)
        self._succeeding = False  # the next tournament of the series is being made
        self._dependencies = dependencies
        self._state = TournamentLog(dependencies, log, listener)
        self._queue: list[QueuedCommand] = []
        self._wake = asyncio.Event()
        self._over = False
        self._making: set[int] = set()  # games whose match is being created
        self._tasks: set[asyncio.Task[None]] = set()
        self._aside: list[QueuedCommand] = []  # about old games of a ladder: decided once these are here
        self._recalled: Recalled | None = None
        self._recalling = False
        self._cancels: list[QueuedCommand] = []  # cancel commands: decided once no game is under way
        self._finishing: set[str] = set()  # matches that are being ended
        self._hurry = asyncio.Event()  # set while the tournament is about to end: no match is created then
        self._pairing = False
        self._revision_elsewhere = 0  # the last revision in the log, by its follower
        self._pairer = formats.of(log.tournament.spec)
        judges = judges_of(log.tournament.spec.adjudication, dependencies.judges)
        self._judging = ExternalAdjudication(dependencies.matches, judges, maker(self.id), dependencies.log)
        self._log = dependencies.log.bind(tournament=self._state.id)
        self._waiting_for_rules = frozenset(game for game in log.tournament.spec.games if not registry.installed(game))
        for game in sorted(self._waiting_for_rules):
            self._log.warning("tournament_waits_for_rules", game=game)
        self._pairing_input = PairingInput(self._pairer, dependencies, self._log)
        self._rebuild()

    def _rebuild(self) -> None:
        """Compute all values that are derived from the newest state."""
        tournament = self._newest
        self.games = {running.match: number for number, running in tournament.running.items()}
        started = self._pairer.ends_by_test and bool(tournament.seeds)
        self._test = PairTest(tournament) if started else None

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
        self._spawn(self._run(ended))

    async def close(self) -> None:
        """Stop the task at once. After the next start, the tournament continues from its log."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(self._judging.close(), *self._tasks, return_exceptions=True)
        for waiting in (*self._queue, *self._aside, *self._cancels):
            waiting.settle(DRAINING)

    async def request(self, command: do.Request) -> Refusal | None:
        """Prepare and decide a request; return its refusal, or None once its events are durable. Raises Refusal."""
        refusal: Refusal | None = None
        for _ in range(PLACINGS):
            await self._prepare(command)
            refusal = await self.submit(command)
            if refusal is not NOT_PLACED:
                break
        return refusal

    def submit(self, command: do.Command) -> asyncio.Future[Refusal | None]:
        """Queue a command. The future gets a refusal, or None once the command's events are durable."""
        answer: asyncio.Future[Refusal | None] = asyncio.get_running_loop().create_future()
        if self._over:
            answer.set_result(self._after_the_end(command))
        else:
            self._queue.append(QueuedCommand(command, answer))
            self.wake()
        return answer

    def wake(self) -> None:
        """Make the task check the tournament now."""
        self._wake.set()

    def log_grown(self, revision: int) -> None:
        """Note the last revision in the log. If another server wrote it, the task reads its events."""
        if revision > self.tournament.revision:
            self._revision_elsewhere = revision
            self.wake()

    def match_changed(self, match: Match, published: Sequence[Published]) -> None:
        """Queue the commands that follow from a match's events, and ask judges about its moves."""
        number = self.games.get(match.id)
        if number is None or self._page_only:
            return  # its start is not in the log yet; once it is, the match is checked
        for event in (each.event for each in published):
            if isinstance(event, Ended):
                self._enqueue(report(number, match))
            elif isinstance(event, Moved):
                self._judging.look(match)

    def why_unpaired(self, player: str) -> Why | None:
        """Return why a player has no game under way; see `arbiter.service.tournaments.unpaired`."""
        tournament, capacity = self.tournament, self._dependencies.capacity
        return why_unpaired(tournament, player, capacity, lambda: self._pairing_input.now(tournament))

    def expects(self, match: Match) -> bool:
        """Return whether a match belongs to a game under way, or is about to be recorded as one."""
        if self._ended:
            return False
        number, attempt = occasion_of(match)
        running = self._newest.running.get(number)
        if running is not None or self._newest.has_result(number):
            return running is not None and running.match == match.id
        if self._newest.is_stranded(self._newest.games[number - 1]):
            return False
        return attempt == self._newest.attempts.get(number, 0) + 1

    # -- the task ------------------------------------------------------------------------------------------------

    async def _run(self, ended: Callable[[TournamentDriver], None]) -> None:
        self._spawn(self._check_matches())
        while not self._ended:
            if await self._decide_queued():
                self._start_work()
            if self._state.snapshot_is_due() and not self._page_only:
                self._spawn(self._state.keep_snapshot())
            if not self._queue and not self._ended:
                await self._wait()
        self._over = True
        for waiting in self._queue:  # commands that came after the end
            waiting.settle(self._after_the_end(waiting.command))
        rest = self._tasks - {asyncio.current_task()}
        await asyncio.gather(self._judging.close(), *rest, return_exceptions=True)
        self._dependencies.capacity.hold(self.id, 0)
        ended(self)

    def _after_the_end(self, command: do.Command) -> Refusal | None:
        """Return the answer to a command that came after the end: it changes nothing, or is for the registry."""
        return HAS_JUST_ENDED if isinstance(command, do.AfterTheEnd) else self._state.decide(command).refusal

    async def _wait(self) -> None:
        """Wait until a command is queued, or the next check is due."""
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
        requested = any(isinstance(each.command, do.Request) for each in self._queue)
        asked = requested and self._dependencies.others.may_know_more
        if asked or self._revision_elsewhere > self.tournament.revision:  # do not refuse because of an old state
            await self._follow()
        self._set_aside()
        self._cancels += [each for each in self._queue if isinstance(each.command, do.Cancel)]
        waiting = [each for each in self._queue if not isinstance(each.command, do.Cancel)]
        self._queue = []
        failure: Exception | None = None
        refusals: list[Refusal | None] = []
        try:
            refusals += [self._decide(each.command) for each in waiting]
            now = self._dependencies.clock.now_ms()
            if not (self._closing(now) and (self._making or self._newest.running)):
                refusals += [self._decide(each.command) for each in self._cancels]
                waiting += self._cancels
                self._cancels = []
                self._decide_due(now)
            await self._state.store()
        except JournalConflict as conflict:
            if await self._catch_up():
                self._queue = [*waiting, *self._queue]
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
            known, following = self._newest.revision, self._next_command()
            if following is None or self._decide(following) is not None or self._newest.revision == known:
                break
        if self._newest.revision > began:
            self.wake()  # more may follow

    async def _catch_up(self) -> bool:
        """Apply the events that another server has written; return whether there are any."""
        known = self._state.durable.revision
        await self._read_again(0)
        revision = self._state.durable.revision
        self._log.info("tournament_caught_up", known=known, revision=revision)
        return revision > known

    async def _follow(self) -> None:
        """Apply the events that another server has written. Every event that was decided here is stored."""
        await self._state.follow()
        self._rebuild()

    def _set_aside(self) -> None:
        """Have commands about old games of a ladder wait until these games are here. Play goes on."""
        if self._recalled is not None:
            self._state.put_back(self._recalled)
            self._recalled = None
        waiting, self._queue = self._queue, []
        for each in waiting:
            (self._aside if old_games(self._newest, [each.command]) else self._queue).append(each)
        if self._aside and not self._recalling:
            self._recalling = True
            self._spawn(self._recall())

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
            if failure is not None or self._over:
                each.settle(failure or self._after_the_end(each.command))
            else:
                self._queue.append(each)
        self.wake()

    async def _read_again(self, pause_s: float = RETRY_S) -> None:
        await self._state.read_again(pause_s)
        self._rebuild()
        self._spawn(self._check_matches())  # queued ends of matches are lost
        self.wake()

    def _decide(self, command: do.Command, at: int | None = None) -> Refusal | None:
        if isinstance(command, do.Start) and self._succession.lacks_places(self._newest):
            return NOT_PLACED
        decision = self._state.decide(command, at)
        for event in decision.events:
            self._note_event(event)
        return decision.refusal

    def _note_event(self, event: ev.Event) -> None:
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

    def _closing(self, now: int) -> bool:
        """Return whether the tournament is about to end: no game begins any more, and those under way are ended first.

        A game may have ended by itself before its tournament was informed; then its result counts. So the end is the
        last event of the log.
        """
        if self._newest.phase is not TournamentPhase.RUNNING:
            return bool(self._cancels)
        ends_at = self._newest.ends_at
        in_time = ends_at is None or now < ends_at
        return bool(self._cancels) or not in_time or (self._test is not None and bool(self._test.answer()))

    def _finish_games(self, numbers: Collection[int]) -> None:
        """End the matches of some games under way. Their ends are reported like all others."""
        for match_id, number in self.games.items() if numbers else ():
            if number in numbers and match_id not in self._finishing:
                self._finishing.add(match_id)
                self._spawn(self._finish(match_id, number))

    async def _finish(self, match_id: str, number: int) -> None:
        try:
            await abort(self._dependencies.matches, match_id, self.id)
            await self._check_match(match_id, number)
        finally:
            self._finishing.discard(match_id)

    # -- pairing and creating matches ----------------------------------------------------------------------------

    def _verdict(self) -> do.Decide | None:
        """Return the verdict of the trial's test, or None."""
        if self._test is None or self._newest.phase is not TournamentPhase.RUNNING:
            return None
        answer = self._test.answer()
        return do.Decide(answer, self._test.has_decided) if answer else None

    def _next_command(self) -> do.Command | None:
        """Return the pairing that follows from the state, if it takes no time to make; else None."""
        if not self._newest.may_pair:
            return None
        field = self._pairing_input.now(self._newest)
        if self._pairing or self._pairer.heavy(self._newest, field):
            return None
        return self._pairer.propose(self._newest, field)

    def _start_work(self) -> None:
        """Start the tasks that follow from the state: pairing in another process, creating matches."""
        tournament = self._newest
        if self._page_only:
            self._finish_games(tournament.running if self._cancels else ())
            return
        if self._succession.is_due(tournament) and not self._succeeding:
            self._succeeding = True
            self._spawn(self._succeed())
        self._hold()
        if self._closing(self._dependencies.clock.now_ms()):
            self._hurry.set()
            self._finish_games(tournament.running)
            return
        self._hurry.clear()
        self._finish_games(tournament.to_stop())
        if not tournament.may_pair:
            return
        field = self._pairing_input.now(self._newest)
        due = len(field.free) > 1 if self._pairer.pairs_whoever_is_free else tournament.all_decided()
        if due and not self._pairing and self._pairer.heavy(tournament, field):
            self._pairing = True
            self._spawn(self._pair(field))
        if self._pairing_input.rating_is_due():
            self._spawn(self._pairing_input.rate(self._newest))
        for game in tournament.ready(self._making):
            if game.game in self._waiting_for_rules:
                continue
            if len(self._making) >= MOST_MAKING or self._dependencies.capacity.full:
                return  # the next match that is created or ends wakes the task
            players = {game.seat1, game.seat2}
            if all(map(self._dependencies.capacity.may_play, players)):
                self._making.add(game.number)
                self._hold()
                self._dependencies.capacity.take(players)
                self._spawn(self._make(game, tournament.attempts.get(game.number, 0) + 1))

    async def _prepare(self, command: do.Request) -> None:
        """Make the next tournament of a series, before this one starts, or is left out of it. Raises Refusal."""
        if self.tournament.phase is not TournamentPhase.ENTRY:
            return
        if isinstance(command, do.Start):
            await self._succession.place(self.tournament)
        starts = isinstance(command, do.Start) and not engine.too_few(self.tournament)
        is_left_out = isinstance(command, do.Cancel) and command.series_goes_on
        if starts or is_left_out:
            await self._succession.make(self.tournament)

    async def _succeed(self) -> None:
        try:
            await self._succession.place(self.tournament)
            await self._succession.make(self.tournament)
        except Refusal as failure:
            self._log.warning("next_not_made", error=str(failure))
            await asyncio.sleep(RETRY_S)
        finally:
            self._succeeding = False
            self.wake()

    def _hold(self) -> None:
        self._dependencies.capacity.hold(self.id, len(self._making | self._newest.running.keys()))

    async def _pair(self, field: formats.FreePlayers) -> None:
        try:
            proposal = await self._dependencies.pairing.propose(self._state.durable, field)
            if proposal is not None:
                await self.submit(proposal)
                self.wake()  # more may follow, or it may have come too late
        except (PairingFailed, StoreFailed) as failure:
            self._log.error("not_paired", error=str(failure))
        finally:
            self._pairing = False  # the next check may pair again

    async def _make(self, game: ScheduledGame, attempt: int) -> None:
        """Create the match of a game, and record it in the log."""
        try:
            made = await self._match_of(game, attempt)
            if made is None:
                return
            match, opening = made
            begin = do.Begin(game.number, attempt, match.id, opening.moves, opening.position, opening.number)
            while isinstance(await self.submit(begin), StoreFailed):
                pass
            if self.games.get(match.id) == game.number:
                await self._check_match(match.id, game.number)
            elif not self.expects(match):  # a player has withdrawn meanwhile, or the tournament has ended
                await abort(self._dependencies.matches, match.id, self.id)
        except (Refusal, PairingFailed) as failure:
            self._log.warning("game_not_made", game=game.number, error=str(failure))
            await asyncio.sleep(RETRY_S)
        finally:
            self._making.discard(game.number)
            self.wake()

    async def _match_of(self, game: ScheduledGame, attempt: int) -> tuple[Match, Opening] | None:
        """Return the match of a game, created if needed, and how it begins; None if the tournament is about to end."""
        dependencies, openings = self._dependencies, self._newest.spec.openings
        try:
            pause_s = min(max(0, attempt - 2) * RETRY_S, MOST_PATIENCE_S)
            if pause_s:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._hurry.wait(), pause_s)
            opening = Opening()
            if openings.seed or openings.lines or openings.book:
                turn = self._pairer.turn(self._newest, game.meeting)
                opening = await dependencies.pairing.opening(openings, game.game, turn)
            if self._hurry.is_set():
                return None
            match = await dependencies.matches.create(
                creation(self._newest, game, attempt, dependencies.policy, opening),
                dependencies.capacity.accepted({game.seat1, game.seat2}),
            )
            return match, opening
        finally:
            dependencies.capacity.release({game.seat1, game.seat2})

    async def _check_matches(self) -> None:
        if self._page_only:
            return
        for match_id, number in list(self.games.items()):
            await self._check_match(match_id, number)

    async def _check_match(self, match_id: str, number: int) -> None:
        """Queue the end of a match, in case it ended before its events reached this driver."""
        while True:
            try:
                match = await self._dependencies.matches.match(match_id)
            except StoreDamaged as damage:  # the match can't continue, and its result is unknown: the game is replayed
                self._log.error("match_set_aside", game=number, match=match_id, error=damage.why)
                self._enqueue(do.ReportResult(number, match_id, None, DAMAGED, ""))
                return
            except StoreFailed:
                await asyncio.sleep(RETRY_S)
                continue
            if match.phase is MatchPhase.ENDED:
                self._enqueue(report(number, match))
            else:
                self._judging.look(match)
            return

    def _enqueue(self, command: do.Command) -> None:
        """Queue a command whose answer is not needed."""
        self._queue.append(QueuedCommand(command))
        self.wake()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._log.error("tournament_task_failed", exc_info=task.exception())
