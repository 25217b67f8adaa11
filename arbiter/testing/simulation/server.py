"""A simulated server: an arbiter's use cases with doors onto the simulated network, which crashes and starts again.

Each process of it has a disk, a clock and an arbiter of its own; what outlives them is in `stored`. The doors do what
those in `arbiter.rpc` do, and write down what passes through them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final

from arbiter.bootstrap import Arbiter, Store, World, wire
from arbiter.config import Limits, Settings
from arbiter.errors import Reason, Refusal
from arbiter.games.contract import Seat
from arbiter.matches.commands import (
    AnswerDraw,
    ClaimDraw,
    Create,
    OfferDraw,
    OrganiserRequest,
    Play,
    Resign,
    SeatRequest,
)
from arbiter.matches.requests import Receipt
from arbiter.service.observing.feed import Reached
from arbiter.service.play.session import AnswerItem, Hello, Item, PingItem, Session, TurnItem
from arbiter.service.play.sessions import items_of
from arbiter.service.players.accounts import Caller, Scope
from arbiter.service.ports.journal import StoreFailed
from arbiter.service.ratings.worker import InProcessRating
from arbiter.service.record.published import Published
from arbiter.service.tournaments.ports import InProcessPairing
from arbiter.testing.clock import VirtualClock
from arbiter.testing.guarantees import Bookmarked, Received
from arbiter.testing.memory import CountingIds, MemoryJournal, NoKeys, PlainRules
from arbiter.testing.simulation.disk import Chance, Disk, Index
from arbiter.testing.simulation.history import Ask, Asked, Given, Handed, History, Made, Outage, Stream
from arbiter.testing.simulation.network import Link
from arbiter.testing.simulation.plan import Plan

Wiring = Callable[[Settings, World], Arbiter]
Answer = Receipt | Refusal
CONNECTED: Final = "connected"  #: the first item on a stream that the server has accepted
ENDED: Final = "ended"  #: the last item on a stream that the server ends
AWAY: Final = Refusal(Reason.STORE_UNAVAILABLE, "nobody listens at this address", retry_after_ms=1_000)


class Pong(int):
    """The answer to a ping, by its number."""


class Acknowledged(int):
    """A player has seen the results up to this cursor."""


class Server:
    """The server's machine. `stored` is its disk; `history` is where the doors write."""

    def __init__(self, plan: Plan, history: History, chance: Chance, wiring: Wiring = wire) -> None:
        # Not from the environment: the seed says everything.
        self.settings = Settings.model_construct(limits=Limits(**plan.limits))
        self.stored = MemoryJournal()
        self.directory = Index(chance)
        self.history = history
        self.chance = chance
        self._dice = plan.dice("disk")
        self._wiring = wiring
        self._ids = CountingIds()
        self._secrets: dict[str, str] = {}
        self._tasks: dict[asyncio.Task[Any], None] = {}  # of this process, in the order of their making
        self._links: dict[Link, None] = {}  # to this process
        self.clock = VirtualClock()
        self.disk = Disk(self.stored, self._dice, chance)
        self._crashed: list[Disk] = []  # kept, lest what hangs on them be collected, and be missed by the loop
        self.arbiter = self._wired()
        self.is_up = False

    def _wired(self) -> Arbiter:
        rules = PlainRules()
        store = Store(self.disk, self.directory)
        parts = (self._ids, rules, rules, NoKeys(), InProcessPairing(), InProcessRating())
        return self._wiring(self.settings, World(store, self.clock, *parts))

    @property
    def head(self) -> int:
        """How many records the journal truly holds."""
        return len(self.stored.records)

    # -- life ----------------------------------------------------------------------------------------------------

    async def register(self, players: list[str]) -> None:
        """Make the players, with a token each."""
        operator = Caller("", "", frozenset({Scope.ADMIN.value}))
        for name in players:
            _, self._secrets[name] = await self.arbiter.accounts.create_token(operator, name, (Scope.PLAY,), "")

    async def start(self, clock_jump_ms: int = 0) -> None:
        """Start a process, its clock off by so much from that of the one before; again until the store can be read."""
        while not self.is_up:
            clock = VirtualClock()
            clock.skew_ms = self.clock.skew_ms + clock_jump_ms
            self.clock, self.disk = clock, Disk(self.stored, self._dice, self.chance)
            self.arbiter = self._wired()
            try:
                await self.arbiter.matches.start()
            except StoreFailed:
                self._break_off()
                clock_jump_ms = 0
                await asyncio.sleep(1)
            else:
                self.is_up = True
        self.run(self._sweep(self.arbiter))

    async def _sweep(self, arbiter: Arbiter) -> None:
        while True:
            await asyncio.sleep(self.settings.limits.ping_ms / 1000)
            arbiter.sessions.sweep()

    def _break_off(self) -> None:
        self.disk.crash()
        self._crashed.append(self.disk)

    def crash(self) -> None:
        """Die at once."""
        self._break_off()
        self._gone(graceful=False)

    async def drain(self) -> None:
        """Stop as on SIGTERM: clocks stop, what is under way becomes durable."""
        await self.arbiter.matches.drain()
        self._break_off()
        self._gone(graceful=True)

    def _gone(self, graceful: bool) -> None:
        self.is_up = False
        self.history.outages.append(Outage(self.head, graceful))
        for stream in self.history.streams:
            stream.closed = self.head if stream.closed is None else stream.closed
        tasks, self._tasks = self._tasks, {}
        for task in tasks:
            task.cancel()
        links, self._links = self._links, {}
        for link in links:
            link.cut(below_after_s=self._dice.uniform(0.0, 0.5), above_after_s=None)

    def _serve(self, link: Link, work: Coroutine[Any, Any, None]) -> None:
        """Serve a stream, until either end of its connection is lost."""
        task = self.run(work)
        self._links[link] = None
        task.add_done_callback(lambda done: self._links.pop(link, None))
        link.lost_above = lambda: _cancel(task)

    def run(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Do some work of this process, until it dies."""
        task = asyncio.create_task(work)
        self._tasks[task] = None
        task.add_done_callback(lambda done: self._tasks.pop(done, None))
        return task

    # -- the door of unary calls ---------------------------------------------------------------------------------

    def request(self, player: str, ask: Ask) -> asyncio.Future[Answer]:
        """Take a player's request by a unary call."""
        if not self.is_up:
            return _now(AWAY)
        self._note(player, ask, streamed=False)
        answered = self.arbiter.matches.request(player, ask.match_id, lambda seat: self._command(ask, seat))
        answered.add_done_callback(lambda done: self._given(player, ask.match_id, ask.request, done.result()))
        return answered

    def _note(self, player: str, ask: Ask, streamed: bool) -> None:
        self.history.asked.append(Asked(player, ask, self.clock.now_ms(), streamed))

    def _given(self, player: str, match_id: str, request: str, answer: Answer) -> None:
        self.history.given.append(Given(player, match_id, request, answer, self.head))

    def _command(self, ask: Ask, seat: Seat) -> SeatRequest:
        match ask.verb:
            case "move":
                return Play(seat, ask.request, ask.ply, ask.move, self.clock.now_ms())
            case "offer":
                return OfferDraw(seat, ask.request)
            case "answer":
                return AnswerDraw(seat, ask.request, ask.accept)
            case "claim":
                return ClaimDraw(seat, ask.request)
            case _:
                return Resign(seat, ask.request)

    def create(self, command: Create) -> asyncio.Future[Made]:
        """Make a match for the organiser."""
        return self.run(self._create(command)) if self.is_up else _failed(AWAY)

    async def _create(self, command: Create) -> Made:
        made = Made(command.request, (await self.arbiter.matches.create(command)).id, 0)
        made = made._replace(head=self.head)
        self.history.made.append(made)
        return made

    def judge(self, match_id: str, command: OrganiserRequest) -> asyncio.Future[Answer]:
        """End a match for the organiser."""
        return self.run(self._judge(match_id, command)) if self.is_up else _now(AWAY)

    async def _judge(self, match_id: str, command: OrganiserRequest) -> Answer:
        answer = await self.arbiter.matches.answer(match_id, command)
        self._given(command.by, match_id, command.request, answer)
        return answer

    # -- the door of Play streams --------------------------------------------------------------------------------

    def connect(self, player: str, link: Link) -> None:
        """Take a Play stream."""
        if self.is_up:
            self._serve(link, self._play(self.arbiter, player, link))
        else:
            link.cut(above_after_s=None)

    async def _play(self, arbiter: Arbiter, player: str, link: Link) -> None:
        try:
            caller = await arbiter.accounts.authenticate(self._secrets[player])
            session = await arbiter.sessions.open(caller, Hello())
        except Refusal:
            link.cut(above_after_s=None)
            return
        stream = Stream(player, self.head)
        self.history.streams.append(stream)
        link.heard_above = lambda acts: self._hear(arbiter, session, acts)
        link.down.send([CONNECTED])
        try:
            while items := await items_of(session):
                stream.taken.append(self.head)
                for item in items:
                    self._sending(arbiter, session, item)
                session.write_began(self.clock.now_ms())
                link.down.send(items)
                await link.down.room()
                session.write_ended(self.clock.now_ms())
        finally:
            link.heard_above = lambda acts: None
            if stream.closed is None:
                stream.closed = self.head
            arbiter.sessions.close(session)
        link.down.send([ENDED])

    def _sending(self, arbiter: Arbiter, session: Session, item: Item) -> None:
        now = self.clock.now_ms()
        match item:
            case TurnItem():
                arbiter.delivery.turn_sent(session, item, now)
                match = item.match
                process = len(self.history.outages)
                self.history.handed.append(
                    Handed(session.player, process, match.id, match.revision, match.ply, match.since, now, self.head)
                )
            case PingItem():
                session.ping_sent(item.number, now)
            case AnswerItem():
                self._given(session.player, item.match_id, item.request_id, item.answer)
            case _:
                pass

    def _hear(self, arbiter: Arbiter, session: Session, acts: list[Any]) -> None:
        arrived = self.clock.now_ms()
        for act in acts:
            if session.ended is not None:
                return
            arbiter.acts.arrived(session, isinstance(act, Ask) and act.verb == "move", arrived)
            match act:
                case Ask():
                    self._note(session.player, act, streamed=True)
                    self._ask(arbiter, session, act, arrived)
                case Pong():
                    session.pong_arrived(int(act), arrived)
                case Acknowledged():
                    arbiter.sessions.acknowledge(session, str(int(act)))

    def _ask(self, arbiter: Arbiter, session: Session, ask: Ask, arrived: int) -> None:
        request, match_id = ask.request, ask.match_id
        match ask.verb:
            case "move":
                arbiter.acts.play(session, request, match_id, ask.ply, ask.move, arrived)
            case "offer":
                arbiter.acts.offer_draw(session, request, match_id)
            case "answer":
                arbiter.acts.answer_draw(session, request, match_id, ask.accept)
            case "claim":
                arbiter.acts.claim_draw(session, request, match_id)
            case _:
                arbiter.acts.resign(session, request, match_id)

    # -- the door of observers -----------------------------------------------------------------------------------

    def observe(self, match_id: str, label: str, after: int | None, link: Link) -> None:
        """Take a stream of events: of a match, or of everything (with a label) if `match_id` is ''."""
        if self.is_up:
            self._serve(link, self._observe(self.arbiter, match_id, label, after, link))
        else:
            link.cut(above_after_s=None)

    async def _observe(self, arbiter: Arbiter, match_id: str, label: str, after: int | None, link: Link) -> None:
        feed = arbiter.feed
        try:
            async with feed.of_match(match_id, after or 0) if match_id else feed.of_all(after, label) as stream:
                async for batch in stream:
                    link.down.send((self.head, _items(batch)))
                    await link.down.room()
        except Refusal as refusal:
            link.down.send((self.head, [refusal]))
        else:
            link.down.send((self.head, [None]))


def _items(batch: list[Published] | Reached) -> list[tuple[Received | Bookmarked, int]]:
    """Return what an observer gets of a batch: each item with its journal place (a bookmark's revision or place)."""
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
