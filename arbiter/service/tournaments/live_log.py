"""The log of a live tournament: events are decided in memory, stored, and then passed to the listener.

Like a live match, a tournament has two states: `newest`, on which commands are decided, and `durable`, which all others
see.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from copy import copy
from functools import partial
from typing import Final

from arbiter.errors import Reason, Refusal, shortened
from arbiter.service.lookup import findable
from arbiter.service.ports.journal import Append, Record, RecordDamaged, StoredRecord, StoreFailed, Subject
from arbiter.service.ports.snapshots import Snapshot
from arbiter.service.record import tournament_log
from arbiter.service.record.published import published
from arbiter.service.record.snapshots import code_version, snapshot_and_rest
from arbiter.service.record.tournament_log import Chain, OldGamesNeeded, StoredLog
from arbiter.service.tournaments.game_matches import RETRY_S
from arbiter.service.tournaments.tournament_ports import Dependencies, PairingFailed
from arbiter.tournaments import commands as do
from arbiter.tournaments import engine
from arbiter.tournaments import events as ev
from arbiter.tournaments.evolution import apply
from arbiter.tournaments.folding import fold, old_games
from arbiter.tournaments.recalling import Recalled, put_back, want
from arbiter.tournaments.state_copy import copied
from arbiter.tournaments.tournament import Tournament

Listener = Callable[[Tournament, Sequence[ev.Event]], None]
"""Called with a tournament and its newest events, once they are durable."""


PORTION: Final = 5_000  #: records that are read at once where old games may be dropped
SENT: Final = 500  #: records that are sent to another process at once: in two or three milliseconds


async def read_log(dependencies: Dependencies, tournament: str, *, folded: bool = True) -> tuple[StoredLog, int] | None:
    """Return the log of a tournament, and the sequence number of its last record; None if there is no such tournament.

    folded: without the old games of a ladder. Then it is read from a snapshot on if one fits, and in portions, so that
    memory does not grow with the log; its events are the last ones. Raises StoreFailed, RecordDamaged.
    """
    journal, why = dependencies.journal, ""
    if folded:
        snapshot, records, why = await snapshot_and_rest(journal, dependencies.snapshots, tournament, PORTION)
        found = await _in_portions(dependencies, snapshot, records) if records else None
        if found is not None and snapshot is not None:
            return found
        if snapshot is not None:
            why = "it can't be read, or does not fit what follows"
            records = await journal.read(tournament, most=PORTION, subject=Subject.TOURNAMENT)
            found = await _in_portions(dependencies, None, records)
        if found is not None:
            await _keep_first(dependencies, found[0], why)
            return found
    records = await journal.read(tournament, subject=Subject.TOURNAMENT)
    if not records:
        return None
    log = await dependencies.pairing.load(tournament, records, folded=folded)
    if folded:
        await _keep_first(dependencies, log, why)
    return log, records[-1].sequence


async def _in_portions(
    dependencies: Dependencies, snapshot: Snapshot | None, records: Sequence[StoredRecord]
) -> tuple[StoredLog, int] | None:
    """Return a log that is read in portions: from a snapshot on, or from the beginning. records: the first portion.

    Return None if the pairer needs all records at once. Raises StoreFailed, RecordDamaged.
    """
    journal, pairing, tournament = dependencies.journal, dependencies.pairing, records[0].match_id
    log: StoredLog | None
    if snapshot is not None:
        log = await pairing.go_on_from(snapshot, records[:1])
        log = await _follow(dependencies, log, records[1:]) if log is not None else None
    else:
        log = await pairing.load(tournament, records, folded=True)
    while log is not None and len(records) == PORTION:
        more = await journal.read(tournament, log.chain.revision, PORTION, Subject.TOURNAMENT)
        if snapshot is not None:
            log = await _follow(dependencies, log, more)
        else:
            try:
                log = await pairing.follow(log, more)
            except OldGamesNeeded:  # perhaps many: it takes less time to read all of them at once
                return None
        records = more or records[-1:]
    return (log, records[-1].sequence) if log is not None else None


async def _follow(dependencies: Dependencies, log: StoredLog, records: Sequence[StoredRecord]) -> StoredLog | None:
    """Return a log with its next records; the old games that they are about are read first."""
    while True:
        try:
            return await dependencies.pairing.follow(log, records)
        except OldGamesNeeded as needed:
            put_back(log.tournament, await recall(dependencies, log.tournament, needed.games))


async def _keep_first(dependencies: Dependencies, log: StoredLog, why: str) -> None:
    """Keep a snapshot of a long log of which all records were read, so that the next start need not read them.

    why: no snapshot was used, as a clause for the server's log.
    """
    if log.chain.revision < dependencies.snapshots.every:
        return
    said = dependencies.log.bind(tournament=log.tournament.id)
    said.warning("snapshot_not_used", why=why, events=log.chain.revision)
    try:
        await dependencies.snapshots.keep(await dependencies.pairing.first_snapshot(log))
    except StoreFailed as failure:
        said.warning("snapshot_not_kept", error=str(failure))


async def recall(dependencies: Dependencies, tournament: Tournament, games: frozenset[int]) -> Recalled:
    """Return old games of a ladder from its log, which another process reads. Raises StoreFailed, RecordDamaged."""
    asked = want(tournament, games)

    async def bodies() -> AsyncIterator[Sequence[bytes]]:
        for after in range(0, asked.revision, SENT):
            most = min(SENT, asked.revision - after)
            records = await dependencies.journal.read(asked.tournament, after, most, Subject.TOURNAMENT)
            if len(records) < most:
                raise RecordDamaged(asked.tournament, after + len(records) + 1, "it is missing", "tournament")
            yield [record.body for record in records]

    try:
        return await dependencies.pairing.recall(asked, bodies())
    except PairingFailed as failure:
        dependencies.log.error("old_games_not_read", tournament=asked.tournament, error=str(failure))
        raise StoreFailed(f"old games of tournament {asked.tournament} could not be read; its log says why") from None


async def copy_for(dependencies: Dependencies, tournament: Tournament, command: do.Command) -> Tournament:
    """Return a copy of a tournament that can decide a command: with the old games that it is about.

    Raises StoreFailed, RecordDamaged.
    """
    twin = copied(tournament)
    games = old_games(twin, [command])
    if games:
        put_back(twin, await recall(dependencies, twin, games))
    return twin


class LogReader:
    """Reads the logs of tournaments: one at a time, so that long ones do not fill the memory."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._turn = asyncio.Lock()
        self._reading: dict[str, asyncio.Task[tuple[StoredLog, int]]] = {}

    async def read(self, tournament_id: str, *, folded: bool = True) -> tuple[StoredLog, int]:
        """Return the log of a tournament, and the sequence number of its last record, as `read_log`.

        Raises Refusal TOURNAMENT_NOT_FOUND, STORE_UNAVAILABLE, RECORD_DAMAGED.
        """
        found = None
        if findable(tournament_id):
            async with self._turn:
                found = await read_log(self._dependencies, tournament_id, folded=folded)
        if found is None:
            name = shortened(tournament_id)
            raise Refusal(Reason.TOURNAMENT_NOT_FOUND, f"there is no tournament {name!r} here", id=name)
        return found

    def read_soon(self, tournament_id: str) -> asyncio.Task[tuple[StoredLog, int]]:
        """Return the task that reads a folded log, which is one for all who ask until it is read."""
        reading = self._reading.get(tournament_id)
        if reading is None:
            reading = self._reading[tournament_id] = asyncio.create_task(self.read(tournament_id))
            reading.add_done_callback(partial(self._has_read, tournament_id))
        return reading

    def _has_read(self, tournament_id: str, reading: asyncio.Task[tuple[StoredLog, int]]) -> None:
        del self._reading[tournament_id]
        if not reading.cancelled():
            reading.exception()  # read it, so that asyncio does not log it if all callers have left


