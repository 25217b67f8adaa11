"""One live match in memory, and the types of its answers and listeners."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from arbiter.errors import Refusal
from arbiter.matches.commands import Command
from arbiter.matches.events import Event
from arbiter.matches.match import Match
from arbiter.matches.requests import Receipt
from arbiter.service.ports.journal import AppendBase, Record
from arbiter.service.record.published import Published

Answer = Receipt | Refusal
AnswerCallback = Callable[[Answer], None]

MatchListener = Callable[[Match, Sequence[Published]], None]
"""Called with a match and the events that have just become durable.

The match is in its state after the last of them.
"""


class PendingAppend:
    """An append of a match that is under way, and the callbacks that wait for it.

    after: the state of the match after its events, of which each has one of the records.
    """

    __slots__ = ("_waiting", "after", "events", "live", "records")

    def __init__(self, live: LiveMatch, after: Match, events: Sequence[Event], records: Sequence[Record]) -> None:
        self.live = live
        self.after = after
        self.events = events
        self.records = records
        self._waiting: list[Callable[[BaseException | None], None]] = []

    def then(self, callback: Callable[[BaseException | None], None]) -> None:
        """Have a callback called once the append is durable, or with the reason why it failed.

        It is called after the match's listeners, and in the order of these calls.
        """
        self._waiting.append(callback)

    def done(self) -> asyncio.Future[BaseException | None]:
        """Return a future of the reason why the append failed; None once it is durable."""
        future: asyncio.Future[BaseException | None] = asyncio.get_running_loop().create_future()
        self.then(lambda error: None if future.done() else future.set_result(error))
        return future

    def settle(self, error: BaseException | None) -> None:
        """Call the callbacks. An error in one of them is reported, and the others are called all the same."""
        for callback in self._waiting:
            try:
                callback(error)
            except Exception as raised:
                context = {"message": "an error after an append", "exception": raised}
                asyncio.get_running_loop().call_exception_handler(context)


class LiveMatch:
    """A match that has not ended, or whose end is not durable yet.

    newest: the state on which commands are decided. durable: the state that all others see; None until the first event
    is stored. writing: the number of appends under way. tail: the last of them. rings_ms: the deadline that the timer
    was set for. failed: an append has failed, so `newest` is ahead of the record; the match accepts no commands until
    the record has been read again. failures: the number of failures in a row. basis: what its appends build on.
    waiting: the commands that wait until the events of another server are applied; None if the match does not wait for
    any. lost: it waits because the store has refused an append. complete: `newest` has its position and the key of its
    comments. waited: when the last turn began in which a flag had to wait. held: the commands that wait for its rules.
    """

    __slots__ = (
        "basis",
        "complete",
        "durable",
        "failed",
        "failures",
        "held",
        "lost",
        "newest",
        "rings_ms",
        "tail",
        "timer",
        "waited",
        "waiting",
        "writing",
    )

    def __init__(self, newest: Match, durable: Match | None) -> None:
        self.newest = newest
        self.durable = durable
        self.complete = False
        self.writing = 0
        self.tail: PendingAppend | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.rings_ms = 0
        self.failed = False
        self.failures = 0
        self.waited = 0
        self.basis = AppendBase()
        self.lost = False
        self.waiting: list[tuple[Command, AnswerCallback]] | None = None
        self.held: list[tuple[Command, AnswerCallback]] = []


def is_settled(live: LiveMatch) -> bool:
    """Return whether a match has no append, recovery or waiting command: its state here is the stored one."""
    return live.tail is None and live.waiting is None and not live.held and not live.failed


AdoptionListener = Callable[[Match], None]
"""Called with a match that has become live here in the state that another server has stored."""

FailureListener = Callable[[LiveMatch], None]
"""Called with a match that needs recovery: it is `failed`, or has commands `waiting`.

The reason is a failed append, or that the log may have more of the match than is known here.
"""


class MatchListeners(NamedTuple):
    """Who hears of matches, in this order. changed: of durable events. failed: of matches that need recovery."""

    changed: Sequence[MatchListener]
    failed: Sequence[FailureListener]
