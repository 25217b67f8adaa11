"""The connection of a simulated server to the store that it shares with others: slow, failing, and sometimes cut.

Every call of the process to the store goes over its line: the log (`SharedDisk`), players and notices, the rows of the
replicas, and the store's time. What the store has done stays done if the answer is lost.

While the log is locked, only calls wait that need it; and in half of the cases all writes behind them, as in a real
store, which writes in one thread. A read of results does not need it there, but waits if all threads that read wait:
so here all reads of the journal do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from random import Random
from typing import Any, Final, ParamSpec, TypeVar

from arbiter.service.ports.directory import Directory
from arbiter.service.ports.environment import TimeReading
from arbiter.service.ports.journal import StoredRecord, StoreFailed
from arbiter.service.ports.replicas import Replicas
from arbiter.service.ports.web_hooks import WebHooks
from arbiter.testing.clock import NOON_MS
from arbiter.testing.memory import MemoryJournal
from arbiter.testing.simulation.disk import Chance, Disk, Job
from arbiter.testing.simulation.log_lock import LogLock
from arbiter.testing.simulation.plan import Fault

GIVES_UP_S: Final = 5.0  #: after this time without an answer, a connection counts as lost
ROUND_TRIPS: Final = 5  #: readings of the store's clock at once, as by `arbiter.store.timing`
GAP_S: Final = 2.0  #: after which the store's clock counts as not read
CUT_OFF: Final = "the line to the store is cut"

P = ParamSpec("P")
T = TypeVar("T")


class Line:
    """A line to the store. A cut one is silent, as when packets are lost, or refuses every call at once."""

    def __init__(self, dice: Random, chance: Chance) -> None:
        self._dice = dice
        self.chance = chance
        self._whole = asyncio.Event()
        self._whole.set()
        self._refuses = False
        self.cut_since_s = 0.0  #: when it was cut, if it is

    @property
    def is_cut(self) -> bool:
        """Whether nothing passes."""
        return not self._whole.is_set()

    def cut(self, refuses: bool) -> None:
        """Let nothing pass from now on."""
        if not self.is_cut:
            self.cut_since_s = asyncio.get_running_loop().time()
        self._whole.clear()
        self._refuses = refuses

    def mend(self) -> None:
        """Let everything pass again."""
        self._whole.set()

    async def passed(self) -> None:
        """Wait until a question, or an answer, has passed. Raises StoreFailed."""
        if self.is_cut:
            if not self._refuses:
                try:
                    async with asyncio.timeout(GIVES_UP_S):
                        await self._whole.wait()
                except TimeoutError:
                    raise StoreFailed(CUT_OFF) from None
                return
            raise StoreFailed(CUT_OFF)

    async def asked(self) -> None:
        """Carry a question to the store, which takes a while. Raises StoreFailed."""
        slow = self.chance(Fault.SLOW)
        await asyncio.sleep(self._dice.uniform(0.01, 0.5) if slow else self._dice.uniform(0.0002, 0.002))
        await self.passed()
        if self.chance(Fault.DEAF):
            raise StoreFailed("a fault of the simulation")


class StoreCalls:
    """StoreCalls of a process to the store, over its line.

    in_turn: waits until all earlier writes of the server are done.
    """

    def __init__(self, line: Line, in_turn: Callable[[], Awaitable[None]]) -> None:
        self._line = line
        self._in_turn = in_turn

    def reading(self, read: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
        """Return a method of the store that reads, as it is over the line. It also raises StoreFailed."""

        async def call(*arguments: P.args, **named: P.kwargs) -> T:
            await self._line.asked()
            answer = await read(*arguments, **named)
            await self._line.passed()
            return answer

        return call

    def writing(self, write: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
        """Return a method of the store that writes, as it is over the line. It also raises StoreFailed."""

        async def in_turn(*arguments: P.args, **named: P.kwargs) -> T:
            await self._in_turn()
            return await write(*arguments, **named)

        return self.reading(in_turn)


class WebHooksOverLine:
    """The web hooks at the other end of a line, as `DirectoryOverLine`."""

    def __init__(self, calls: StoreCalls, hooks: WebHooks) -> None:
        self.add: Final = calls.writing(hooks.add)
        self.get: Final = calls.reading(hooks.get)
        self.of_tournament: Final = calls.reading(hooks.of_tournament)
        self.active: Final = calls.reading(hooks.active)
        self.due: Final = calls.reading(hooks.due)
        self.unused_since: Final = calls.reading(hooks.unused_since)
        self.change: Final = calls.writing(hooks.change)
        self.remove: Final = calls.writing(hooks.remove)


class DirectoryOverLine:
    """The directory at the other end of a line; `arbiter.service.ports` says why it names every method.

    `SqlDirectory` says which methods write, and a test compares them.
    """

    def __init__(self, calls: StoreCalls, directory: Directory) -> None:
        reading, writing = calls.reading, calls.writing
        self.web_hooks: Final = WebHooksOverLine(calls, directory.web_hooks)
        self.add_player: Final = writing(directory.add_player)
        self.player: Final = reading(directory.player)
        self.players: Final = reading(directory.players)
        self.change_player: Final = writing(directory.change_player)
        self.rename_player: Final = writing(directory.rename_player)
        self.delete_player: Final = writing(directory.delete_player)
        self.profiles: Final = reading(directory.profiles)
        self.acknowledge: Final = writing(directory.acknowledge)
        self.add_token: Final = writing(directory.add_token)
        self.token: Final = reading(directory.token)
        self.token_of_digest: Final = reading(directory.token_of_digest)
        self.tokens: Final = reading(directory.tokens)
        self.sessions: Final = reading(directory.sessions)
        self.use_session: Final = writing(directory.use_session)
        self.revoke_token: Final = writing(directory.revoke_token)
        self.add_invitation: Final = writing(directory.add_invitation)
        self.add_challenge: Final = writing(directory.add_challenge)
        self.challenge: Final = reading(directory.challenge)
        self.challenges: Final = reading(directory.challenges)
        self.challenges_being_accepted: Final = reading(directory.challenges_being_accepted)
        self.change_challenge: Final = writing(directory.change_challenge)
        self.forget: Final = writing(directory.forget)
        self.notices: Final = reading(directory.notices)
        self.last_notice: Final = reading(directory.last_notice)


class ReplicasOverLine:
    """The rows of the replicas at the other end of a line, as `DirectoryOverLine` for the directory.

    entered: the last id by which this process entered.
    """

    def __init__(self, calls: StoreCalls, replicas: Replicas) -> None:
        reading, writing = calls.reading, calls.writing
        self.entered = ""
        self._enter = writing(replicas.enter)
        self.beat: Final = writing(replicas.beat)
        self.forget: Final = writing(replicas.forget)
        self.lost_players: Final = reading(replicas.lost_players)
        self.take: Final = writing(replicas.take)
        self.arrive: Final = writing(replicas.arrive)
        self.give_back: Final = writing(replicas.give_back)

    async def enter(self, replica: str) -> None:
        """Add a replica."""
        self.entered = replica
        await self._enter(replica)


class SharedDisk(Disk):
    """The log at the other end of a line. A commit of a cut line is lost, or its answer is.

    Commits bring the records of other servers, as those of `arbiter.store.appending.SharedLog` do: unless there are too
    many, which they are often, so that the log has to be read too.
    """

    def __init__(self, stored: MemoryJournal, dice: Random, line: Line, brings: Random, lock: LogLock) -> None:
        """`brings`: the dice for how many records a commit may bring."""
        super().__init__(stored, dice, line.chance, lock)
        self._line = line
        self._brings = brings
        self._known = 0  # what `know` was told last
        self._brought: list[StoredRecord] = []

    def know(self, place: int) -> None:
        """Have commits bring the records of other servers after a journal position, or none (0)."""
        self._known = place

    def brought(self) -> list[StoredRecord]:
        """Return the records that commits have brought."""
        found, self._brought = self._brought, []
        return found

    async def before_reading(self) -> None:
        """Carry a read to the store, or make it fail."""
        await self._line.asked()
        if self._lock.is_held:
            await self._lock.free()
            await self._line.passed()

    async def in_turn(self) -> None:
        """Wait for a commit that waits for the log, if other writes are behind it. Raises StoreFailed."""
        if self._lock.is_held and self._lock.queues and self._writing:
            await self._lock.free()
            await self._line.passed()

    async def read_all(self, after: int, most: int) -> list[StoredRecord]:
        """Return new records of the log: what others have written may be late."""
        if self._chance(Fault.LATE_NEWS):
            await asyncio.sleep(self._dice.uniform(0.1, 3.0))
        return await super().read_all(after, most)

    def _bring(self) -> None:
        known = max([self._known, *(record.sequence for record in self._brought)]) if self._known else 0
        new = self._stored.records[known:] if known else []
        if len(new) <= self._brings.choice((0, 3, 300)):
            self._brought += new

    def _arrive(self) -> None:
        if self._line.is_cut:
            self._commit()  # it does not come to the log
        else:
            super()._arrive()

    def _keep(self, jobs: list[Job]) -> None:
        """Store what waits for the log in a session of the database, which does not notice that its client has died."""
        self._lock.when_free(partial(self._store_rest, jobs))

    def _commit(self) -> None:
        if not self._line.is_cut and not self._dead:
            self._bring()
        if not self._line.is_cut or self._dead:
            super()._commit()
            return
        group, self._writing = self._writing, []
        arrived = self._dice.random() < 0.3 and not self._lock.is_held  # before the line was cut; the answer did not
        for job in group:
            self._store(job, refused=not arrived, lied=arrived)
        if self._waiting:
            self._begin()


class Machine:
    """The clock of a server's machine: wrong by seconds, and a little too fast or too slow."""

    def __init__(self, dice: Random) -> None:
        self._shown_s = dice.choice((-1.0, 0.0, 1.0)) * dice.random() + 10.0  # when its pace last changed
        self._since_s = 0.0  # that instant
        self._pace = 1.0 + dice.uniform(-1e-4, 1e-4)

    def run_at(self, pace: float) -> None:
        """Run at another pace from now on: 1.0 is the right one."""
        self._shown_s, self._since_s = self._now_s(), asyncio.get_running_loop().time()
        self._pace = pace

    def lose(self, seconds: float) -> None:
        """Be behind by this much from now on: the machine was suspended, and its clock stood still."""
        self._shown_s -= seconds

    def _now_s(self) -> float:
        return self._shown_s + (asyncio.get_running_loop().time() - self._since_s) * self._pace

    def monotonic_ns(self) -> int:
        """Return what the machine's clock shows, in nanoseconds."""
        return int(self._now_s() * 1e9)


