"""Channels: what pages watch, a match or several, and how its events are told to those who watch the same.

All viewers of a channel get the same bytes, which are made once. Events that come one soon after the other are told in
one message: the first at once, those that follow as soon as `often_s` have passed since. Each of them is there, in its
order and with its id, so that a browser that comes back says which one it had last.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol, TypeAlias

from arbiter.matches.events import Ended, EventKind
from arbiter.service.ports.journal import Subject
from arbiter.service.record.published import Published

MOST_HELD: Final = 1_000  #: messages that wait for a viewer who is still told of the past


class Watch(NamedTuple):
    """What a page watches: one match, whose revisions are its events' ids, or several, with journal places as ids.

    label: with '' a page is told too that any other match has begun; else that one with this label has; None: neither.
    """

    matches: frozenset[str]
    of_one: bool
    label: str | None = None

    def id_of(self, event: Published) -> int:
        """Return the id of an event."""
        return event.revision if self.of_one else event.sequence

    def wants(self, event: Published) -> bool:
        """Say whether an event is one of the matches'."""
        return event.match_id in self.matches and event.subject is Subject.MATCH

    def hears_of(self, event: Published) -> bool:
        """Say whether an event, which is the beginning of a match, is of another one that belongs here."""
        return self.label is not None and self.label in ("", event.label) and event.match_id not in self.matches

    def ends(self, event: Published) -> bool:
        """Say whether nothing comes after an event."""
        return self.of_one and isinstance(event.event, Ended)

    def part(self, event: Published, form: bytes) -> bytes:
        """Return what is told of an event, whose form is JSON; b'' for the beginning of another match."""
        if not form:
            return b"id: %d\nevent: begun\ndata:\n\n" % event.sequence
        return b"id: %d\ndata: %b\n\n" % (self.id_of(event), form)

    def here(self, place: int) -> bytes:
        """Return what says that all is told up to a journal place: whoever comes back is told what came after that.

        For one match it is a comment: a page that comes back after its last event misses nothing.
        """
        return b": here\n\n" if self.of_one else b"id: %d\nevent: here\ndata:\n\n" % place


def is_beginning(event: Published) -> bool:
    """Say whether a match begins with an event."""
    return event.event.kind is EventKind.STARTED


class Message(NamedTuple):
    """Bytes for all viewers of a channel, as they are and as a chunk of HTTP (RFC 9112, section 7.1).

    id: that of their last event, 0 for none. over: nothing comes after them.
    """

    id: int
    plain: bytes
    chunk: bytes
    over: bool


def message(id_: int, plain: bytes, over: bool = False) -> Message:
    """Return a message of some bytes."""
    return Message(id_, plain, b"%x\r\n%b\r\n" % (len(plain), plain), over)


class Connection(Protocol):
    """Where the bytes for a viewer go."""

    @property
    def is_behind(self) -> bool:
        """Whether much that was written has not been sent yet."""
        ...

    def write(self, told: Message) -> None:
        """Write a message; it is sent as soon as the network takes it."""
        ...


class Viewer:
    """A browser with a stream of events: `id` is that of the last one that it was told of here, 0 before that.

    It gets nothing of its channel until `go_on`: what comes meanwhile is held. `parted` is done when it gets no more:
    True as its events are over, False as its connection is slow, and the journal has what it misses.
    """

    __slots__ = ("_connection", "_held", "id", "parted")

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._held: list[Message] | None = []
        self.id = 0
        self.parted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def go_on(self) -> None:
        """Tell it what came while it was told of the past; from now on it gets what comes at once."""
        held, self._held = self._held or [], None
        for told in held:
            self.take(told)

    def fail(self, error: BaseException) -> None:
        """Tell it nothing more, because of an error."""
        if not self.parted.done():
            self.parted.set_exception(error)

    def take(self, told: Message) -> None:
        """Tell it a message, unless it has parted."""
        if self.parted.done():
            return
        if self._held is not None:
            self._held.append(told)
            if len(self._held) > MOST_HELD:
                self.parted.set_result(False)
        elif self._connection.is_behind:
            self.parted.set_result(False)
        else:
            self._connection.write(told)
            self.id = told.id or self.id
            if told.over:
                self.parted.set_result(True)


Tell: TypeAlias = Callable[[Message, Sequence[Viewer], Callable[[], None]], None]


class Channel:
    """Those who watch the same. `tell` is called with each message, those who are to get it, and what to call then.

    What happens while a message is on its way to them comes in the next: the busier the server, the fewer messages.
    """

    def __init__(self, watch: Watch, often_s: float, tell: Tell) -> None:
        self.watch = watch
        self.viewers: dict[Viewer, None] = {}
        self._often_s = often_s
        self._tell = tell
        self._loop = asyncio.get_running_loop()
        self._parts: list[bytes] = []
        self._id = 0
        self._over = False
        self._told_at = self._loop.time() - often_s
        self._alarm: asyncio.TimerHandle | None = None
        self._under_way = 0

    def add(self, viewer: Viewer) -> None:
        """Add a viewer, who is told what comes from now on."""
        self._flush()
        self.viewers[viewer] = None

    def take(self, event: Published, form: bytes) -> None:
        """Tell an event: at once, or with those that come soon after the last message."""
        self._parts.append(self.watch.part(event, form))
        self._id, self._over = self.watch.id_of(event), self.watch.ends(event)
        self._soon()

    def idle(self, place: int, since: float) -> None:
        """Say that the stream lives, where nothing was told since a time. `place`: how far the journal is."""
        if self._told_at <= since and not self._parts:
            self._say(message(0 if self.watch.of_one else place, self.watch.here(place)))

    def close(self) -> None:
        """Tell nothing more."""
        self._parts.clear()
        self._flush()

    def _flush(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if self._parts:
            parts, self._parts = self._parts, []
            self._say(message(self._id, b"".join(parts), self._over))

    def _say(self, told: Message) -> None:
        self._told_at = self._loop.time()
        self._under_way += 1
        self._tell(told, tuple(self.viewers), self._said)

    def _said(self) -> None:
        self._under_way -= 1
        self._soon()

    def _soon(self) -> None:
        if self._parts and self._alarm is None and not self._under_way:
            self._alarm = self._loop.call_at(self._told_at + self._often_s, self._flush)
