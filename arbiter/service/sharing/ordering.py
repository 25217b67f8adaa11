"""The order of all events where several servers write the log: whoever reads all events gets them in that order."""

from __future__ import annotations

from collections.abc import Sequence

from arbiter.service.matches.live import LiveMatches
from arbiter.service.observing.subscribers import Subscribers
from arbiter.service.ports.journal import StoredRecord
from arbiter.service.record.published import Published


class HeldBack:
    """Events that are known here, and wait until all events before them are. most: more of them are read from the log.

    followed: the sequence number up to which all events are known here.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.waiting: dict[int, Published] = {}  # by sequence number
        self.followed = 0

    def add(self, events: Sequence[Published]) -> None:
        """Let events wait, unless whoever reads all events has got them."""
        for event in events:
            if event.sequence > self.followed:
                if len(self.waiting) >= self._most:
                    self.waiting.clear()  # they will be read
                self.waiting[event.sequence] = event


class Ordering:
    """Passes the events of the log's new records on to whoever reads all events."""

    def __init__(self, held_back: HeldBack, subscribers: Subscribers, live: LiveMatches) -> None:
        self._held_back = held_back
        self._subscribers = subscribers
        self._live = live

    def log_grown(self, found: Sequence[StoredRecord]) -> None:
        """Pass the events of the log's new records to the readers of all. They read those that are unknown here.

        A match that only newer servers can serve is not published. As its readers read it, they are refused, so that
        they go to another server.
        """
        if not found:
            return
        waiting = self._held_back.waiting
        self._held_back.followed = found[-1].sequence
        if not self._subscribers:
            waiting.clear()
            return
        for record in found:
            if self._live.is_too_new(record.match_id):
                self._subscribers.note_missing(record.match_id)
        self._subscribers.put_to_all([waiting.pop(record.sequence, None) for record in found])
