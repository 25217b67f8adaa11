"""Who follows which events: durable events are put into the queues of their readers.

Every move passes through this module, so it has no coroutines and is compiled.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from arbiter.matches.match import Match
from arbiter.service.matches.live import LiveMatches
from arbiter.service.observing.fanout import Subscription
from arbiter.service.ports.journal import StoredRecord
from arbiter.service.record.published import Published

ALL: Final = ""  #: in place of a match's id: the events of all matches and tournaments


class Subscribers:
    """The subscriptions to the events of each match or tournament, and to all events.

    shared: other servers write to the log too. Then the readers of all events get one once all events before it are
    known here: own events wait for those of other servers. most_waiting: so many; the readers of more read the log.
    """

    def __init__(self, live: LiveMatches, most_waiting: int, shared: bool) -> None:
        self._live = live
        self._most_waiting = most_waiting
        self._shared = shared
        self._of: dict[str, dict[Subscription[Published], None]] = {}  # each in the order of subscription
        self._waiting: dict[int, Published] = {}  # by sequence number: not put to the readers of all yet
        self._followed = 0  # the sequence number up to which all events are known here

    def add(self, subject: str, subscription: Subscription[Published]) -> None:
        """Have a subscription get the events of a match or tournament from now on, or ALL."""
        self._of.setdefault(subject, {})[subscription] = None

    def remove(self, subject: str, subscription: Subscription[Published]) -> None:
        """Undo `add`."""
        those = self._of[subject]
        del those[subscription]
        if not those:
            del self._of[subject]

    def match_changed(self, match: Match, events: Sequence[Published]) -> None:
        """Publish the events of a match that have just become durable."""
        if self._of:
            self.publish(events)

    def publish(self, events: Iterable[Published]) -> None:
        """Publish events that have just become durable, in their order in the journal."""
        of_all = self._of.get(ALL, ())
        for event in events:
            for subscription in self._of.get(event.match_id, ()):
                subscription.put(event)
            if not self._shared:
                for subscription in of_all:
                    subscription.put(event)
            elif event.sequence > self._followed and of_all:
                if len(self._waiting) >= self._most_waiting:
                    self._waiting.clear()  # they will be read
                self._waiting[event.sequence] = event

    def log_grown(self, news: Sequence[StoredRecord]) -> None:
        """Pass the events of the log's new records to the readers of all. They read those that are unknown here.

        A match that only newer servers can serve is not published. As its readers read it, they are refused, so that
        they go to another server.
        """
        if not news:
            return
        self._followed = news[-1].sequence
        if not self._of:
            self._waiting.clear()
            return
        of_all = self._of.get(ALL, ())
        for record in news:
            if self._live.is_too_new(record.match_id):
                for subscription in self._of.get(record.match_id, ()):
                    subscription.note_missing()
        for subscription in of_all:
            for record in news:
                event = self._waiting.get(record.sequence)
                if event is not None:
                    subscription.put(event)
                else:
                    subscription.note_missing()
        for record in news:
            self._waiting.pop(record.sequence, None)
