"""Pairing in a worker process, so that a long draw never blocks the event loop."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from arbiter.errors import RulesAwaited, RulesFailed
from arbiter.games import registry
from arbiter.service.ports.journal import Journal, StoredRecord, Subject
from arbiter.service.ports.meter import NO_METER, Meter
from arbiter.service.ports.snapshots import NoSnapshots, Snapshot, Snapshots
from arbiter.service.record import tournament_log
from arbiter.service.record.snapshots import go_on_from, snapshot_and_rest, take_snapshot
from arbiter.service.record.tournament_log import Chain, OldGamesNeeded, StoredLog, follow
from arbiter.service.tournaments.books import BookFacts, BookProblem, Books, NoBooks, checked_facts, opening_of
from arbiter.service.tournaments.tournament_ports import PairingFailed
from arbiter.tournaments import formats
from arbiter.tournaments.book_order import Opening
from arbiter.tournaments.commands import Arrange
from arbiter.tournaments.evolution import replay
from arbiter.tournaments.folding import fold
from arbiter.tournaments.formats import FreePlayers
from arbiter.tournaments.openings import Turn
from arbiter.tournaments.recalling import Recall, Recalled, Wanted
from arbiter.tournaments.spec import Openings
from arbiter.tournaments.tournament import Tournament
from arbiter.workers.book_files import BookFiles
from arbiter.workers.pool import JobProcess
from arbiter.workers.process import Jobs

KEPT: Final = 8  #: tournaments that the process keeps in memory
LONGEST_S: Final = 600.0  #: time limit of a job; only a job that never ends takes longer


class PairingProcess(JobProcess):
    """A worker process behind the port `arbiter.service.tournaments.tournament_ports.PairingWorker`.

    The worker keeps the state of the tournaments, so that a job has to send only the new records.
    """

    def __init__(
        self,
        journal: Journal,
        meter: Meter = NO_METER,
        books: Path | None = None,
        snapshots: Snapshots = NoSnapshots(),  # noqa: B008 - it has no state
    ) -> None:
        """Take the folder of opening books."""
        self._revisions: OrderedDict[str, int] = OrderedDict()  # revisions of the tournaments that the worker keeps
        super().__init__("arbiter.workers.pairing", "pairs", LONGEST_S, PairingFailed, self._revisions.clear, meter)
        self._journal = journal
        self._snapshots = snapshots
        self._books = books
        self._recalling = asyncio.Lock()  # one log at a time
        self._here, self._asking = PairingJobs(), asyncio.Lock()  # for the rules of packages

    async def propose(self, tournament: Tournament, field: FreePlayers) -> Arrange | None:
        """Return what a tournament's format proposes; see the port. Also raises StoreFailed."""
        proposal: Arrange | None = await self._asked_of("propose", tournament.id, field)
        return proposal

    async def snapshot(self, tournament: Tournament, chain: Chain) -> Snapshot:
        snapshot: Snapshot = await self._asked_of("snapshot", tournament.id)
        return snapshot

    async def opening(self, openings: Openings, game: str, turn: Turn) -> Opening:
        chosen = not openings.plies and not openings.book  # from a list, which is fast enough for the event loop
        if chosen and not registry.is_apart(game):
            return opening_of(NoBooks(), openings, game, turn)
        found: Opening = await self._by_rules(game, PairingJobs.opening, openings, game, turn)
        return found

    async def book(self, name: str, game: str, plies: int) -> BookFacts:
        facts: BookFacts = await self._by_rules(game, PairingJobs.book, name, game, plies)
        return facts

    async def _by_rules(self, game: str, job: Callable[..., Any], *arguments: Any) -> Any:
        """Return the answer of a job that plays by the rules of a game. Raises PairingFailed.

        The rules of a package may hang: these have a process and limits of their own, which a thread asks.
        """
        if not registry.is_apart(game):
            return _found(await self.ask(job.__name__, (self._books, *arguments)))
        async with self._asking:
            try:
                return _found(await asyncio.to_thread(job, self._here, self._books, *arguments))
            except (RulesAwaited, RulesFailed) as failure:
                raise PairingFailed(str(failure)) from None

    async def load(self, tournament: str, records: Sequence[StoredRecord], *, folded: bool) -> StoredLog:
        """Return the log of a tournament; see the port.

        This runs in a thread: to send a log from another process would take as long as to read it.
        """
        return await asyncio.to_thread(partial(tournament_log.load, tournament, records, folded=folded))

    async def go_on_from(self, snapshot: Snapshot, records: Sequence[StoredRecord]) -> StoredLog | None:
        """Return the log of a tournament from a snapshot, in a thread; see the port."""
        return await asyncio.to_thread(go_on_from, snapshot, [record.body for record in records])

    async def follow(self, log: StoredLog, records: Sequence[StoredRecord]) -> StoredLog | None:
        """Return a log with its next records, in a thread; see the port."""
        return await asyncio.to_thread(follow, log, [record.body for record in records])

    async def recall(self, wanted: Wanted, bodies: AsyncIterator[Sequence[bytes]]) -> Recalled:
        """Return old games of a ladder; see the port. The worker then keeps the tournament with these games."""

        async def kept() -> tuple[()]:
            self._revisions.pop(wanted.tournament, None)
            self._revisions[wanted.tournament] = wanted.revision
            return ()

        async with self._recalling:
            await self.ask("recall", (wanted,))
            async for each in bodies:
                await self.ask("recall_more", (each,))
            recalled: Recalled = await self.ask_then("recalled", kept)
        return recalled

    async def first_snapshot(self, log: StoredLog) -> Snapshot:
        """Return a snapshot of a log that was just read, in a thread; see the port."""
        return await asyncio.to_thread(take_snapshot, log.tournament, log.chain)

    async def _asked_of(self, kind: str, tournament: str, *more: Any) -> Any:
        """Return the answer of a job about a tournament. Raises PairingFailed, StoreFailed."""
        answer = await self.ask_then(kind, partial(self._arguments, tournament, more, whole=False))
        if isinstance(answer, WholeNeeded):
            answer = await self.ask_then(kind, partial(self._arguments, tournament, more, whole=True))
        return answer

    async def _arguments(self, tournament: str, more: tuple[Any, ...], *, whole: bool) -> tuple[Any, ...]:
        """Return what the worker needs: the records that it does not have, and what it is to forget.

        whole: all records, and no snapshot.
        """
        known, snapshot = self._revisions.pop(tournament, 0), None
        if whole:
            known = 0
        if known or whole:
            records = await self._journal.read(tournament, known, subject=Subject.TOURNAMENT)
        else:
            snapshot, records, _ = await snapshot_and_rest(self._journal, self._snapshots, tournament)
        forget = [self._revisions.popitem(last=False)[0] for _ in range(len(self._revisions) - KEPT + 1)]
        if not known:
            forget.append(tournament)  # the worker may have an old state from a job that failed
        self._revisions[tournament] = records[-1].revision if records else known
        return Task(tournament, snapshot, [record.body for record in records], forget), *more


