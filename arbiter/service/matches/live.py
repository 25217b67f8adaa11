"""Live matches: each decided at once in memory, made durable behind it, and told once it is.

A command is decided on the newest state of its match; its events go to the journal, and nothing is told to anybody
(answer, stream, next turn) before they are durable. So each match has two states: `newest`, which commands meet, and
`durable`, which is what the world may see.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterator, Sequence
from functools import partial
from typing import Any, Final

import structlog

from arbiter.errors import Reason, Refusal
from arbiter.games.contract import Seat
from arbiter.matches import evolution, transitions
from arbiter.matches.commands import NAMES, Arrive, Command, Fault, Interrupt, Interruption, Leave, Play, Tick
from arbiter.matches.events import Created, Event
from arbiter.matches.match import Match, Phase, deadline, settled
from arbiter.matches.record import Sealed, seal
from arbiter.matches.requests import Receipt
from arbiter.matches.transitions import Decision
from arbiter.service.ports.environment import Clock
from arbiter.service.ports.journal import Append, Journal, MatchSummary, Record, StoredRecord, StoreFailed, Subject
from arbiter.service.record.matches import end_of, event_of
from arbiter.service.record.published import Published

SEATS: Final[tuple[Seat, Seat]] = (1, 2)

Answer = Receipt | Refusal
Answered = Callable[[Answer], None]
Listener = Callable[[Match, Sequence[Published]], None]

DRAINING: Final = Refusal(Reason.DRAINING, "the server is stopping: connect again in a while", retry_after_ms=1_000)


class LiveMatch:
    """A match that has not ended, or not durably.

    writing: how many appends are under way; tail: the last of them. rings_ms: the deadline that the timer was set for.
    failed: what is in memory is ahead of the record, which is being read again; failures: so many in a row.
    """

    __slots__ = ("durable", "failed", "failures", "newest", "rings_ms", "tail", "timer", "writing")

    def __init__(self, newest: Match, durable: Match | None) -> None:
        self.newest = newest
        self.durable = durable
        self.writing = 0
        self.tail: asyncio.Future[int] | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.rings_ms = 0
        self.failed = False
        self.failures = 0


ReadAgain = Callable[[LiveMatch], Coroutine[object, object, None]]


class LiveMatches:
    """All live matches. Everything here runs on one event loop; only the journal's writes happen elsewhere.

    `durable` is called with each match and its events once they are durable, `present` tells whether a player can be
    reached now, `secret` makes the key of a match's comments, `version` tells what the bot that is there says it is.
    `read_again` reads a match whose append failed and restores it, however long it takes.
    """

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        durable: Listener,
        present: Callable[[str], bool],
        secret: Callable[[Created], bytes],
        version: Callable[[str], str],
        read_again: ReadAgain,
    ) -> None:
        self._journal = journal
        self._secret = secret
        self._clock = clock
        self._durable = durable
        self._present = present
        self._version = version
        self._read_again = read_again
        self._live: dict[str, LiveMatch] = {}
        self._of_player: dict[str, dict[str, None]] = {}  # ids in the order of their making
        self._tasks: set[asyncio.Task[None]] = set()
        self._draining = False
        self._log = structlog.get_logger("arbiter.matches")

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[LiveMatch]:
        return iter(list(self._live.values()))

    @property
    def recovering(self) -> int:
        """How many failed writes there are about which something is being done: their matches are read again."""
        return len(self._tasks)

    @property
    def draining(self) -> bool:
        """Whether the server is stopping."""
        return self._draining

    def find(self, match_id: str) -> LiveMatch | None:
        """Return a live match, or None."""
        return self._live.get(match_id)

    def of_player(self, player: str) -> Collection[LiveMatch]:
        """Return a player's live matches."""
        return [self._live[match_id] for match_id in self._of_player.get(player, ())]

    def players(self) -> list[str]:
        """Return the players of live matches, in the order of their coming."""
        return list(self._of_player)

    def interrupt_all(self, reason: Interruption) -> asyncio.Future[Any]:
        """Stop every clock; what is returned is done once that is durable, as far as the store takes it."""
        live = list(self._live.values())
        return asyncio.gather(*[self.decide(match, Interrupt(reason)) for match in live], return_exceptions=True)

    def stop(self) -> None:
        """Take nothing more from now on."""
        self._draining = True

    def let_go(self) -> asyncio.Future[Any]:
        """Set no more timers, and leave undone what failed writes have left open; done once all of that is over."""
        for match in self._live.values():
            _disarm(match)
        for task in self._tasks:
            task.cancel()
        return asyncio.gather(*self._tasks, return_exceptions=True)

    def tell(self, live: LiveMatch, player: str, command: type[Arrive] | type[Leave]) -> None:
        """Let a match know that one of its players has come or gone."""
        seats = seats_of(live.newest, player)
        assert seats
        for seat in seats:
            if not self._draining:
                self.decide(live, Arrive(seat, self._version(player)) if command is Arrive else command(seat))

    def welcome(self, live: LiveMatch) -> None:
        """Let a match know which of its players can be reached now."""
        for player in live.newest.holders:
            if self._present(player) and not live.failed:
                self.tell(live, player, Arrive)

    def greet(self, live: LiveMatch, player: str) -> None:
        """Count a player that shows itself by a request as present, where its match still waits for it."""
        if live.newest.phase is Phase.PENDING:
            self.tell(live, player, Arrive)

    def seated(self, player: str, match_id: str) -> tuple[LiveMatch, Seat] | None:
        """Return a live match in which a player holds a seat, and the seat; None if there is none."""
        live = self._live.get(match_id)
        seat = seat_of(live.newest, player) if live is not None else None
        return (live, seat) if live is not None and seat is not None else None

    def is_current(self, match: Match) -> bool:
        """Say whether a match is still at the turn that it was at, as far as is durable."""
        live = self._live.get(match.created.match)
        now = live.durable if live is not None else None
        if now is match:
            return True
        return now is not None and (now.phase, now.ply, now.since) == (match.phase, match.ply, match.since)

    def enter(self, match: Match, durable: bool = True) -> LiveMatch:
        """Take a match in; `durable` says whether the journal has it already."""
        match = settled(match)._replace(secret=self._secret(match.created))
        live = self._live[match.id] = LiveMatch(match, match if durable else None)
        for player in match.holders:
            self._of_player.setdefault(player, {})[match.id] = None
        return live

    def leave(self, live: LiveMatch) -> None:
        """Let a match go that has ended, or that was not made after all."""
        match = live.newest
        del self._live[match.id]
        _disarm(live)
        for player in match.holders:
            matches = self._of_player[player]
            matches.pop(match.id, None)
            if not matches:
                del self._of_player[player]

    def decide(self, live: LiveMatch, command: Command) -> asyncio.Future[Answer]:
        """Decide a command now; the answer comes when all that it rests on is durable."""
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.submit(live, command, partial(_settle, answered))
        return answered

    def play(self, player: str, live: LiveMatch, command: Play, then: Answered) -> None:
        """Decide a move of the player who holds the command's seat; `then` gets the answer as `submit` gives it."""
        if self._draining:
            then(DRAINING)
        else:
            self.greet(live, player)
            self.submit(live, command, then)

    def submit(self, live: LiveMatch, command: Command, then: Answered) -> None:
        """Decide a command now; `then` gets the answer when all that it rests on is durable, which may be at once."""
        if live.failed:
            then(StoreFailed())
            return
        decision = self._decision(live.newest, command)
        if decision.events:
            sealed = seal(live.newest, decision.events)
            for event in decision.events:
                live.newest = evolution.evolve(live.newest, event)
            self.append(live, decision.events, sealed, then=partial(_give, then, decision.answer))
        elif live.tail is None:
            then(decision.answer)
        else:
            live.tail.add_done_callback(partial(_give, then, decision.answer))

    def _decision(self, match: Match, command: Command) -> Decision:
        now = self._clock.now_ms()
        try:
            return transitions.decide(match, command, now)
        except Exception as error:  # the arbiter's own mistake: it costs neither player anything
            self._log.exception("match_faulted", match=match.id, ply=match.ply, command=NAMES[type(command)].value)
            return transitions.decide(match, Fault(f"the arbiter failed on a command: {error!r}"), now)

    def append(
        self,
        live: LiveMatch,
        events: Sequence[Event],
        sealed: Sequence[Sealed],
        opened: MatchSummary | None = None,
        then: Callable[[asyncio.Future[int]], None] | None = None,
    ) -> asyncio.Future[int]:
        """Have events stored that the newest state has taken in already; `opened` goes with a match's first ones.

        `then` is called once they are stored and told, or not stored.
        """
        after = live.newest
        match_id = after.created.match
        records = tuple([Record(match_id, *item, Subject.MATCH) for item in sealed])
        closed = end_of(after) if after.phase is Phase.ENDED else None
        future = self._journal.append(Append(records, opened, closed))
        live.tail = future
        live.writing += 1
        future.add_done_callback(partial(self._written, live, after, events, records, then))
        self._arm(live)
        return future

    def _written(
        self,
        live: LiveMatch,
        after: Match,
        events: Sequence[Event],
        records: Sequence[Record],
        then: Callable[[asyncio.Future[int]], None] | None,
        future: asyncio.Future[int],
    ) -> None:
        live.writing -= 1
        if not live.writing:
            live.tail = None
        error = future.exception()
        if live.failed:
            pass  # whether it was stored or not: the match is being read again
        elif error is None:
            live.failures = 0
            first = future.result() - len(records) + 1
            stored = [StoredRecord(first + n, *record) for n, record in enumerate(records)]
            self._became_durable(live, after, stored, events)
        elif live.durable is not None:
            self._recover(live, error)
        if then is not None:
            then(future)

    def _became_durable(
        self, live: LiveMatch, after: Match, records: Sequence[StoredRecord], events: Sequence[Event]
    ) -> None:
        live.durable = after
        published = [
            Published(record, event, after.created.label) for record, event in zip(records, events, strict=True)
        ]
        if after.phase is Phase.ENDED:
            self.leave(live)
        self._durable(after, published)

    def _arm(self, live: LiveMatch) -> None:
        """See to it that the match is looked at when its time is up.

        A timer that rings too early is left to ring: it finds that nothing is due and is set anew. So a move sets none.
        """
        due = deadline(live.newest)
        if due is not None and live.timer is not None and live.rings_ms <= due:
            return
        _disarm(live)
        if due is not None:
            live.rings_ms = due
            in_s = (due - self._clock.now_ms()) / 1000
            live.timer = asyncio.get_running_loop().call_later(in_s, self._ring, live)

    def _ring(self, live: LiveMatch) -> None:
        live.timer = None
        if self._draining or live.failed:
            return  # its clocks stand still
        due = deadline(live.newest)
        if due is not None and due <= self._clock.now_ms():
            self.decide(live, Tick())
        if self._live.get(live.newest.id) is live:
            self._arm(live)

    def pursue(self, work: Coroutine[object, object, None]) -> None:
        """See to it that something is done that a failed write has left open, however long it takes."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _recover(self, live: LiveMatch, error: BaseException) -> None:
        """Read a match again whose append the journal refused: what is in memory is ahead of the record."""
        live.failed = True
        live.failures += 1
        self._log.error("match_not_stored", match=live.newest.id, error=str(error))
        self.pursue(self._read_again(live))

    def restore(self, live: LiveMatch, match: Match, records: Sequence[StoredRecord]) -> bool:
        """Go on from a match as its records say it is, after a failed append; return whether it has not ended.

        What was stored after all, though the journal said that it failed, is told now.
        """
        assert live.durable is not None
        missed = records[live.durable.revision :]
        live.newest = settled(match)._replace(secret=live.newest.secret)
        if missed:
            self._became_durable(live, live.newest, missed, [event_of(record) for record in missed])
        live.failed = False
        if match.phase is Phase.ENDED:
            return False
        live.durable = live.newest
        return True


def seat_of(match: Match, player: str) -> Seat | None:
    """Return the seat that a player holds in a match, or None; against itself it acts for the seat to move."""
    first, second = match.players
    if first == second == player:
        return match.turn
    return 1 if player == first else 2 if player == second else None


def seats_of(match: Match, player: str) -> tuple[Seat, ...]:
    """Return the seats that a player holds in a match: none, one, or both if it plays against itself."""
    return tuple(seat for seat, holder in zip(SEATS, match.players, strict=True) if holder == player)


def answered_now(answer: Answer) -> asyncio.Future[Answer]:
    """Return an answer that is there already."""
    future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    future.set_result(answer)
    return future


def _settle(answered: asyncio.Future[Answer], answer: Answer) -> None:
    if not answered.done():
        answered.set_result(answer)


def _give(then: Answered, answer: Answer, written: asyncio.Future[object]) -> None:
    """Give an answer that rests on what has been written, or say that it was not."""
    error = written.exception()
    then(answer if error is None else error if isinstance(error, Refusal) else StoreFailed())


def _disarm(live: LiveMatch) -> None:
    if live.timer is not None:
        live.timer.cancel()
        live.timer = None
