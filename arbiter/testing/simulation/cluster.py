"""Servers that share a store: each has a machine with its own clock, a line to the store, and processes to be killed.

Whatever servers do to be one arbiter is their own code: they follow the log, write heartbeats, clean up after
those that are gone, keep their clocks level with the store's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Final, NamedTuple, TypeVar

from arbiter.bootstrap.running_server import started
from arbiter.bootstrap.store import Store
from arbiter.runtime.system_clock import FollowingClock
from arbiter.service.matches.live import DRAINING
from arbiter.service.ports.bus import Message
from arbiter.service.ports.journal import Append, StoreFailed
from arbiter.testing.memory import MemoryBroker, MemoryBus, MemoryJournal, MemoryReplicas
from arbiter.testing.simulation.disk import Chance
from arbiter.testing.simulation.observations import LostServer, RunObservations
from arbiter.testing.simulation.plan import Plan
from arbiter.testing.simulation.simulated_server import AWAY, Server, StoredData, Wiring
from arbiter.testing.simulation.store_line import (
    DirectoryOverLine,
    Line,
    Machine,
    ReplicasOverLine,
    SharedDisk,
    StoreCalls,
    StoreTime,
)
from arbiter.testing.virtual_processes import Process

T = TypeVar("T")
BEGINS_S: Final = 30.0  #: a process that does not serve after this time is killed, and the next one begins
DRAINS_S: Final = 20.0  #: the same, for one that drains
FAREWELL_S: Final = 2.0  #: of streams that a server that drains has ended
ANSWERS_S: Final = 10.0  #: how long a client waits for the answer to a unary call
PAUSES_S: Final = (0.0, 0.1, 3.0, 25.0)  #: until a killed server begins again, at most


class RecordedReplicas(MemoryReplicas):
    """The rows of the replicas. It is recorded when the row of one that is gone was removed."""

    def __init__(self, history: RunObservations) -> None:
        super().__init__()
        self._history = history

    async def forget(self, replica: str) -> None:
        """Remove a replica and its Play streams."""
        await super().forget(replica)
        self._history.forgotten_s.setdefault(replica, asyncio.get_running_loop().time())

    def players_at(self, replica: str) -> tuple[str, ...]:
        """Return the players whose Play stream is on a replica by their row."""
        return tuple(sorted(name for name, there in self._players.items() if there.session.replica == replica))


class TimedJournal(MemoryJournal):
    """The log. It is recorded when each record was stored."""

    def __init__(self, history: RunObservations) -> None:
        super().__init__()
        self._history = history

    def store(self, append: Append) -> int:
        """Store records now; see the base class."""
        place = super().store(append)
        self._history.stored_s += [asyncio.get_running_loop().time()] * len(append.records)
        return place


class ProcessBus(MemoryBus):
    """The bus of one process: messages arrive in it, and no longer once it is dead."""

    def __init__(self, broker: MemoryBroker, process: Process) -> None:
        super().__init__(broker)
        self._process = process

    def deliver(self, message: Message) -> None:
        """Have a message arrive."""
        asyncio.get_running_loop().call_soon(super().deliver, message, context=self._process.context)


class SharedData(NamedTuple):
    """What all servers of a store share. broker: carries the bus between them, if there is one."""

    stored: StoredData
    replicas: RecordedReplicas
    broker: MemoryBroker | None = None


class SharingServer(Server):
    """One of the servers of a store. `process` is the one that runs now, or the last one."""

    def __init__(
        self, number: int, plan: Plan, history: RunObservations, chance: Chance, wiring: Wiring, shared: SharedData
    ) -> None:
        super().__init__(plan, history, chance, wiring, shared.stored, f"disk {number}")
        self.number = number
        self.line = Line(plan.dice(f"line {number}"), chance)
        self.machine = Machine(plan.dice(f"machine {number}"))
        self.time = StoreTime(self.line, self.machine, plan.dice(f"time {number}"), history.gaps)
        self.rows = ReplicasOverLine(StoreCalls(self.line, self._in_turn), shared.replicas)
        self.process = Process()
        self.processes: list[Process] = []
        self._replicas = shared.replicas
        self._broker = shared.broker
        self._bus: ProcessBus | None = None
        self._lives = plan.dice(f"lives {number}")
        self._brings = plan.dice(f"brings {number}")
        self.ill_until_s = 0.0  #: when it last could not run, or not reach the store
        self.drains = False
        self._stopped: LostServer | None = None
        self._suspended_s: float | None = None  # since when its machine is suspended
        self.data.lock.when_released.append(self._recovered)
        self._past: list[object] = []  # dead arbiters: their tasks are never done

    @property
    def is_fine(self) -> bool:
        """Whether it serves, and reaches the store."""
        return self.is_up and self.process.runs and not self.line.is_cut

    def players_here(self) -> list[str]:
        """Return the players whose Play stream is live here."""
        return [name for name in self.data.secrets if self.arbiter.sessions.of(name) is not None]

    def clients_here(self) -> list[str]:
        """Return whom the server keeps: players whose Play stream is live or about to open, and observers."""
        opening = [player for call, player in self.play_calls.items() if not call.begun]
        observing = [kind for kind, count in self.gate.streams.counts().items() if kind != "play" and count]
        return [*self.players_here(), *opening, *observing]

    # -- lifecycle -----------------------------------------------------------------------------------------------

    async def keep_up(self) -> None:
        """Run processes one after the other, until cancelled."""
        while True:
            await self._begin()
            await asyncio.wait((self.process.died,))
            self._died()
            await asyncio.sleep(self._lives.choice(PAUSES_S) * self._lives.random())

    async def _begin(self) -> None:
        while not self.is_up:
            self.process = process = Process()
            self.processes.append(process)
            serving = self.run(self._serve_calls())
            await asyncio.wait((serving, process.died), timeout=BEGINS_S, return_when=asyncio.FIRST_COMPLETED)
            if not serving.done() or serving.exception() is not None:
                process.kill()
                self._past.append(serving)
                await asyncio.sleep(1.0)
            else:
                self.is_up = True
                self._recovered()

    def _recovered(self) -> None:
        self.ill_until_s = asyncio.get_running_loop().time()

    def fine_since(self, at_s: float) -> bool:
        """Return whether nothing has kept the server from its work since an instant of virtual time."""
        return self.is_fine and not self.data.lock.is_held and self.ill_until_s <= at_s

    async def _serve_calls(self) -> None:
        """Do what the real server does at its start (`arbiter.bootstrap.running_server.serving`)."""
        clock = FollowingClock(await self.time.readings(), self.machine.monotonic_ns)
        self.disk = disk = SharedDisk(self.stored, self._dice, self.line, self._brings, self.data.lock)
        directory = DirectoryOverLine(StoreCalls(self.line, disk.in_turn), self.data.directory)
        store = Store(disk, directory, replicas=self.rows, time=self.time, snapshots=self.data.snapshots)
        if self._broker is not None:
            self._bus = ProcessBus(self._broker, self.process)
            self._broker.add(self._bus)
        world = self._world(store, clock)._replace(following=clock, bus=self._bus)
        self._wire(world)
        heard = [self.run(duty) for duty in self.arbiter.life.first_duties()]
        await started(self.arbiter)
        self.run(self._watch(self.arbiter))
        self.run(self.arbiter.challenges.complete_always())
        self._duties = heard + [self.run(duty) for duty in self.arbiter.life.duties()]

    async def _in_turn(self) -> None:
        """Wait until a write of the process that runs now may be done. Raises StoreFailed."""
        if isinstance(self.disk, SharedDisk):
            await self.disk.in_turn()

    def _died(self) -> None:
        self.drains = False
        self._break_off()
        self._past.append((self.arbiter, self.gate, dict(self._tasks)))
        self._lost("killed")
        self._leave()

    def _lost(self, how: str, until_s: float | None = None) -> LostServer:
        now_s, replica = asyncio.get_running_loop().time(), self.rows.entered
        lost = LostServer(how, self.number, replica, now_s, until_s, self._replicas.players_at(replica))
        self.history.lost.append(lost)
        return lost

    def kill(self, steps: int) -> None:
        """Kill the process once it has done this many steps more, if it serves."""
        if self.is_up:
            self.process.kill_after(steps)

    def shut_down(self) -> None:
        """Drain as on SIGTERM, if it serves."""
        if self.is_up:
            self.drains = True
            self.run(self._drain(self.process))
            asyncio.get_running_loop().call_later(DRAINS_S, self.process.kill)

    async def _drain(self, process: Process) -> None:
        arbiter = self.arbiter
        await arbiter.tournaments.stop()
        drained = await arbiter.matches.drain(await arbiter.life.is_last())
        arbiter.sessions.end_all(DRAINING)
        self.gate.streams.end_all(DRAINING)
        await asyncio.sleep(FAREWELL_S)
        for duty in self._duties:
            duty.cancel()
        await asyncio.gather(*self._duties, return_exceptions=True)
        if drained:
            with suppress(StoreFailed):
                await arbiter.life.leave()
        process.kill()

    def stop(self, seconds: float, suspended: bool) -> None:
        """Stop the process for a while, if it serves. suspended: the whole machine, whose clock stands still."""
        if self.is_up and self.process.runs:
            loop = asyncio.get_running_loop()
            self._stopped = self._lost("stopped", loop.time() + seconds)
            self.process.stop()
            self._suspended_s = loop.time() if suspended and self._suspended_s is None else self._suspended_s
            loop.call_later(seconds, self._go_on, self.process)

    def _go_on(self, process: Process) -> None:
        if not process.runs and self._stopped is not None:
            self._stopped.until_s = None if process.is_dead else asyncio.get_running_loop().time()
            self._stopped = None
        if self._suspended_s is not None:
            now_s = asyncio.get_running_loop().time()
            self.machine.lose(now_s - self._suspended_s)
            self.history.resumed_s.append(now_s)
            self._suspended_s = None
        process.go_on()
        self._recovered()

    def cut_off(self, seconds: float, refuses: bool) -> None:
        """Cut the line to the store for a while. If it refuses calls, the bus is cut too."""
        self.line.cut(refuses)
        if self._bus is not None:
            self._bus.cut = refuses
        asyncio.get_running_loop().call_later(seconds, self.mend)

    def mend(self) -> None:
        """Mend the line to the store."""
        self.line.mend()
        if self._bus is not None:
            self._bus.cut = False
        self._recovered()

    def heal(self) -> None:
        """End what faults are left."""
        self.mend()
        self._go_on(self.process)

    # -- work ----------------------------------------------------------------------------------------------------

    def run(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run a coroutine of this process, until the process dies."""
        task = asyncio.create_task(work, context=self.process.context)
        self._tasks[task] = None
        task.add_done_callback(lambda done: self._tasks.pop(done, None))
        return task

    async def ask(self, work: Coroutine[Any, Any, T]) -> T:
        """Have the process do something, and return the result. Raises Refusal."""
        task: asyncio.Task[T] = self.run(work)
        await asyncio.wait((task, self.process.died), timeout=ANSWERS_S, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise AWAY
        return task.result()
