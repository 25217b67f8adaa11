"""Sends new events to all browsers that watch, in one pass over their connections.

There is one subscription to all events, whatever the browsers watch. Each event of a watched match is drawn once and
published in the channels that watch it (`arbiter.web.channels`). A pass writes to a slice of the connections at a time,
and the event loop does its other work between two slices, so moves come first. The more other work there is, the
smaller the next slice. A subscriber first reads the past from the journal. It joins its channel before that, so that it
misses nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from time import perf_counter
from typing import Final

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.service.gate.match_calls import MatchGate
from arbiter.service.observing.feed import Stream
from arbiter.service.record.published import Published
from arbiter.web.channels import Channel, Message, Subscriber, Watch, is_beginning

SLICE: Final = 16  #: largest number of connections in a slice
WRITE_S: Final = 20e-6  #: estimated processor time of a write, most of it in the operating system after the slice
SHARE: Final = 0.1  #: share of the event loop's time for writes, relative to other work, while the loop is busy


class Broadcast:
    """All channels. It reads events while there are subscribers. `to_json` returns an event of a match as JSON."""

    def __init__(self, matches: MatchGate, to_json: Callable[[Published], Awaitable[bytes]], limits: Limits) -> None:
        self._matches = matches
        self._to_json = to_json
        self._interval_s = 1 / limits.page_updates_a_second
        self._idle_s = limits.bookmark_ms / 1_000
        self._channels: dict[Watch, Channel] = {}
        self._of_match: dict[str, list[Channel]] = {}
        self._passes: deque[tuple[Message, deque[Subscriber], Callable[[], None]]] = deque()
        self._slice_ended_at = 0.0  # when the last slice ended
        self._slice_size = 0  # the number of its connections
        self._place = 0
        self._watching = 0
        self._reading: asyncio.Task[None] | None = None
        self._begun: asyncio.Future[None] | None = None

    @asynccontextmanager
    async def joined(self, watch: Watch, subscriber: Subscriber) -> AsyncIterator[int]:
        """Add a subscriber; yield the journal place from which on it gets every event.

        Raises the error of the subscription, if that has failed.
        """
        self._watching += 1
        try:
            await self._read()
            channel = self._channel(watch)
            channel.add(subscriber)
            try:
                yield self._place
            finally:
                subscriber.finished.cancel()  # a pass that is under way writes nothing after the end of its answer
                channel.subscribers.pop(subscriber, None)
                if not channel.subscribers:
                    self._forget(channel)
        finally:
            self._watching -= 1
            if not self._watching and self._reading is not None:
                self._reading.cancel()
                self._reading = None

    async def _read(self) -> None:
        """Start the subscription if there is none; return once `_place` is known."""
        if self._reading is None:
            self._begun = asyncio.get_running_loop().create_future()
            self._reading = asyncio.create_task(self._run(self._begun))
            self._reading.add_done_callback(self._reading_ended)
        assert self._begun is not None
        await asyncio.shield(self._begun)

    def _reading_ended(self, reading: asyncio.Task[None]) -> None:
        """Pass an error of the subscription to all subscribers."""
        if reading.cancelled() or self._reading is not reading:
            return
        self._reading, error = None, reading.exception()
        if error is not None:
            for channel in self._channels.values():
                for subscriber in channel.subscribers:
                    subscriber.fail(error)

    def _channel(self, watch: Watch) -> Channel:
        channel = self._channels.get(watch)
        if channel is None:
            channel = self._channels[watch] = Channel(watch, self._interval_s, self._deliver)
            for match_id in watch.matches:
                self._of_match.setdefault(match_id, []).append(channel)
        return channel

    def _forget(self, channel: Channel) -> None:
        if self._channels.get(channel.watch) is not channel:
            return
        del self._channels[channel.watch]
        channel.close()
        for match_id in channel.watch.matches:
            self._of_match[match_id].remove(channel)
            if not self._of_match[match_id]:
                del self._of_match[match_id]

    async def _run(self, begun: asyncio.Future[None]) -> None:
        keeping_alive = asyncio.create_task(self._keep_alive())
        after: int | None = None
        try:
            while True:
                async with self._matches.all_events(after) as stream:
                    if after is None:
                        self._place = stream.place
                        begun.set_result(None)
                    await self._follow(stream)
                after = self._place
        except Exception as error:
            if not begun.done():
                begun.set_exception(error)
            raise
        finally:
            keeping_alive.cancel()

    async def _follow(self, stream: Stream) -> None:
        """Publish all events; return if the subscription was too slow, and has to start again from the journal."""
        try:
            async for batch in stream:
                for event in batch if isinstance(batch, list) else ():
                    await self._publish(event)
        except Refusal as refusal:
            if refusal.reason is not Reason.READER_TOO_SLOW:
                raise

    async def _publish(self, event: Published) -> None:
        watched = any(channel.watch.includes(event) for channel in self._of_match.get(event.match_id, ()))
        json = await self._to_json(event) if watched else b""
        self._place = event.sequence  # a subscriber that joins from now on reads this event from the journal
        if watched:
            for channel in self._of_match.get(event.match_id, ()):
                channel.publish(event, json)
        for channel in self._channels.values() if is_beginning(event) else ():
            if channel.watch.announces(event):
                channel.publish(event, b"")

    async def _keep_alive(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self._idle_s / 4)
            for channel in list(self._channels.values()):
                channel.keep_alive(self._place, loop.time() - self._idle_s)

    def _deliver(self, message: Message, subscribers: Sequence[Subscriber], then: Callable[[], None]) -> None:
        """Queue a pass over some subscribers, behind those that are under way; call `then` at its end."""
        if not self._passes:
            self._slice_ended_at, self._slice_size = perf_counter(), 0
            asyncio.get_running_loop().call_soon(self._slice)
        self._passes.append((message, deque(subscribers), then))

    def _slice(self) -> None:
        """Write to the next slice of subscribers."""
        others_s = perf_counter() - self._slice_ended_at - self._slice_size * WRITE_S
        busy = others_s > SLICE * WRITE_S
        message, subscribers, then = self._passes[0]
        self._slice_size = min(len(subscribers), max(1, int(others_s * SHARE / WRITE_S)) if busy else SLICE, SLICE)
        for _ in range(self._slice_size):
            subscribers.popleft().deliver(message)
        if not subscribers:
            self._passes.popleft()
            then()
        if self._passes:
            self._slice_ended_at = perf_counter()
            asyncio.get_running_loop().call_soon(self._slice)
