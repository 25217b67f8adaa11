"""The fan-out of durable events to observers, and the streams that observers read.

A stream starts with the events in the journal (`arbiter.service.observing.past_events`), and continues with those that
are published. The subscription begins before the journal is read, so no event is missed between the two. A reader that
falls too far behind gets a refusal that says where to resume.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from functools import partial
from operator import attrgetter
from typing import Final, NamedTuple, Self

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal, argument_invalid, limit_reached
from arbiter.matches.events import Ended, Event, Moved
from arbiter.matches.match import Phase
from arbiter.service.alone import OtherServers
from arbiter.service.background import Background
from arbiter.service.lookup import findable
from arbiter.service.matches.match_registry import MatchRegistry
from arbiter.service.observing.fanout import Subscription, WakeOrder
from arbiter.service.observing.past_events import History, ReadingTurn
from arbiter.service.observing.relay import MOST_IN_MESSAGE, Relay, Write
from arbiter.service.observing.subscribers import ALL, Subscribers
from arbiter.service.ports.journal import Journal
from arbiter.service.record.match_log import event_of
from arbiter.service.record.published import Published

LAST_REVISION: Final = 2**31 - 1  #: the highest one that a store can look for


class Reached(NamedTuple):
    """A bookmark: every event up to here has been sent. place: a revision or a sequence number."""

    place: int


Batch = list[Published] | Reached


class _Source(NamedTuple):
    """The source of a stream's events.

    place: returns an event's position, a revision or a sequence number. page: reads the journal after a position, and
    says whether more may follow. sent: call it when the last page has been sent. ends: whether the stream ends with its
    match.
    """

    place: Callable[[Published], int]
    page: Callable[[int], Awaitable[tuple[list[Published], bool]]]
    sent: Callable[[], None]
    ends: bool


class Stream:
    """The events for one observer, in order and without a gap, and bookmarks. It ends after a match's last event.

    If a position is missing among the published events, the stream reads the journal. There the position is empty (the
    write was rolled back), or it has an event whose commit was reported as failed and whose match has not been read
    again yet.
    """

    def __init__(
        self, source: _Source, subscription: Subscription[Published], after: int, over: bool = False, new: bool = False
    ) -> None:
        self._source = source
        self._subscription = subscription
        self._place_of = source.place
        self._last = after
        self._over = over  # after the events in the journal, the stream ends
        self._behind = not new  # the journal may have more events than were read
        self._has_caught_up = new  # a bookmark is due
        self._too_slow = False
        self._ready: deque[Published] = deque()  # taken from the subscription, not returned yet
        self._relay: Relay | None = None

    @property
    def place(self) -> int:
        """The position of the stream: the revision or sequence number of the last event that it has returned."""
        return self._last

    def relay_to(self, write: Write) -> None:
        """Pass published events on to a writer, whenever nothing else is due, instead of returning them."""
        self._relay = Relay(self._subscription, self._source.ends, write)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Batch:
        """Return the next events, at most MOST_IN_MESSAGE, or a bookmark.

        A bookmark comes after the last event, and again if no event comes for a while.
        """
        self._source.sent()
        if self._has_caught_up and not self._over:
            if not self._dropped():
                return self._reached()
            self._has_caught_up, self._behind = False, True
        if self._ready:
            await self._subscription.turn()  # one more message
            return self._some()
        while not self._behind:
            if self._over:
                raise StopAsyncIteration
            if self._too_slow:
                raise _too_slow(self._subscription.most, self._last)
            if not await self._fresh():
                return Reached(self._last)
            overrun = self._subscription.overrun
            fresh = self._next(self._subscription.take())
            if self._subscription.missing:
                self._subscription.missing, self._behind = False, True
            if not self._behind:
                self._too_slow = overrun
                if len(fresh) > MOST_IN_MESSAGE:
                    self._ready.extend(fresh)
                    return self._some()
                if fresh:
                    return self._passed(fresh)
        return await self._stored()

    async def _fresh(self) -> bool:
        """Wait for events that the relay does not pass on. Return False if no event has come for a while."""
        relay = self._relay
        if relay is None:
            return await self._subscription.wait()
        try:
            return await relay.run(self._last)
        finally:
            self._last = relay.last
            relay.stop()

    def _some(self) -> Batch:
        """Return the first of the events that are ready, at most MOST_IN_MESSAGE."""
        return self._passed([self._ready.popleft() for _ in range(min(MOST_IN_MESSAGE, len(self._ready)))])

    async def _stored(self) -> Batch:
        while True:
            page, more = await self._source.page(self._last)
            self._behind = more = self._dropped() or more
            if page:
                self._has_caught_up = not more
                return self._passed(page)
            if not more:
                return self._reached()

    def _dropped(self) -> bool:
        """Return whether the subscription has dropped events.

        If so, empty it; the stream must then read the journal.
        """
        if not self._subscription.overrun:
            return False
        self._subscription.take()
        self._subscription.overrun = False
        return True

    def _reached(self) -> Reached:
        self._source.sent()
        self._has_caught_up = False
        return Reached(self._last)

    def _next(self, fresh: list[Published]) -> list[Published]:
        """Return the next events, in order.

        If some are missing, set `_behind`; the stream must then read the journal.
        """
        expected, place = self._last, self._place_of
        for event in fresh:
            expected += 1
            if place(event) != expected:
                break
        else:
            return fresh
        # An event whose append was reported as failed is published late, after its match was read again.
        later = sorted((event for event in fresh if place(event) > self._last), key=place)
        self._behind = bool(later) and place(later[-1]) != self._last + len(later)
        return later

    def _passed(self, batch: list[Published]) -> list[Published]:
        newest = batch[-1]
        self._last = self._place_of(newest)
        if self._source.ends and isinstance(newest.event, Ended):
            self._over, self._behind = True, False
        return batch


class _Chosen(Stream):
    """Some of the events, and bookmarks while others are frequent and these are not.

    label: only events with this label, if it is not ''. without_moves: no moves.
    """

    def __init__(
        self,
        source: _Source,
        subscription: Subscription[Published],
        after: int,
        new: bool,
        label: str,
        without_moves: bool,
        often_s: float,
    ) -> None:
        super().__init__(source, subscription, after, new=new)
        self._label = label
        self._left_out = Moved if without_moves else None
        self._often_s = often_s
        self._now = asyncio.get_running_loop().time
        self._sent_at = self._now()

    def relay_to(self, write: Write) -> None:
        """Do nothing: each event has to be looked at."""

    async def __anext__(self) -> Batch:
        wanted: Batch | None = None
        while not wanted:
            batch = await super().__anext__()
            if isinstance(batch, Reached):
                wanted = batch
            else:
                wanted = [event for event in batch if self._is_wanted(event)]
                if not wanted and self._now() - self._sent_at >= self._often_s:
                    wanted = Reached(batch[-1].sequence)
        self._sent_at = self._now()
        return wanted

    def _is_wanted(self, event: Published) -> bool:
        return type(event.event) is not self._left_out and self._label in ("", event.label)


class Feed:
    """The streams of events that observers read, each with its subscription among `subscribers`.

    history: their reads of past events. others: of the store, who write to the log too.
    """

    def __init__(
        self, journal: Journal, limits: Limits, matches: MatchRegistry, others: OtherServers, background: Background
    ) -> None:
        self._journal = journal
        self._limits = limits
        self._matches = matches
        self._turns = WakeOrder(limits.observer_messages_a_second, background)
        self.history = History(journal, limits, matches, background)
        self.subscribers = Subscribers(others)
        self._open = 0

    @property
    def observers(self) -> int:
        """How many streams of events are open."""
        return self._open

    @asynccontextmanager
    async def of_match(self, match_id: str, after: int, reader: str = "") -> AsyncIterator[Stream]:
        """Open a stream of the events of a match after a revision. reader: the player whose stream it is.

        Raises Refusal MATCH_NOT_FOUND, ARGUMENT_INVALID for a revision that does not exist yet, RATE_LIMITED (too many
        observers). The stream raises READER_TOO_SLOW (fact resume_from: a revision).
        """
        over = await self._is_last(match_id, after)
        with self.history.reader(reader) as page, self._subscription(match_id, reader) as subscription:
            source = _source("revision", page, match_id)
            yield Stream(source, subscription, after, over)

    @asynccontextmanager
    async def of_all(
        self, after: int | None, label: str, reader: str = "", *, without_moves: bool = False
    ) -> AsyncIterator[Stream]:
        """Open a stream of the events of all matches and tournaments after a sequence number; None for new events only.

        label: only events with this label; a tournament's id selects that tournament and its matches. without_moves:
        moves are left out, and do not wake the reader. Raises Refusal ARGUMENT_INVALID for a sequence number that does
        not exist yet, RATE_LIMITED. The stream raises READER_TOO_SLOW (fact resume_from: a sequence number).
        """
        quiet = Moved if without_moves else None
        with self.history.reader(reader) as page, self._subscription(ALL, reader, quiet) as subscription:
            source = _source("sequence", page, "")
            head, new = await self._journal.head(), after is None
            if after is None:
                after = head
            check_place(after, head)
            if after == 0 and not new and label and findable(label):  # a tournament has no older events
                row = await self._journal.tournament_summary(label)
                after = row.sequence - 1 if row is not None else 0
            if label or without_moves:
                often_s = self._limits.bookmark_ms / 1000
                yield _Chosen(source, subscription, after, new, label, without_moves, often_s)
            else:
                yield Stream(source, subscription, after, new=new)

    async def past_of_match(
        self, match_id: str, after: int, until: int | None, reader: str
    ) -> AsyncGenerator[Sequence[Published]]:
        """Yield the events of a match after a revision from the journal, up to a sequence number; None for all of them.

        Raises Refusal MATCH_NOT_FOUND, ARGUMENT_INVALID for a revision that does not exist yet.
        """
        await self._is_last(match_id, after)
        with self.history.reader(reader) as page:
            async with aclosing(_past(_source("revision", page, match_id), after, until)) as past:
                async for events in past:
                    yield events

    async def past_of_all(self, after: int, until: int | None, reader: str) -> AsyncGenerator[Sequence[Published]]:
        """Yield all events after a sequence number from the journal, up to another sequence number; None for no limit.

        Raises Refusal ARGUMENT_INVALID for a sequence number that does not exist yet.
        """
        check_place(after, await self._journal.head())
        with self.history.reader(reader) as page:
            async with aclosing(_past(_source("sequence", page, ""), after, until)) as past:
                async for events in past:
                    yield events

    async def _is_last(self, match_id: str, after: int) -> bool:
        """Return whether nothing follows a revision of a match, because it has ended there.

        The reader may have got a revision from another server before it is known here. Raises Refusal
        MATCH_NOT_FOUND, ARGUMENT_INVALID for a revision that does not exist yet.
        """
        match = await self._matches.match(match_id)
        if 0 <= after <= match.revision:
            return match.phase is Phase.ENDED and after == match.revision
        stored = await self._journal.read(match_id, after - 1, 1) if 0 < after <= LAST_REVISION else []
        if not stored:
            raise argument_invalid(after, "after_revision", f"0 to {match.revision}")
        return isinstance(event_of(stored[0]), Ended)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count an open stream of events. Raises Refusal RATE_LIMITED above the limit."""
        if self._open >= self._limits.observers:
            raise limit_reached(
                f"{self._open} streams of events are open, the maximum: try again later",
                self._limits.observers,
                self._limits.bookmark_ms,
            )
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    @contextmanager
    def _subscription(
        self, subject: str, reader: str, quiet: type[Event] | None = None
    ) -> Iterator[Subscription[Published]]:
        with self.counted():
            subscription = Subscription[Published](
                self._turns, reader, self._limits.observer_items, self._limits.bookmark_ms / 1000
            )
            self.subscribers.add(subject, subscription, quiet)
            try:
                yield subscription
            finally:
                subscription.close()
                self.subscribers.remove(subject, subscription)


def check_place(after: int, head: int) -> None:
    """Raise Refusal ARGUMENT_INVALID for a sequence number that does not exist yet."""
    if after > head:
        raise argument_invalid(after, "after_token", "a token that this server gave")


async def _past(source: _Source, after: int, until: int | None) -> AsyncGenerator[Sequence[Published]]:
    """Yield the events after a position, page by page, up to a sequence number."""
    more = True
    while more:
        page, more = await source.page(after)
        wanted = [event for event in page if until is None or event.sequence <= until]
        more = more and len(wanted) == len(page)
        if wanted:
            after = source.place(wanted[-1])
            yield wanted


def _source(place: str, page: ReadingTurn, match_id: str) -> _Source:
    return _Source(attrgetter(place), partial(page.read, match_id), page.sent, ends=bool(match_id))


def _too_slow(most: int, last: int) -> Refusal:
    message = f"more than {most} events waited to be read: resume after {last}"
    return Refusal(Reason.READER_TOO_SLOW, message, resume_from=last)
