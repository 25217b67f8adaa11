"""Who follows which events: durable events are put into the queues of their readers.

Every move passes through this module, so it has no coroutines and is compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from arbiter.matches.events import Event
from arbiter.matches.match import Match
from arbiter.service.alone import OtherServers
from arbiter.service.observing.fanout import Subscription
from arbiter.service.record.published import Published

ALL: Final = ""  #: in place of a match's id: the events of all matches and tournaments


class Subscribers:
    """The subscriptions to the events of each match or tournament, and to all events.

    others: of the store. They say which events the readers of all may get: each comes after all events before it.
    """

    def __init__(self, others: OtherServers) -> None:
        self._others = others
        # Each in the order of subscription, with the class of events that do not wake it.
        self._of: dict[str, dict[Subscription[Published], type[Event] | None]] = {}

    def __bool__(self) -> bool:
        return bool(self._of)

    def add(self, subject: str, subscription: Subscription[Published], quiet: type[Event] | None = None) -> None:
        """Have a subscription get the events of a match or tournament from now on, or ALL.

        quiet: events of this class do not wake its reader.
        """
        self._of.setdefault(subject, {})[subscription] = quiet

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

    def publish(self, events: Sequence[Published]) -> None:
        """Publish events that have just become durable, in their order in the journal."""
        for event in events:
            for subscription in self._of.get(event.match_id, ()):
                subscription.put(event)
        if ALL in self._of:
            self.put_to_all(self._others.in_order(events))

    def put_to_all(self, events: Sequence[Published | None]) -> None:
        """Give events to the readers of all. They read those from the log that are None."""
        for subscription, quiet in self._of.get(ALL, {}).items():
            for event in events:
                if event is not None:
                    subscription.put(event, type(event.event) is quiet)
                else:
                    subscription.note_missing()

    def note_missing(self, subject: str) -> None:
        """Have the readers of a match read the log."""
        for subscription in self._of.get(subject, ()):
            subscription.note_missing()
