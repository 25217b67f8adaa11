"""The fan-out of durable events to observers, and the streams that observers read.

A stream is the journal up to where it ends, then what is published from there on: a subscription is taken before the
journal is read, so nothing falls between. A reader that falls too far behind is told where to resume.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import aclosing, contextmanager
from operator import attrgetter
from typing import Any, NamedTuple

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.matches.events import Ended, Event
from arbiter.matches.match import Match, Phase
from arbiter.service import tournament_log
from arbiter.service.accounts import invalid
from arbiter.service.ports import Journal, StoredRecord
from arbiter.service.recall import event_of
from arbiter.service.tournament_log import is_tournament
from arbiter.tournaments.events import Event as TournamentEvent

PAGE = 500  #: records in one read of the journal


class Published:
    """A durable event, of a match or of a tournament: `match_id` is then the tournament's id, as its label is.

    `forms` is a place for the door to keep the bytes that it sends, made once for all readers.
    """

    __slots__ = ("body", "event", "forms", "label", "match_id", "revision", "sequence")

    def __init__(self, record: StoredRecord, event: Event | TournamentEvent, label: str) -> None:
        self.sequence = record.sequence
        self.match_id = record.match_id
        self.revision = record.revision
        self.body = record.body
        self.event = event
        self.label = label
        self.forms: dict[Any, bytes] = {}


class Reached(NamedTuple):
    """A bookmark: everything up to here has been sent. `place` is a revision or a journal place."""

    place: int


Batch = list[Published] | Reached


class _Subscription:
    """What one observer has not read yet; at most `most` events.

    It waits on a bare future, and on one timer that is set again when it rings too early: an event that is waited for
    and a timer for each delivery would cost as much as all else that a delivery takes here.
    """

    __slots__ = ("_alarm", "_events", "_idle_s", "_loop", "_most", "_since", "_waiting", "overrun")

    def __init__(self, most: int, idle_s: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._events: list[Published] = []
        self._most = most
        self._idle_s = idle_s
        self._waiting: asyncio.Future[bool] | None = None
        self._since = 0.0  # when the wait began
        self._alarm: asyncio.TimerHandle | None = None
        self.overrun = False

    def put(self, event: Published) -> None:
        if len(self._events) >= self._most:
            self.overrun = True  # what does not fit is in the journal
        else:
            self._events.append(event)
        self._wake(True)

    def take(self) -> list[Published]:
        taken, self._events = self._events, []
        return taken

    async def wait(self) -> bool:
        """Wait until there is something; False if there was nothing for as long as a stream may be idle."""
        if self._events or self.overrun:
            return True
        self._waiting = self._loop.create_future()
        self._since = self._loop.time()
        if self._alarm is None:
            self._alarm = self._loop.call_at(self._since + self._idle_s, self._ring)
        return await self._waiting

    def close(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()

    def _ring(self) -> None:
        self._alarm = None
        if self._waiting is not None:
            due = self._since + self._idle_s
            if self._loop.time() < due:  # there was something meanwhile
                self._alarm = self._loop.call_at(due, self._ring)
            else:
                self._wake(False)

    def _wake(self, something: bool) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.done():
            waiting.set_result(something)


_Subscriptions = dict[_Subscription, None]  # in the order of their coming


class Feed:
    """Hands every durable event to whoever observes it."""

    def __init__(self, journal: Journal, limits: Limits, match_of: Callable[[str], Awaitable[Match]]) -> None:
        self._journal = journal
        self._limits = limits
        self._match_of = match_of
        self._of_match: dict[str, _Subscriptions] = {}
        self._of_all: dict[str, _Subscriptions] = {}  # all under one key, ''
        self._open = 0

    def publish(self, events: Iterable[Published]) -> None:
        """Hand out events that have just become durable, in their order in the journal."""
        for event in events:
            for subscription in self._of_match.get(event.match_id, ()):
                subscription.put(event)
            for subscription in self._of_all.get("", ()):
                subscription.put(event)

    async def of_match(self, match_id: str, after: int) -> AsyncGenerator[Batch, None]:
        """Yield the events of a match after a revision, in order; ends after the match's last event.

        Yields a bookmark once all there is has been sent, and whenever the stream has been idle.
        Raises Refusal MATCH_NOT_FOUND, ARGUMENT_INVALID for a revision that is not there yet, READER_TOO_SLOW (fact
        resume_from: a revision), RATE_LIMITED (too many observers).
        """
        match = await self._match_of(match_id)
        if not 0 <= after <= match.revision:
            raise invalid(after, "after_revision", f"0 to {match.revision}")
        if match.phase is Phase.ENDED and after == match.revision:
            yield Reached(after)
            return
        with self._subscription(self._of_match, match_id) as subscription:
            async with aclosing(self._stream(subscription, match_id, after)) as batches:
                async for batch in batches:
                    yield batch
                    if isinstance(batch, list) and isinstance(batch[-1].event, Ended):
                        return

    async def of_all(self, after: int | None, label: str) -> AsyncGenerator[Batch, None]:
        """Yield the events of all matches and tournaments after a journal place; None means from now.

        A label, if one is given, lets only its own through: a tournament's id that tournament and its matches.

        Raises Refusal ARGUMENT_INVALID for a place that is not there yet, READER_TOO_SLOW (fact resume_from: a journal
        place), RATE_LIMITED.
        """
        with self._subscription(self._of_all, "") as subscription:
            head = await self._journal.head()
            if after is not None and after > head:
                raise invalid(after, "after_token", "a token that this server gave")
            if after == 0 and is_tournament(label):  # nothing of it is older than itself
                row = await self._journal.tournament_row(label)
                after = row.sequence - 1 if row is not None else 0
            async with aclosing(self._stream(subscription, "", head if after is None else after)) as batches:
                async for batch in self._labelled(batches, label) if label else batches:
                    yield batch

    async def _labelled(self, batches: AsyncIterator[Batch], label: str) -> AsyncIterator[Batch]:
        """Yield what has a label, and bookmarks for the rest: others may be busy while these matches are idle."""
        now = asyncio.get_running_loop().time
        said = now()
        async for batch in batches:
            if isinstance(batch, Reached):
                wanted: Batch = batch
            else:
                wanted = [event for event in batch if event.label == label]
                if not wanted and now() - said >= self._limits.bookmark_ms / 1000:
                    wanted = Reached(batch[-1].sequence)
            if wanted:
                said = now()
                yield wanted

    @contextmanager
    def _subscription(self, subscriptions: dict[str, _Subscriptions], match_id: str) -> Iterator[_Subscription]:
        if self._open >= self._limits.observers:
            raise Refusal(
                Reason.RATE_LIMITED,
                f"{self._open} streams of events are open, which is the most: try again later",
                limit=self._limits.observers,
                retry_after_ms=self._limits.bookmark_ms,
            )
        self._open += 1
        subscription = _Subscription(self._limits.observer_items, self._limits.bookmark_ms / 1000)
        those = subscriptions.setdefault(match_id, {})
        those[subscription] = None
        try:
            yield subscription
        finally:
            self._open -= 1
            subscription.close()
            del those[subscription]
            if not those and subscriptions.get(match_id) is those:
                del subscriptions[match_id]

    async def _stream(self, subscription: _Subscription, match_id: str, after: int) -> AsyncGenerator[Batch, None]:
        """Yield what is in the journal, then what is published; `match_id` is '' for all matches.

        Where a place is missing among what is published, the journal says what belongs there: nothing (it was rolled
        back), or what was stored though its commit was reported as failed, and whose match has not been read again.
        """
        last, place = after, attrgetter("revision" if match_id else "sequence")
        while True:  # catching up: an overrun meanwhile only means that the journal has more to give
            page = await self._page(match_id, last)
            if page:
                last = place(page[-1])
                yield page
            elif not subscription.overrun:
                break
            else:
                subscription.take()
                subscription.overrun = False
        yield Reached(last)
        while True:
            if not await subscription.wait():
                yield Reached(last)
                continue
            overrun = subscription.overrun
            fresh = subscription.take()
            if [place(event) for event in fresh] != list(range(last + 1, last + 1 + len(fresh))):
                # What was reported as failed is published once its match has been read again: others may have gone on.
                fresh = sorted((event for event in fresh if place(event) > last), key=place)
                if fresh and place(fresh[-1]) != last + len(fresh):
                    upto = place(fresh[-1])
                    fresh = []
                    while last < upto and (page := await self._page(match_id, last)):
                        last = place(page[-1])
                        yield page
            if fresh:
                last = place(fresh[-1])
                yield fresh
            if overrun:
                raise Refusal(
                    Reason.READER_TOO_SLOW,
                    f"more than {self._limits.observer_items} events waited to be read: resume after {last}",
                    resume_from=last,
                )

    async def _page(self, match_id: str, after: int) -> list[Published]:
        read_page = self._journal.read(match_id, after, PAGE) if match_id else self._journal.read_all(after, PAGE)
        return [await self._published(record) for record in await read_page]

    async def _published(self, record: StoredRecord) -> Published:
        if is_tournament(record.match_id):
            return Published(record, tournament_log.event_of(record), record.match_id)
        return Published(record, event_of(record), (await self._match_of(record.match_id)).created.label)