def _found(answer: Any) -> Any:
    """Return the answer of a job about books. Raises PairingFailed if it is what is wrong with one."""
    if isinstance(answer, BookProblem):
        raise PairingFailed(str(answer))
    return answer


class Task(NamedTuple):
    """What a job about a tournament begins with: the records that the worker does not have, or a snapshot and the rest.

    snapshot: then the first of `bodies` is the record of its event. forget: tournaments to forget, first of all.
    """

    tournament: str
    snapshot: Snapshot | None
    bodies: Sequence[bytes]
    forget: Sequence[str]


class WholeNeeded:
    """The answer of a job that can't go on from what the worker has, such as a ladder without its old games."""


# In the process


class PairingJobs:
    """The worker's state and its jobs."""

    def __init__(self) -> None:
        self._tournaments: dict[str, tuple[Tournament, Chain]] = {}
        self._recall: tuple[Recall, Chain] | None = None
        self._books: BookFiles | None = None

    def propose(self, task: Task, field: FreePlayers) -> Arrange | WholeNeeded | None:
        """Return what the format of a tournament proposes."""
        known = self._followed(task)
        return formats.of(known[0].spec).propose(known[0], field) if known is not None else WholeNeeded()

    def snapshot(self, task: Task) -> Snapshot | WholeNeeded:
        """Return a snapshot of a tournament."""
        known = self._followed(task)
        return take_snapshot(*known) if known is not None else WholeNeeded()

    def recall(self, wanted: Wanted) -> None:
        """Begin to read a log for old games; another one that was begun is forgotten."""
        self._recall = Recall(wanted), Chain(wanted.tournament)

    def recall_more(self, bodies: Sequence[bytes]) -> None:
        """Read the next records."""
        assert self._recall is not None, "no log was begun"
        recall, chain = self._recall
        recall.read(chain.follow(bodies))

    def recalled(self) -> Recalled:
        """Return the old games, and keep the tournament with them: a decision on them is about to come."""
        assert self._recall is not None, "no log was begun"
        (recall, chain), self._recall = self._recall, None
        found = recall.found()
        self._tournaments[recall.tournament.id] = recall.tournament, chain
        return found

    def _followed(self, task: Task) -> tuple[Tournament, Chain] | None:
        """Return a tournament with the new records, and the end of its log; None if all records are needed."""
        for each in task.forget:
            self._tournaments.pop(each, None)
        known = self._tournaments.pop(task.tournament, None)
        try:
            if task.snapshot is not None:
                log = go_on_from(task.snapshot, task.bodies)
            elif known is not None:
                log = follow(StoredLog([], *known), task.bodies)
            else:
                chain = Chain(task.tournament)
                log = StoredLog([], replay(chain.follow(task.bodies)), chain)
                fold(log.tournament, len(log.tournament.meetings))
        except OldGamesNeeded:
            return None
        if log is None:
            return None
        self._tournaments[task.tournament] = log.tournament, log.chain
        return log.tournament, log.chain

    def opening(self, folder: Path | None, openings: Openings, game: str, turn: Turn) -> Opening | BookProblem:
        """Return the opening of a meeting's games."""
        try:
            return opening_of(self._of(folder), openings, game, turn)
        except BookProblem as problem:
            return problem

    def book(self, folder: Path | None, name: str, game: str, plies: int) -> BookFacts | BookProblem:
        """Return the facts of an opening book."""
        try:
            return checked_facts(self._of(folder), name, game, plies)
        except BookProblem as problem:
            return problem

    def _of(self, folder: Path | None) -> Books:
        if folder is None:
            return NoBooks()
        if self._books is None:
            self._books = BookFiles(folder)
        return self._books

    @property
    def jobs(self) -> Jobs:
        """Return the job handlers, by kind."""
        kinds = (self.propose, self.snapshot, self.opening, self.book, self.recall, self.recall_more, self.recalled)
        return {kind.__name__: kind for kind in kinds}


def jobs() -> Jobs:
    """Return the job handlers of a new worker, by kind."""
    return PairingJobs().jobs
