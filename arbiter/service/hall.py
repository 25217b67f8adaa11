"""The hall: every match that has not ended, live in memory, and the one place where commands reach matches.

A command is decided at once on the newest state; its events go to the journal, and nothing is told to anybody (answer,
stream, next turn) before they are durable. So each match has two states: `newest`, which commands meet, and `durable`,
which is what the world may see.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.games.contract import Seat
from arbiter.matches import evolution, time_control, transitions
from arbiter.matches.commands import Arrive, Command, Create, Fault, Interrupt, Interruption, Leave, SeatRequest, Tick
from arbiter.matches.events import Created, Ended, Event
from arbiter.matches.match import Match, Phase, deadline, settled
from arbiter.matches.record import Sealed, read, seal, seal_first
from arbiter.matches.requests import Receipt
from arbiter.matches.transitions import Decision
from arbiter.service.feed import Feed, Published
from arbiter.service.ports import (
    RETRY_MS,
    Append,
    Clock,
    Filter,
    Ids,
    Journal,
    JournalConflict,
    MatchEnd,
    MatchRow,
    Record,
    StoredRecord,
    StoreFailed,
)
from arbiter.service.undivided import Undivided

Answer = Receipt | Refusal
Listener = Callable[[Match, Sequence[Published]], None]

ENDED_KEPT = 1_000  #: ended matches that stay in memory, for repeated requests and late readers
DRAINING = Refusal(Reason.DRAINING, "the server is stopping: connect again in a while", retry_after_ms=1_000)


@dataclass(eq=False, slots=True)
class _Live:
    newest: Match
    durable: Match | None
    writing: int = 0  # appends under way
    tail: asyncio.Future[int] | None = None
    timer: asyncio.TimerHandle | None = None
    failed: bool = False  # what is in memory is ahead of the record: it is being read again
    failures: int = 0  # in a row


class Hall:
    """All live matches. Everything here runs on one event loop; only the journal's writes happen elsewhere."""

    def __init__(self, journal: Journal, clock: Clock, ids: Ids, limits: Limits) -> None:
        self._journal = journal
        self._clock = clock
        self._ids = ids
        self._limits = limits
        self._live: dict[str, _Live] = {}
        self._ended: OrderedDict[str, Match] = OrderedDict()
        self._of_player: dict[str, set[str]] = {}
        self._listeners: list[Listener] = []
        self._present: Callable[[str], bool] = lambda player: False
        self._draining = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._undivided = Undivided()
        self.feed = Feed(journal, limits, self.match)
        self._log = structlog.get_logger("arbiter.hall")

    def listen(self, listener: Listener, present: Callable[[str], bool]) -> None:
        """Have a function called with each match and its events once they are durable.

        `present` tells whether a player can be reached now: a new match finds it there.
        """
        self._listeners.append(listener)
        self._present = present

    # -- life ----------------------------------------------------------------------------------------------------

    async def start(self) -> int:
        """Read the matches that have not ended, and let them go on: the outage is charged to nobody.

        Returns how many there are.
        """
        unfinished = await self._journal.unfinished()
        for match_id in unfinished:
            self._enter(await self._read(match_id))
        answers = [self._decide(live, Interrupt(Interruption.RESTART)) for live in list(self._live.values())]
        await asyncio.gather(*answers)
        return len(unfinished)

    async def drain(self) -> None:
        """Take nothing more, stop the clocks, and wait until all of it is durable."""
        self._draining = True
        live = list(self._live.values())
        await asyncio.gather(
            *(self._decide(match, Interrupt(Interruption.DRAIN)) for match in live), return_exceptions=True
        )
        for match in live:
            if match.timer is not None:
                match.timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def draining(self) -> bool:
        """Whether the server is stopping."""
        return self._draining

    # -- commands ------------------------------------------------------------------------------------------------

    async def create(self, command: Create) -> Match:
        """Make a match, or return the one that the same request has made before.

        Raises Refusal REQUEST_ID_REUSED, RATE_LIMITED, DRAINING, STORE_UNAVAILABLE and what the command's values meet.
        """
        if self._draining:
            raise DRAINING
        return await self._undivided.run(self._create(command))

    async def _create(self, command: Create) -> Match:
        known = await self._known(command)
        if known is not None:
            return known
        self._check_room(command.players)
        match_id = self._ids.new("m")
        events = transitions.create(match_id, command, self._clock.now_ms()).events
        first, *others = events
        assert isinstance(first, Created)
        match = evolution.begin(first)
        for event in others:
            match = evolution.evolve(match, event)
        live = self._enter(match, durable=False)
        try:
            await self._append(live, events, seal_first(match_id, events), opened=_row(first))
        except JournalConflict:  # the same request came twice at the same time, and the other was first
            self._leave(live)
            known = await self._known(command)
            assert known is not None
            return known
        except StoreFailed:
            self._leave(live)
            raise
        for player in match.players:
            if self._present(player):
                self._tell_match(live, player, Arrive)
        return live.durable or match

    async def act(self, match_id: str, command: Command) -> Receipt:
        """Let a match decide a command; returns once what it did is durable.

        Raises the refusal, MATCH_NOT_FOUND, DRAINING or STORE_UNAVAILABLE.
        """
        answer = await self.answer(match_id, command)
        if isinstance(answer, Refusal):
            raise answer
        return answer

    def request(self, player: str, match_id: str, make: Callable[[Seat], SeatRequest]) -> asyncio.Future[Answer]:
        """Let a match decide a player's request; `make` makes the command, given the seat that the player holds.

        A live match decides before this returns; the answer comes once all that it rests on is durable. A player that
        shows itself by a request counts as present where its match still waits for it. Refusals are answers; beyond
        those of `act` there is SEAT_NOT_YOURS.
        """
        live = self._live.get(match_id)
        if live is None or self._draining:
            return asyncio.ensure_future(self._request_of_ended(player, match_id, make))
        seat = seat_of(live.newest, player)
        if seat is None:
            return _answered(_seat_not_yours(player, match_id))
        if live.newest.phase is Phase.PENDING:
            self._decide(live, Arrive(seat))
        return self._decide(live, make(seat))

    async def _request_of_ended(self, player: str, match_id: str, make: Callable[[Seat], SeatRequest]) -> Answer:
        try:
            match = await self.match(match_id)
        except Refusal as refusal:
            return refusal
        seat = seat_of(match, player)
        return _seat_not_yours(player, match_id) if seat is None else await self.answer(match_id, make(seat))

    async def answer(self, match_id: str, command: Command) -> Answer:
        """Let a match decide a command, as `act` does, but return a refusal as an answer."""
        if self._draining:
            return DRAINING
        live = self._live.get(match_id)
        if live is not None:
            return await self._decide(live, command)
        try:
            match = await self.match(match_id)
        except Refusal as refusal:
            return refusal
        return transitions.decide(match, command, self._clock.now_ms()).answer  # it has ended: nothing happens to it

    def present(self, player: str) -> None:
        """Let a player's matches know that it can be reached from now on."""
        self._tell(player, Arrive)

    def absent(self, player: str) -> None:
        """Let a player's matches know that it can be reached no longer."""
        self._tell(player, Leave)

    def _tell(self, player: str, command: type[Arrive] | type[Leave]) -> None:
        if self._draining:
            return
        for match_id in list(self._of_player.get(player, ())):
            self._tell_match(self._live[match_id], player, command)

    def _tell_match(self, live: _Live, player: str, command: type[Arrive] | type[Leave]) -> None:
        seat = seat_of(live.newest, player)
        assert seat is not None
        if not self._draining:
            self._decide(live, command(seat))

    # -- reading -------------------------------------------------------------------------------------------------

    async def match(self, match_id: str) -> Match:
        """Return a match as far as it is durable. Raises Refusal MATCH_NOT_FOUND."""
        live = self._live.get(match_id)
        if live is not None and live.durable is not None:
            return live.durable
        match = self._ended.get(match_id)
        if match is None:
            match = await self._read(match_id)
            self._keep(match)
        return match

    def turn_since(self, match_id: str) -> int | None:
        """Return when the turn of a live match began, on its newest state; None if no clock of it runs."""
        live = self._live.get(match_id)
        return live.newest.turn_started if live is not None else None

    def is_current(self, match: Match) -> bool:
        """Say whether a match is still at the turn that it was at, as far as is durable."""
        live = self._live.get(match.id)
        now = live.durable if live is not None else None
        return now is not None and (now.phase, now.ply, now.since) == (match.phase, match.ply, match.since)

    def unfinished(self, player: str) -> list[Match]:
        """Return a player's matches that have not ended, as far as they are durable, oldest first."""
        found = [self._live[match_id].durable for match_id in self._of_player.get(player, ())]
        return sorted((match for match in found if match is not None), key=lambda match: match.id)

    async def rows(self, which: Filter, before: int, most: int) -> list[MatchRow]:
        """Return what lists show of matches, newest first."""
        return await self._journal.rows(which, before, most)

    async def results(self, player: str, after: int, most: int) -> list[MatchRow]:
        """Return a player's ended matches after a journal place, in order."""
        return await self._journal.results(player, after, most)

    async def record(self, match_id: str, after: int, most: int) -> list[StoredRecord]:
        """Return records of a match after a revision, in order. Raises Refusal MATCH_NOT_FOUND."""
        records = await self._journal.read(match_id, after, most)
        if not records and not after:
            raise not_found(match_id)
        return records

    # -- within --------------------------------------------------------------------------------------------------

    async def _known(self, command: Create) -> Match | None:
        row = await self._journal.row_of_request(command.creator, command.request)
        if row is None:
            return None
        match = await self.match(row.match_id)
        made = match.created
        if (made.game, made.players, made.time, made.rated, made.label) != (
            registry.game(command.game).variant,
            command.players,
            str(time_control.parse(command.time)),
            command.rated,
            command.label,
        ):
            raise Refusal(
                Reason.REQUEST_ID_REUSED,
                f"request id {command.request!r} made another match before: choose a new one",
                request_id=command.request,
            )
        return match

    def _check_room(self, players: Iterable[str]) -> None:
        limits = self._limits
        for player in players:
            if len(self._of_player.get(player, ())) >= limits.open_matches_of_player:
                raise _crowded(f"matches of {player}", limits.open_matches_of_player)
        if len(self._live) >= limits.open_matches:
            raise _crowded("matches", limits.open_matches)

    async def _read(self, match_id: str) -> Match:
        records = await self._journal.read(match_id)
        if not records:
            raise not_found(match_id)
        return evolution.replay((read(record.body) for record in records), trust=True)

    def _enter(self, match: Match, durable: bool = True) -> _Live:
        match = settled(match)
        live = self._live[match.id] = _Live(match, match if durable else None)
        for player in match.players:
            self._of_player.setdefault(player, set()).add(match.id)
        return live

    def _leave(self, live: _Live) -> None:
        match = live.newest
        del self._live[match.id]
        if live.timer is not None:
            live.timer.cancel()
        for player in match.players:
            matches = self._of_player[player]
            matches.discard(match.id)
            if not matches:
                del self._of_player[player]

    def _keep(self, match: Match) -> None:
        if match.phase is Phase.ENDED:
            self._ended[match.id] = match
            if len(self._ended) > ENDED_KEPT:
                self._ended.popitem(last=False)

    def _decide(self, live: _Live, command: Command) -> asyncio.Future[Answer]:
        """Decide a command now; the answer comes when all that it rests on is durable."""
        if live.failed:
            return _answered(StoreFailed())
        decision = self._decision(live.newest, command)
        if decision.events:
            sealed = seal(live.newest, decision.events)
            for event in decision.events:
                live.newest = evolution.evolve(live.newest, event)
            written: asyncio.Future[Any] = self._append(live, decision.events, sealed)
        elif live.tail is not None:
            written = live.tail
        else:
            return _answered(decision.answer)
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        written.add_done_callback(partial(_settle, answered, decision.answer))
        return answered

    def _decision(self, match: Match, command: Command) -> Decision:
        now = self._clock.now_ms()
        try:
            return transitions.decide(match, command, now)
        except Exception as error:  # the arbiter's own mistake: it costs neither player anything
            self._log.exception("match_faulted", match=match.id, ply=match.ply, command=type(command).__name__)
            return transitions.decide(match, Fault(f"the arbiter failed on a command: {error!r}"), now)

    def _append(
        self, live: _Live, events: Sequence[Event], sealed: Sequence[Sealed], opened: MatchRow | None = None
    ) -> asyncio.Future[int]:
        after = live.newest
        records = tuple(Record(after.id, item.revision, item.data) for item in sealed)
        closed = end_of(after) if after.phase is Phase.ENDED else None
        future = self._journal.append(Append(records, opened, closed))
        live.tail = future
        live.writing += 1
        future.add_done_callback(partial(self._written, live, after, events, records))
        self._arm(live)
        return future

    def _written(
        self,
        live: _Live,
        after: Match,
        events: Sequence[Event],
        records: Sequence[Record],
        future: asyncio.Future[int],
    ) -> None:
        live.writing -= 1
        if not live.writing:
            live.tail = None
        error = future.exception()
        if live.failed:
            return  # whether it was stored or not: the match is being read again
        if error is not None:
            if live.durable is not None:
                self._recover(live, error)
            return
        live.failures = 0
        first = future.result() - len(records) + 1
        stored = [StoredRecord(first + n, *record) for n, record in enumerate(records)]
        self._became_durable(live, after, stored, events)

    def _became_durable(
        self, live: _Live, after: Match, records: Sequence[StoredRecord], events: Sequence[Event]
    ) -> None:
        live.durable = after
        published = [
            Published(record, event, after.created.label) for record, event in zip(records, events, strict=True)
        ]
        if after.phase is Phase.ENDED:
            self._leave(live)
            self._keep(after)
        self.feed.publish(published)
        for listener in self._listeners:
            listener(after, published)

    def _arm(self, live: _Live) -> None:
        """See to it that the match is looked at when its time is up.

        A timer that rings too early is left to ring: it finds that nothing is due and is set anew. So a move sets none.
        """
        due = deadline(live.newest)
        loop = asyncio.get_running_loop()
        if due is None:
            if live.timer is not None:
                live.timer.cancel()
            return
        rings = loop.time() + (due - self._clock.now_ms()) / 1000
        if live.timer is None or live.timer.cancelled() or live.timer.when() > rings:
            if live.timer is not None:
                live.timer.cancel()
            live.timer = loop.call_at(rings, self._ring, live)

    def _ring(self, live: _Live) -> None:
        live.timer = None
        if self._draining or live.failed:
            return  # its clocks stand still
        due = deadline(live.newest)
        if due is not None and due <= self._clock.now_ms():
            self._decide(live, Tick())
        if self._live.get(live.newest.id) is live:
            self._arm(live)

    def _recover(self, live: _Live, error: BaseException) -> None:
        """Read a match again whose append the journal refused: what is in memory is ahead of the record."""
        live.failed = True
        live.failures += 1
        self._log.error("match_not_stored", match=live.newest.id, error=str(error))
        task = asyncio.create_task(self._read_again(live))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read_again(self, live: _Live) -> None:
        match_id = live.newest.id
        if live.failures > 1:
            await asyncio.sleep(RETRY_MS / 1000)
        while True:
            while live.tail is not None:  # what was asked for behind the failure has its answer first
                await asyncio.wait([live.tail])
            try:
                records = await self._journal.read(match_id)
                break
            except StoreFailed:
                await asyncio.sleep(RETRY_MS / 1000)
        match = evolution.replay((read(record.body) for record in records), trust=True)
        self._log.info("match_read_again", match=match_id, revision=match.revision)
        assert live.durable is not None
        missed = records[live.durable.revision :]  # stored after all, though the journal said that it failed
        live.newest = settled(match)
        if missed:
            self._became_durable(live, live.newest, missed, [read(record.body) for record in missed])
        live.failed = False
        if match.phase is Phase.ENDED:
            return
        live.durable = live.newest
        await self._decide(live, Interrupt(Interruption.RESTART))
        for player in match.players:
            if self._present(player) and not live.failed:
                self._tell_match(live, player, Arrive)


