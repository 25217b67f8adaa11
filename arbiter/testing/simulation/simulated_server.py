"""A simulated server: an arbiter on the simulated network, which crashes and restarts.

Each process has its own disk, clock and arbiter; the data that outlives them is in `stored`. Play streams use the real
servicer (`arbiter.rpc.play_stream`); unary calls and observers ask the real gate (`gate_calls`). Everything that passes
is recorded in the history.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeVar, cast

import structlog

from arbiter.bootstrap.running_server import gate_of
from arbiter.bootstrap.store import Store
from arbiter.bootstrap.wiring import Arbiter, wire
from arbiter.bootstrap.world import World
from arbiter.config import Limits, Settings
from arbiter.errors import Reason, Refusal
from arbiter.matches.commands import Create, OrganiserRequest
from arbiter.rpc.observe import Observations as EventStreams
from arbiter.rpc.play_stream import PlayStreams
from arbiter.rpc.unread import Unread
from arbiter.service.observing.feed import Reached
from arbiter.service.observing.relay import Then
from arbiter.service.play.stalls import watch_for_stalls
from arbiter.service.players.accounts import Accounts, Caller, Scope
from arbiter.service.ports.directory import Directory
from arbiter.service.ports.environment import Clock
from arbiter.service.ports.journal import StoreFailed
from arbiter.service.ratings.rating_work import InProcessRating
from arbiter.service.record.published import Published
from arbiter.service.tournaments.tournament_ports import InProcessPairing
from arbiter.testing.clock import VirtualClock, VirtualLoop
from arbiter.testing.guarantees import Bookmarked, Received
from arbiter.testing.memory import CountingIds, MemoryJournal, MemorySnapshots, NoKeys, PlainRules
from arbiter.testing.simulation.disk import Chance, Disk, FaultyDirectory
from arbiter.testing.simulation.gate_calls import OBSERVER, SCOPES, Answer, GateCalls
from arbiter.testing.simulation.log_lock import LogLock
from arbiter.testing.simulation.observations import (
    AskedStream,
    CreatedMatch,
    Outage,
    Request,
    RunObservations,
    Stall,
)
from arbiter.testing.simulation.plan import ORGANISER, Fault, Plan
from arbiter.testing.simulation.play_calls import ENDED, PlayCall, RecordedMessages
from arbiter.testing.simulation.simulated_network import Link

T = TypeVar("T")
Wiring = Callable[[Settings, World], Arbiter]
AWAY: Final = Refusal(Reason.STORE_UNAVAILABLE, "nobody listens at this address", retry_after_ms=1_000)


class HeldCall(Protocol):
    """A call of a client that may not read; see `arbiter.testing.simulation.readers`."""

    def over(self) -> None:
        """Note that its connection is lost."""


class StoredData(NamedTuple):
    """What outlives every process: the log, players and their tokens, and the ids that are given out.

    lock: on the log. snapshots: of tournaments.
    """

    journal: MemoryJournal
    directory: Directory
    ids: CountingIds
    secrets: dict[str, str]
    lock: LogLock
    snapshots: MemorySnapshots


class Server:
    """The server's machine. `stored` is its disk; `history` is where observations are recorded.

    number: of the server, where there are several.
    """

    number = 0

    def __init__(
        self,
        plan: Plan,
        history: RunObservations,
        chance: Chance,
        wiring: Wiring = wire,
        data: StoredData | None = None,
        name: str = "disk",
    ) -> None:
        # Not from the environment: only the seed may decide.
        # Nor the processor time that background work takes.
        self.settings = Settings.model_construct(limits=Limits(background_percent=100, **plan.limits))
        self.data = data = data or _data_of_one(chance, history)
        self.stored = data.journal
        self.history = history
        self.chance = chance
        self._stalls = Fault.SERVER_STALL in plan.faults
        self._dice = plan.dice(name)
        self._wiring = wiring
        self._tasks: dict[asyncio.Task[Any], None] = {}  # of this process, in order of creation
        self._links: dict[Link, None] = {}  # to this process
        self.disk: Disk
        self.clock: VirtualClock
        self._observed = 0  # streams of events
        self._crashed: list[Disk] = []  # keeps their tasks from garbage collection
        self.arbiter: Arbiter
        self.is_up = False

    def _begin_anew(self, skew_ms: int) -> None:
        """Build the parts of a process, whose clock is wrong by this much."""
        self.clock = clock = VirtualClock()
        clock.skew_ms = skew_ms
        self.disk = Disk(self.stored, self._dice, self.chance, self.data.lock)
        self._wire(self._world(Store(self.disk, self.data.directory, snapshots=self.data.snapshots), clock))

    def _world(self, store: Store, clock: Clock) -> World:
        rules = PlainRules()
        return World(store, clock, self.data.ids, rules, rules, NoKeys(), InProcessPairing(), InProcessRating())

    def _wire(self, world: World) -> None:
        """Build the arbiter of a process, and its servicer for Play streams."""
        self.arbiter = arbiter = self._wiring(self.settings, world)
        self.history.processes += 1
        self._process = self.history.processes
        self._messages = RecordedMessages(
            arbiter, world.clock, self.history, self.stored, self.history.processes, self.number
        )
        gate = gate_of(self.settings, world, arbiter)
        limits = self.settings.limits
        self.gate, self.log = gate, structlog.get_logger("arbiter.rpc")
        self.play_calls: dict[PlayCall, str] = {}  # with the player of each
        self.held_calls: dict[str, tuple[HeldCall, asyncio.Task[Any]]] = {}  # by peer
        self.unread = unread = Unread(limits, self._close, self.log)
        self.calls = GateCalls(
            gate.matches, self.data.secrets, self.history, self.stored, world.clock, self.history.processes
        )
        self.observations = EventStreams(gate.matches, unread, limits)
        self.play_streams = PlayStreams(gate.play, arbiter.sessions, self._messages, world.clock, unread, limits)

    @property
    def head(self) -> int:
        """The number of records that the journal holds."""
        return len(self.stored.records)

    # -- lifecycle -----------------------------------------------------------------------------------------------

    async def register(self, players: list[str]) -> None:
        """Create the players, the organiser and the observers' account, with a token each."""
        self._begin_anew(0)
        await register(self.arbiter.accounts, players, self.data.secrets)

    async def start(self, clock_jump_ms: int = 0) -> None:
        """Start a process whose clock differs by this much from the one before; retry until the store can be read."""
        while not self.is_up:
            self._begin_anew(self.clock.skew_ms + clock_jump_ms)
            try:
                await self.arbiter.matches.begin()
            except StoreFailed:
                self._break_off()
                clock_jump_ms = 0
                await asyncio.sleep(1)
            else:
                self.is_up = True
        self.run(self.arbiter.matches.revive_rest())
        ping_s = self.settings.limits.ping_ms / 1000
        self.run(self._watch(self.arbiter) if self._stalls else _sweep(self.arbiter, ping_s))
        self.run(self.arbiter.challenges.complete_always())

    async def _watch(self, arbiter: Arbiter) -> None:
        log = structlog.get_logger("arbiter.stalls")
        await watch_for_stalls(arbiter.stalls, arbiter.sessions, arbiter.matches, self.settings.limits, log)

    def stall(self, seconds: float) -> None:
        """Let time pass while nothing runs here. What is due meanwhile, also elsewhere, is done afterwards."""
        began_at = self.clock.now_ms()
        cast(VirtualLoop, asyncio.get_running_loop()).hold_up(seconds)
        self.history.stalls.append(Stall(self._process, began_at, self.clock.now_ms()))

    def _break_off(self) -> None:
        self.disk.crash()
        self._crashed.append(self.disk)

    def crash(self, graceful: bool = False) -> None:
        """End at once. graceful: it has drained before."""
        self._break_off()
        self.history.outages.append(Outage(self.head, graceful))
        self._leave()

    async def drain(self) -> None:
        """Shut down as on SIGTERM: clocks stop, and appends under way become durable."""
        await self.arbiter.matches.drain()
        self.crash(graceful=True)

    def _leave(self) -> None:
        """End everything of this process that can be seen from outside."""
        self.is_up = False
        for call in self.play_calls:
            call.note_end()
        self._messages.crash()
        tasks, self._tasks = self._tasks, {}
        for task in tasks:
            task.cancel()
        links, self._links = self._links, {}
        for link in links:
            link.cut(below_after_s=self._dice.uniform(0.0, 0.5), above_after_s=None)

    def _serve(self, link: Link, work: Coroutine[Any, Any, None]) -> None:
        """Serve a stream until either end of its connection is lost."""
        task = self.run(work)
        self._links[link] = None
        task.add_done_callback(lambda done: self._links.pop(link, None))
        link.on_loss_above = lambda: _cancel(task)

    def fine_since(self, at_s: float) -> bool:
        """Return whether nothing has kept the server from its work since an instant of virtual time."""
        return self.is_up

    async def ask(self, work: Coroutine[Any, Any, T]) -> T:
        """Have the process do something, and return the result. Raises Refusal."""
        return await work

    def run(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run a coroutine of this process, until the process dies."""
        task = asyncio.create_task(work)
        self._tasks[task] = None
        task.add_done_callback(lambda done: self._tasks.pop(done, None))
        return task

    def _close(self, peer: str) -> None:
        """Close the connection of a client that does not read: its calls are over, and their handlers cancelled."""
        if peer in self.held_calls:
            call, task = self.held_calls.pop(peer)
            task.cancel()
            call.over()

    # -- unary calls ---------------------------------------------------------------------------------------------

    def request(self, player: str, ask: Request) -> asyncio.Future[Answer]:
        """Handle a player's request by a unary call."""
        return self.run(self.calls.request(player, ask)) if self.is_up else _now(AWAY)

    def create(self, command: Create) -> asyncio.Future[CreatedMatch]:
        """Create a match for the organiser."""
        return self.run(self.calls.create(command)) if self.is_up else _failed(AWAY)

    def judge(self, match_id: str, command: OrganiserRequest) -> asyncio.Future[Answer]:
        """End a match for the organiser."""
        return self.run(self.calls.judge(match_id, command)) if self.is_up else _now(AWAY)

    # -- Play streams --------------------------------------------------------------------------------------------

    def connect(self, player: str, link: Link) -> None:
        """Accept a Play stream."""
        if self.is_up:
            self.history.opened_s[player, self.number] = asyncio.get_running_loop().time()
            self._serve(link, self._play(self.play_streams, self.play_calls, player, link))
        else:
            link.cut(above_after_s=None)

    async def _play(self, streams: PlayStreams, calls: dict[PlayCall, str], player: str, link: Link) -> None:
        asked = AskedStream(player, self.number, self._process)
        self.history.asked_streams.append(asked)
        call = PlayCall(link, self.data.secrets[player], asked)
        calls[call] = player
        try:
            await streams.serve(call)
        except Refusal:
            if not call.begun:
                link.cut(above_after_s=None)
                return
        finally:
            del calls[call]
            call.close()
        link.down.send(ENDED)

    # -- observers -----------------------------------------------------------------------------------------------

    def observe(self, match_id: str, label: str, after: int | None, link: Link) -> None:
        """Accept a stream of events: of a match, or of everything (with a label) if `match_id` is ''."""
        if self.is_up:
            self._serve(link, self._observe(self.calls, match_id, label, after, link))
        else:
            link.cut(above_after_s=None)

    async def _observe(self, calls: GateCalls, match_id: str, label: str, after: int | None, link: Link) -> None:
        self._observed += 1
        writer = _LinkWriter(self, link)
        try:
            async with calls.observe(match_id, label, after) as stream:
                if self._observed % 2:  # the others have the events from the task alone
                    stream.relay_to(writer.write)
                async for batch in stream:
                    link.down.send((self.head, _items(batch)))
                    await link.down.room()
        except Refusal as refusal:
            link.down.send((self.head, [refusal]))
        else:
            link.down.send((self.head, [None]))
        finally:
            writer.stop()


class _LinkWriter:
    """Sends on a link what the relay of a stream passes on, as `arbiter.rpc.live_events` does on a call."""

    def __init__(self, server: Server, link: Link) -> None:
        self._server = server
        self._down = link.down
        self._waiting: asyncio.Task[None] | None = None

    def write(self, events: Sequence[Published], then: Then) -> bool:
        self._down.send((self._server.head, _items(list(events))))
        self._waiting = asyncio.create_task(self._down.room())
        self._waiting.add_done_callback(lambda waiting: None if waiting.cancelled() else then(None))
        return True

    def stop(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()


async def _sweep(arbiter: Arbiter, every_s: float) -> None:
    while True:
        await asyncio.sleep(every_s)
        arbiter.sessions.pings.sweep()


def _data_of_one(chance: Chance, history: RunObservations) -> StoredData:
    """Return the data of a server that is alone on its store."""
    lock = LogLock(history.holds)
    return StoredData(MemoryJournal(), FaultyDirectory(chance, lock), CountingIds(), {}, lock, MemorySnapshots())


async def register(accounts: Accounts, players: list[str], secrets: dict[str, str]) -> None:
    """Create the players, the organiser and the observers' account; put the secret of a token of each in `secrets`."""
    operator = Caller("", "", frozenset({Scope.ADMIN.value}))
    for name in (*players, ORGANISER, OBSERVER):
        _, secrets[name] = await accounts.create_token(operator, name, (SCOPES.get(name, Scope.PLAY),), "")


def _items(batch: list[Published] | Reached) -> list[tuple[Received | Bookmarked, int]]:
    """Return an observer's share of a batch: items with their journal positions (a bookmark's revision or position)."""
    if isinstance(batch, Reached):
        return [(Bookmarked(batch.place), batch.place)]
    return [(Received(event.match_id, event.revision, event.body), event.sequence) for event in batch]


def _cancel(task: asyncio.Task[Any]) -> None:
    task.cancel()


def _now(answer: Answer) -> asyncio.Future[Answer]:
    future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    future.set_result(answer)
    return future


def _failed(refusal: Refusal) -> asyncio.Future[Any]:
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    future.set_exception(refusal)
    return future
