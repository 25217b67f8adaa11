"""Channels: the set of matches that a page watches, and the messages for all subscribers of the same set.

All subscribers of a channel get the same bytes, which are made once. Events that follow each other quickly share a
message: the first event is sent at once, the next ones together, `interval_s` after that. A message contains each event
in order and with its id, so a browser that reconnects can name the last event that it received.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol, TypeAlias

from arbiter.matches.events import Ended, EventKind
from arbiter.service.ports.journal import Subject
from arbiter.service.record.published import Published

BEGUN: Final = b"event: begun\ndata:\n\n"  #: the news that another match has begun
MOST_QUEUED: Final = 1_000  #: messages that wait while a subscriber still reads the past


class Watch(NamedTuple):
    """The matches that a page watches.

    single_match: it is one match, and revisions are the ids of its events; otherwise the ids are journal places. label:
    the page also learns that another match has begun: any if '', else one with this label. None: it does not.
    """

    matches: frozenset[str]
    single_match: bool
    label: str | None = None

    def id_of(self, event: Published) -> int:
        """Return the id of an event in the stream."""
        return event.revision if self.single_match else event.sequence

    def includes(self, event: Published) -> bool:
        """Return whether an event belongs to one of the matches."""
        return event.match_id in self.matches and event.subject is Subject.MATCH

    def announces(self, event: Published) -> bool:
        """Return whether the page has to learn of the match that begins with an event."""
        return self.label is not None and self.label in ("", event.label) and event.match_id not in self.matches

    def is_last(self, event: Published) -> bool:
        """Return whether an event is the last one of the stream."""
        return self.single_match and isinstance(event.event, Ended)

    def encode(self, event: Published, json: bytes) -> bytes:
        """Return an event as a server-sent event: its JSON, or for b'' the news that another match has begun."""
        if not json:
            return b"id: %d\n%b" % (event.sequence, BEGUN)
        return b"id: %d\ndata: %b\n\n" % (self.id_of(event), json)

    def bookmark(self, place: int) -> bytes:
        """Return a bookmark: the browser has all events up to a journal place, and continues after it.

        A stream of one match gets a comment instead, since a browser continues after the last event of the match.
        """
        return b": here\n\n" if self.single_match else b"id: %d\nevent: here\ndata:\n\n" % place


def is_beginning(event: Published) -> bool:
    """Return whether an event is the beginning of a match."""
    return event.event.kind is EventKind.STARTED


class Message(NamedTuple):
    """Bytes for all subscribers of a channel, plain and as a chunk of HTTP (RFC 9112, section 7.1).

    id: that of the last event in it, 0 for none. is_last: it ends the stream.
    """

    id: int
    plain: bytes
    chunk: bytes
    is_last: bool


def make_message(id_: int, plain: bytes, is_last: bool = False) -> Message:
    """Return the message of some bytes."""
    return Message(id_, plain, b"%x\r\n%b\r\n" % (len(plain), plain), is_last)


class EventSink(Protocol):
    """The connection of a subscriber."""

    @property
    def is_behind(self) -> bool:
        """Whether many written bytes wait to be sent."""
        ...

    def write(self, message: Message) -> None:
        """Write a message; it is sent as soon as the network accepts it."""
        ...


class Subscriber:
    """A browser with a stream of events. `id`: that of the last event that it got from its channel, 0 before the first.

    Until `resume`, messages of the channel are queued. `finished` is done when it gets no more messages: its value is
    True after the last event, and False if its connection is too slow; it then reads the missing events from the
    journal.
    """

    __slots__ = ("_connection", "_queued", "finished", "id")

    def __init__(self, connection: EventSink) -> None:
        self._connection = connection
        self._queued: list[Message] | None = []
        self.id = 0
        self.finished: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def resume(self) -> None:
        """Write the queued messages; from now on, messages are written at once."""
        queued, self._queued = self._queued or [], None
        for message in queued:
            self.deliver(message)

    def fail(self, error: BaseException) -> None:
        """Finish with an error."""
        if not self.finished.done():
            self.finished.set_exception(error)

    def deliver(self, message: Message) -> None:
        """Write or queue a message, unless the subscriber has finished."""
        if self.finished.done():
            return
        if self._queued is not None:
            self._queued.append(message)
            if len(self._queued) > MOST_QUEUED:
                self.finished.set_result(False)
        elif self._connection.is_behind:
            self.finished.set_result(False)
        else:
            self._connection.write(message)
            self.id = message.id or self.id
            if message.is_last:
                self.finished.set_result(True)


Deliver: TypeAlias = Callable[[Message, Sequence[Subscriber], Callable[[], None]], None]


class Channel:
    """The subscribers of the same matches. `deliver(message, subscribers, then)` writes to them, then calls `then`.

    Events that arrive during a delivery are in the next message: the busier the server, the fewer messages.
    """

    def __init__(self, watch: Watch, interval_s: float, deliver: Deliver) -> None:
        self.watch = watch
        self.subscribers: dict[Subscriber, None] = {}
        self._interval_s = interval_s
        self._send = deliver
        self._loop = asyncio.get_running_loop()
        self._parts: list[bytes] = []
        self._id = 0
        self._is_last = False
        self._sent_at = self._loop.time() - interval_s
        self._timer: asyncio.TimerHandle | None = None
        self._unfinished_passes = 0

    def add(self, subscriber: Subscriber) -> None:
        """Add a subscriber, which gets the events from now on."""
        self._flush()
        self.subscribers[subscriber] = None

    def publish(self, event: Published, json: bytes) -> None:
        """Send an event: at once, or together with others if a message was sent shortly before."""
        self._parts.append(self.watch.encode(event, json))
        self._id, self._is_last = self.watch.id_of(event), self.watch.is_last(event)
        self._schedule()

    def keep_alive(self, place: int, since: float) -> None:
        """Send a bookmark if nothing was sent after `since`. `place`: that of the last event in the journal."""
        if self._sent_at <= since and not self._parts:
            self._deliver(make_message(0 if self.watch.single_match else place, self.watch.bookmark(place)))

    def close(self) -> None:
        """Send nothing more."""
        self._parts.clear()
        self._flush()

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._parts:
            parts, self._parts = self._parts, []
            self._deliver(make_message(self._id, b"".join(parts), self._is_last))

    def _deliver(self, message: Message) -> None:
        self._sent_at = self._loop.time()
        self._unfinished_passes += 1
        self._send(message, tuple(self.subscribers), self._delivered)

    def _delivered(self) -> None:
        self._unfinished_passes -= 1
        self._schedule()

    def _schedule(self) -> None:
        if self._parts and self._timer is None and not self._unfinished_passes:
            self._timer = self._loop.call_at(self._sent_at + self._interval_s, self._flush)
