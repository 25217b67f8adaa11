"""The bus as a port: messages between the servers that share a store, by which they hear of news early.

The bus may lose any message, or deliver it late, twice, or after later ones; it may be away for a while, or reach some
of the servers only. The store stays the truth: a server that hears nothing reads the same news from the store, a little
later. So a message must never be the only way to learn something, and a message that is old, repeated or wrong must
cause nothing worse than a needless read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias

from arbiter.service.ports.journal import StoredRecord


class Report(NamedTuple):
    """What a server knows of the store. Each server sends one after each of its commits, and several a second.

    server: its id as a replica. at_ms: when it was sent, in the store's time, UTC epoch milliseconds. place: the log
    has records up to this sequence number. notice: there are notices up to this number. records: the last ones that
    this server has committed, in order and without a gap, if they are small.
    """

    server: str
    at_ms: int
    place: int
    notice: int
    records: tuple[StoredRecord, ...] = ()


class StreamOpened(NamedTuple):
    """A player has opened a Play stream at a server; a stream at another server may be older."""

    server: str
    player: str


Message: TypeAlias = Report | StreamOpened
Listener = Callable[[Message], None]


class Bus(Protocol):
    """Carries messages to all other servers of the same store. All methods are called on the event loop."""

    @property
    def trouble(self) -> str:
        """Why no message can be sent or received now, as far as is known; '' if nothing is known to be wrong."""

    @property
    def refused(self) -> int:
        """How many messages have arrived that no server of this store has sent."""

    def publish(self, message: Message) -> None:
        """Send a message. It neither waits nor fails: a message that can't be sent now is dropped."""

    def listen(self, listener: Listener) -> None:
        """Call a listener with each message of other servers that arrives from now on, on the event loop.

        It is not called with messages that no server of this store has sent. Messages of this server may be among them.
        """