def seat_of(match: Match, player: str) -> Seat | None:
    """Return the seat that a player holds in a match, or None."""
    first, second = match.players
    return 1 if player == first else 2 if player == second else None


def not_found(match_id: str) -> Refusal:
    """Return the refusal for a match that is not there."""
    shown = match_id if len(match_id) <= 60 else match_id[:57] + "…"
    return Refusal(Reason.MATCH_NOT_FOUND, f"there is no match {shown!r} here", id=shown)


def _seat_not_yours(player: str, match_id: str) -> Refusal:
    return Refusal(Reason.SEAT_NOT_YOURS, f"{player} holds no seat in match {match_id}", seat="none")


def _answered(answer: Answer) -> asyncio.Future[Answer]:
    future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    future.set_result(answer)
    return future


def _crowded(what: str, most: int) -> Refusal:
    return Refusal(
        Reason.RATE_LIMITED, f"{most} {what} are open, which is the most: end some first", limit=most, retry_after_ms=0
    )


def _settle(answered: asyncio.Future[Answer], answer: Answer, written: asyncio.Future[object]) -> None:
    if answered.done():
        return
    error = written.exception()
    if error is None:
        answered.set_result(answer)
    else:
        answered.set_result(error if isinstance(error, Refusal) else StoreFailed())


def _row(created: Created) -> MatchRow:
    return MatchRow(
        match_id=created.match,
        game=created.game,
        player_1=created.players[0],
        player_2=created.players[1],
        time_control=created.time,
        rated=created.rated,
        label=created.label,
        creator=created.creator,
        request_id=created.request,
        created_ms=created.at,
    )


def end_of(match: Match) -> MatchEnd:
    """Return what lists show of a match's end; it has ended."""
    ended = match.result
    assert isinstance(ended, Ended)
    return MatchEnd(
        result=ended.result.value,
        winner=ended.winner,
        reason=ended.reason,
        cause=ended.cause.value,
        party=ended.party.value,
        seat=ended.seat or 0,
        note=ended.note,
        ended_ms=ended.at,
        position=match.text,
        ply=match.ply,
    )
