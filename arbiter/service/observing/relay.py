"""The plain case of a stream of events, without its task: what was published goes on to the writer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from arbiter.matches.events import Ended
from arbiter.service.observing.fanout import Subscription
from arbiter.service.record.published import Published

MOST_IN_MESSAGE: Final = 200  #: published events in one message, so that an unread message takes little memory

Then: TypeAlias = Callable[[BaseException | None], None]
Write: TypeAlias = Callable[[Sequence[Published], Then], bool]
"""Begins to write events and returns True, or False if it can't. When they are written, it calls the function, with
None or what failed, but not before it has returned."""


class Relay:
    """Passes published events on to a writer while they follow each other without a gap; the stream's task waits.

    The task has to go on when events are missing, when too many wait, when the match has ended, when the writer can't
    write, and when no event has come for a while. A task that wakes up for each event costs a server with a thousand
    observers a sixth of its processor time.

    of_match: the events are those of one match, and follow each other by revision; otherwise by sequence number.
    """

    def __init__(self, subscription: Subscription[Published], of_match: bool, write: Write) -> None:
        self._subscription = subscription
        self._of_match = of_match
        self._write = write
        self._stopped: asyncio.Future[bool] | None = None  # awaited by the task
        self.last = 0  #: the revision or sequence number of the last event that was passed on

    def run(self, last: int) -> asyncio.Future[bool]:
        """Pass events after a revision or sequence number on. Call `stop` if the future is no longer awaited.

        Return a future with the result of `Subscription.wait`: True if the task has to look at the events, False if
        none has come for a while. It raises what the writer failed with.
        """
        self.last = last
        self._stopped = asyncio.get_running_loop().create_future()
        self._subscription.call_with_items(self._woken)
        return self._stopped

    def stop(self) -> None:
        """Pass nothing on any more."""
        self._stopped = None
        self._subscription.call_with_items(None)

    def _woken(self, something: bool) -> None:
        stopped, subscription = self._stopped, self._subscription
        if stopped is None or stopped.done():
            return
        last = self._plain()
        try:
            if not something or last is None or not self._write(subscription.items, self._written):
                stopped.set_result(something)
                return
        except Exception as error:  # for the task; the readers that are woken after this one must not miss their turn
            self._written(error)
            return
        self.last = last
        subscription.take()

    def _plain(self) -> int | None:
        """Return the place of the last event that waits, or None if the task has to look at the events."""
        subscription, of_match, last = self._subscription, self._of_match, self.last
        events = subscription.items
        if subscription.overrun or subscription.missing or not 0 < len(events) <= MOST_IN_MESSAGE:
            return None
        for event in events:
            last += 1
            if (event.revision if of_match else event.sequence) != last:
                return None
        return None if of_match and isinstance(events[-1].event, Ended) else last

    def _written(self, error: BaseException | None) -> None:
        stopped = self._stopped
        if stopped is None or stopped.done():
            return
        if error is None:
            self._subscription.call_with_items(self._woken)
        else:
            stopped.set_exception(error)