class StoreTime:
    """The store's clock, read over a line, by a machine with its own clock. gaps: when it was not read for long."""

    def __init__(self, line: Line, machine: Machine, dice: Random, gaps: list[tuple[float, float]]) -> None:
        self._line = line
        self._machine = machine
        self._dice = dice
        self._gaps = gaps
        self._read_s = 0.0

    async def readings(self) -> list[TimeReading]:
        """Read the store's clock several times in a row. Raises StoreFailed."""
        await self._line.passed()
        found = []
        for _ in range(ROUND_TRIPS):
            asked = self._machine.monotonic_ns()
            await asyncio.sleep(self._dice.uniform(0.0001, 0.001))
            theirs = store_now_ns()
            await asyncio.sleep(self._dice.uniform(0.0001, 0.001))
            told = self._machine.monotonic_ns()
            found.append(TimeReading(theirs, (asked + told) // 2, told - asked))
        await self._line.passed()
        now_s = asyncio.get_running_loop().time()
        if now_s - self._read_s > GAP_S:
            self._gaps.append((self._read_s, now_s))
        self._read_s = now_s
        return found


def store_now_ns() -> int:
    """Return the store's time: virtual time, UTC nanoseconds since 1970."""
    return NOON_MS * 1_000_000 + int(asyncio.get_running_loop().time() * 1e9)