class TournamentLog:
    """A tournament in memory and in the journal. Only one task may write to it.

    A ladder drops its old games here (`arbiter.tournaments.folding`).
    """

    def __init__(self, dependencies: Dependencies, log: StoredLog, listener: Listener) -> None:
        self.newest: Tournament = log.tournament
        self.durable: Tournament = copied(log.tournament)
        self._dependencies = dependencies
        self._keeps_all = False  # old games are being read, and will be put back
        self._journal = dependencies.journal
        self._appends = dependencies.appends
        self._snapshots = dependencies.snapshots
        self._since = len(log.events)  # events since the last snapshot, or since one was last due
        self._feed = dependencies.feed
        self._clock = dependencies.clock
        self._pairing = dependencies.pairing
        self._listener = listener
        self._chain: Chain = log.chain  # of the durable events
        self._unstored: list[ev.Event] = []
        self._log = dependencies.log.bind(tournament=self.durable.id)

    @property
    def id(self) -> str:
        """The tournament's id."""
        return self.durable.id

    def decide(self, command: do.Command, at: int | None = None) -> engine.TournamentDecision:
        """Decide a command and apply its events to the newest state. The caller must then call `store`.

        at: the instant of the decision in UTC epoch milliseconds; now by default.
        """
        decision = engine.decide(self.newest, command, self._clock.now_ms() if at is None else at)
        for event in decision.events:
            apply(self.newest, event)
        self._unstored += decision.events
        return decision

    async def store(self) -> None:
        """Store the events decided since the last call.

        Raises StoreFailed, or JournalConflict if another server has written to this tournament. After either, the
        caller must call `read_again`.
        """
        events, self._unstored = self._unstored, []
        if not events:
            return
        chain = copy(self._chain)
        records = chain.seal(events)
        future = self._appends.append(Append(records, tournament=tournament_log.summary_of(self.newest)))
        # A callback keeps the order in which events became durable: after the await, later events could come first.
        future.add_done_callback(partial(self._stored, records, events, chain))
        await future

    def snapshot_is_due(self) -> bool:
        """Return whether to call `keep_snapshot`: true once for each `every` events."""
        due = self._since >= self._snapshots.every
        if due:
            self._since = 0
        return due

    async def keep_snapshot(self) -> None:
        """Keep a snapshot of the durable state, unless another server has done so."""
        try:
            known = await self._snapshots.newest(self.id)
            missing = self.durable.revision - (known.revision if known is not None else 0)
            if known is None or known.code != code_version() or missing >= self._snapshots.every:
                await self._snapshots.keep(await self._pairing.snapshot(self.durable, self._chain))
        except (StoreFailed, PairingFailed) as failure:
            self._log.warning("snapshot_not_kept", error=str(failure))

    async def read_again(self, pause_s: float = RETRY_S) -> None:
        """Set both states to those in the journal, after a failed append. Retries until the journal can be read.

        Only events are read that are not durable here yet: the log of a ladder may have a hundred thousand. pause_s:
        the time before the first attempt, in seconds.
        """
        while True:
            await asyncio.sleep(pause_s)
            pause_s = RETRY_S
            self.newest, self._unstored = copied(self.durable), []
            try:
                await self._take_in()
            except StoreFailed as failure:
                self._log.warning("tournament_not_read", error=failure.message)
            else:
                return

    async def recall(self, games: frozenset[int]) -> Recalled:
        """Return old games of a ladder, for `put_back`; until that is called, no more games become old.

        Raises StoreFailed.
        """
        self._keeps_all = True
        try:
            return await recall(self._dependencies, self.durable, games)
        except BaseException:
            self._keeps_all = False
            raise

    def put_back(self, recalled: Recalled) -> None:
        """Put old games back for the next decisions. There must be no decided event that is not stored."""
        self._keeps_all = False
        for state in (self.durable, self.newest):
            put_back(state, recalled)

    async def fetch(self, decisions: Iterable[object]) -> None:
        """Put the old games back that these commands or events are about. Raises StoreFailed."""
        games = old_games(self.durable, decisions)
        if games:
            self.put_back(await self.recall(games))

    async def follow(self) -> None:
        """Apply the events that another server has written. There must be no decided event that is not stored."""
        try:
            await self._take_in()
        except StoreFailed:
            await self.read_again()

    async def _take_in(self) -> None:
        """Apply the events in the journal that are not durable here yet. Raises StoreFailed."""
        records = await self._journal.read(self.id, self.durable.revision, subject=Subject.TOURNAMENT)
        chain = copy(self._chain)
        try:
            events = chain.follow(record.body for record in records)
            await self.fetch(events)
            for event in events:
                apply(self.newest, event)
        except (ValueError, LookupError, TypeError) as error:  # or events that can't follow others
            raise RecordDamaged(self.id, chain.revision, str(error), "tournament") from None
        self._became_durable(records, events, chain)

    def _stored(
        self, records: Sequence[Record], events: Sequence[ev.Event], chain: Chain, future: asyncio.Future[int]
    ) -> None:
        if not future.cancelled() and future.exception() is None:
            first = future.result() - len(records) + 1
            self._became_durable([StoredRecord(first + n, *record) for n, record in enumerate(records)], events, chain)

    def _became_durable(self, records: Sequence[StoredRecord], events: Sequence[ev.Event], chain: Chain) -> None:
        self._chain = chain
        self._since += len(events)
        for event in events:
            apply(self.durable, event)
        for state in () if self._keeps_all else (self.durable, self.newest):
            fold(state)
        self._feed.subscribers.publish(published(records, events, self.id))
        self._listener(self.durable, events)
