"""The use cases of an arbiter on in-memory ports, for tests in virtual time: no threads, no sockets, no randomness."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from arbiter.bootstrap.running_server import started
from arbiter.bootstrap.store import Store
from arbiter.bootstrap.wiring import Arbiter, wire
from arbiter.bootstrap.world import NO_JUDGES, World
from arbiter.config import Settings, load
from arbiter.matches.commands import Create
from arbiter.matches.match import Match, with_position
from arbiter.matches.policy import Policy
from arbiter.matches.requests import Receipt
from arbiter.service.matches.live import DRAINING
from arbiter.service.matches.live_match import Answer
from arbiter.service.matches.transcripts import Signer
from arbiter.service.play.session import AnswerItem, EndedItem, Extras, Hello, Item, Session, TurnItem
from arbiter.service.players.accounts import Caller, Scope
from arbiter.service.ratings.rating_work import InProcessRating
from arbiter.service.tournaments.adjudicators import Adjudicators
from arbiter.service.tournaments.tournament_ports import InProcessPairing
from arbiter.testing.clock import VirtualClock, settle
from arbiter.testing.faults import FaultyJournal
from arbiter.testing.memory import CountingIds, MemoryBroker, MemoryDirectory, MemoryJournal, NoKeys, PlainRules
from arbiter.testing.stuck_matches import StuckMatch, sweep


class InMemoryArbiter:
    """An arbiter without transport. `restart` drops all state that is not stored, as a crash does.

    journal: the stored records, with fault injection. rules: computes the lists of moves that turns carry. signer:
    holds the signing keys; without one, nothing is signed. judges: the plug-ins that adjudicate; none by default.
    clock: virtual time by default. broker: carries the bus of servers that share the store; without one, there is none.
    """

    def __init__(
        self,
        store: Store | None = None,
        signer: Signer | None = None,
        judges: Adjudicators = NO_JUDGES,
        ids: CountingIds | None = None,
        clock: VirtualClock | None = None,
        broker: MemoryBroker | None = None,
        **given: Any,
    ) -> None:
        self._given = given
        self.settings: Settings = load(None, **given)
        self._signer = signer or NoKeys()
        self._judges = judges
        self._store = store or Store(MemoryJournal(), MemoryDirectory())
        self.clock = clock or VirtualClock()
        self.ids = ids or CountingIds()
        self.journal = FaultyJournal(self._store.journal)
        self.rules = PlainRules()
        self._broker = broker
        self.bus = broker.bus() if broker is not None else None
        self.arbiter = self._wire()
        self.tasks: list[asyncio.Task[None]] = []  # of a server that shares its store
        self._requests = 0

    def _wire(self) -> Arbiter:
        store, rules = self._store._replace(journal=self.journal), self.rules
        world = World(
            store, self.clock, self.ids, rules, rules, self._signer, InProcessPairing(), InProcessRating(), self._judges
        )
        world = world._replace(bus=self.bus)
        return wire(self.settings, world)

    def beside(self, clock: VirtualClock | None = None, **changed: Any) -> InMemoryArbiter:
        """Return another server over the same store, with a clock of its own and other settings if these are given.

        It serves nothing yet, and faults are injected into each server alone.
        """
        given = self._given | changed
        return InMemoryArbiter(self._store, self._signer, self._judges, self.ids, clock, self._broker, **given)

    async def share(self) -> int:
        """Start as one of the servers that share the store; return the number of matches that go on."""
        life = self.arbiter.life
        self.tasks = [asyncio.create_task(duty) for duty in life.first_duties()]
        _, matches = await started(self.arbiter)
        duties = (*life.duties(), self.arbiter.challenges.complete_always())
        self.tasks += [asyncio.create_task(duty) for duty in duties]
        return matches

    async def die(self) -> None:
        """Stop like a process that is killed: nothing is stored or sent from here on."""
        self.journal.hold = True
        if self.bus is not None:
            self.bus.cut = True
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.arbiter.matches.live.cancel_timers()
        await self.arbiter.tournaments.stop()

    async def drain(self) -> None:
        """Stop like a process that gets a signal: its players continue on other servers."""
        await self.arbiter.tournaments.stop()
        drained = await self.arbiter.matches.drain(await self.arbiter.life.is_last())
        self.arbiter.sessions.end_all(DRAINING)
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        if drained:
            await self.arbiter.life.leave()

    async def restart(self, at_once: bool = True) -> int:
        """Restart from the stored data, as after a crash; return the number of matches that go on.

        at_once: all matches become live now. Otherwise each does when it is asked for, as at a server that serves at
        once.
        """
        self.journal.hold = True  # nothing of the old arbiter is stored from here on
        await self.arbiter.tournaments.stop()
        self.journal = FaultyJournal(self._store.journal)
        self.arbiter = self._wire()
        await self.arbiter.accounts.profiles.begin()
        matches = await (self.arbiter.matches.start() if at_once else self.arbiter.matches.begin())
        await self.arbiter.tournaments.start()
        return matches

    async def stuck_matches(self) -> list[StuckMatch]:
        """Run all ready callbacks, then return the matches that would never make progress again."""
        await settle()
        unfinished = await self._store.journal.unfinished()
        return sweep(self.arbiter.matches.live, self.arbiter.matches.recoveries, unfinished, self.clock.now_ms())

    async def caller(self, name: str, *scopes: Scope) -> Caller:
        """Return a player as a caller with a token of its own; register it if needed. The default scope is play."""
        operator = Caller("", "", frozenset({Scope.ADMIN.value}))
        _, secret = await self.arbiter.accounts.create_token(operator, name, scopes or (Scope.PLAY,), "")
        return await self.arbiter.accounts.authenticate(secret)

    async def connect(self, name: str, **hello: Any) -> StreamReader:
        """Open a Play stream for a player."""
        return StreamReader(self, await self.arbiter.sessions.open(await self.caller(name), Hello(**hello)))

    async def create(
        self,
        game: str = "circle-of-life",
        players: Sequence[str] = ("alice", "bob"),
        time: str = "1m+1s",
        request: str = "",
        policy: Policy | None = None,
        label: str = "",
        opening: tuple[str, ...] = (),
        rated: bool = False,
        position: str = "",
    ) -> Match:
        """Create a match as the organiser `org`."""
        self._requests += 1
        first, second = players
        command = Create(
            game,
            (first, second),
            time,
            "org",
            request or f"r{self._requests}",
            policy or self.arbiter.policy,
            rated,
            label,
            opening=opening,
            position=position,
        )
        return await self.arbiter.matches.create(command)


async def items_of(session: Session) -> list[Item]:
    """Wait for items on a stream, and take all of them; none once the stream has ended."""
    while not session.outbox and not session.is_done:
        more = asyncio.Event()
        session.call_with_items(more.set)
        await more.wait()
    items = list(session.outbox)
    session.outbox.clear()
    return items


class StreamReader:
    """The client's end of a Play stream: receives items and keeps them."""

    def __init__(self, server: InMemoryArbiter, session: Session) -> None:
        self.server = server
        self.session = session
        self.received: list[Item] = []
        self._requests = 0

    async def receive(self) -> list[Item]:
        """Run all ready callbacks, then take the queued items and process them as the servicer does."""
        await settle()
        heard: list[Item] = []
        while self.session.waiting:
            heard += await items_of(self.session)
        for item in heard:
            if isinstance(item, TurnItem):
                self.server.arbiter.delivery.turn_sent(self.session, item, self.server.clock.now_ms())
        self.received += heard
        return heard

    def play(self, match_id: str, ply: int, move: str, request: str = "") -> str:
        """Send a move; return its request id."""
        self._requests += 1
        name = request or f"{self.session.player} {self._requests}"
        now = self.server.clock.now_ms()
        self.server.arbiter.acts.play(self.session, name, match_id, ply, move, now)
        return name

    def ready(self, match_id: str) -> None:
        """Say that the bot is ready for a match."""
        self.server.arbiter.acts.ready(self.session, match_id)

    def reply(self, turn: TurnItem) -> str:
        """Play the first legal move of a turn; return the request id."""
        match = turn.match
        return self.play(match.id, match.ply, min(match.game.moves(with_position(match).position)))

    async def turn(self) -> TurnItem:
        """Return the current turn."""
        return next(item for item in reversed(await self.receive()) if isinstance(item, TurnItem))

    def answer(self, request: str) -> Answer:
        """Return the received answer to a request."""
        return next(
            item.answer for item in self.received if isinstance(item, AnswerItem) and item.request_id == request
        )

    def receipt(self, request: str) -> Receipt:
        """Return the received receipt of a request."""
        answer = self.answer(request)
        if not isinstance(answer, Receipt):
            raise answer
        return answer

    @property
    def results(self) -> list[EndedItem]:
        """Return the received results."""
        return [item for item in self.received if isinstance(item, EndedItem)]

    def leave(self) -> None:
        """Close the stream from the client's side."""
        self.server.arbiter.sessions.close(self.session)


EVERYTHING = Extras(board=True, legal_move_count=True, legal_moves_up_to=100, steps=True)
"""All that a turn can carry."""
