"""Hands what happens on to all browsers that watch, in one pass over their connections.

One stream of all events is read, whoever watches what. Each event of a match that somebody watches is drawn once, and
told in the channels of those who watch it (`arbiter.web.channels`). Their connections are written to a few at a time:
moves come first, since the event loop does whatever else is to be done between two of these slices, and the more that
is, the fewer connections are in the next slice. A viewer begins with what the journal has of the past; it is a member
of its channel before that is read, so that nothing is missed.
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
from arbiter.service.gate.matches import MatchGate
from arbiter.service.observing.feed import Stream
from arbiter.service.record.published import Published
from arbiter.web.channels import Channel, Message, Viewer, Watch, is_beginning

AT_ONCE: Final = 16  #: connections that are written to before others have the event loop
WRITE_S: Final = 20e-6  #: of the processor that a write takes, about: mostly the system's, and at the end of the slice
SHARE: Final = 0.1  #: of the time that others use the event loop for may be used for writes, where they are busy


class Broadcast:
    """All channels. It reads while somebody watches. `form` gives an event of a match as JSON."""

    def __init__(self, matches: MatchGate, form: Callable[[Published], Awaitable[bytes]], limits: Limits) -> None:
        self._matches = matches
        self._form = form
        self._often_s = 1 / limits.page_updates_a_second
        self._idle_s = limits.bookmark_ms / 1_000
        self._channels: dict[Watch, Channel] = {}
        self._of_match: dict[str, list[Channel]] = {}
        self._passes: deque[tuple[Message, deque[Viewer], Callable[[], None]]] = deque()
        self._sliced_at = 0.0  # when the last slice ended
        self._sliced = 0  # connections in it
        self._place = 0
        self._watching = 0
        self._reading: asyncio.Task[None] | None = None
        self._begun: asyncio.Future[None] | None = None

    @asynccontextmanager
    async def joined(self, watch: Watch, viewer: Viewer) -> AsyncIterator[int]:
        """Let a viewer watch; give the journal place after which it is told of everything.

        Raises what reading has failed with.
        """
        self._watching += 1
        try:
            await self._read()
            channel = self._channel(watch)
            channel.add(viewer)
            try:
                yield self._place
            finally:
                viewer.parted.cancel()  # what is under way to it is not written behind the end of its answer
                channel.viewers.pop(viewer, None)
                if not channel.viewers:
                    self._forget(channel)
        finally:
            self._watching -= 1
            if not self._watching and self._reading is not None:
                self._reading.cancel()
                self._reading = None

    async def _read(self) -> None:
        """Begin to read, unless it goes on already; return once it is known how far the journal is."""
        if self._reading is None:
            self._begun = asyncio.get_running_loop().create_future()
            self._reading = asyncio.create_task(self._run(self._begun))
            self._reading.add_done_callback(self._has_ended)
        assert self._begun is not None
        await asyncio.shield(self._begun)

    def _has_ended(self, reading: asyncio.Task[None]) -> None:
        """Pass on to all who watch what reading has failed with."""
        if reading.cancelled() or self._reading is not reading:
            return
        self._reading, error = None, reading.exception()
        if error is not None:
            for channel in self._channels.values():
                for viewer in channel.viewers:
                    viewer.fail(error)

    def _channel(self, watch: Watch) -> Channel:
        channel = self._channels.get(watch)
        if channel is None:
            channel = self._channels[watch] = Channel(watch, self._often_s, self._tell)
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
        telling = asyncio.create_task(self._tell_the_idle())
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
            telling.cancel()

    async def _follow(self, stream: Stream) -> None:
        """Take all events; return where so many waited that some are to be read from the journal."""
        try:
            async for batch in stream:
                for event in batch if isinstance(batch, list) else ():
                    await self._take(event)
        except Refusal as refusal:
            if refusal.reason is not Reason.READER_TOO_SLOW:
                raise

    async def _take(self, event: Published) -> None:
        ours = any(channel.watch.wants(event) for channel in self._of_match.get(event.match_id, ()))
        form = await self._form(event) if ours else b""
        self._place = event.sequence  # who comes from now on gets this event of the journal
        if ours:
            for channel in self._of_match.get(event.match_id, ()):
                channel.take(event, form)
        for channel in self._channels.values() if is_beginning(event) else ():
            if channel.watch.hears_of(event):
                channel.take(event, b"")

    async def _tell_the_idle(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self._idle_s / 4)
            for channel in list(self._channels.values()):
                channel.idle(self._place, loop.time() - self._idle_s)

    def _tell(self, told: Message, viewers: Sequence[Viewer], then: Callable[[], None]) -> None:
        """Begin a pass over some viewers, after those that are under way; call `then` at its end."""
        if not self._passes:
            self._sliced_at, self._sliced = perf_counter(), 0
            asyncio.get_running_loop().call_soon(self._slice)
        self._passes.append((told, deque(viewers), then))

    def _slice(self) -> None:
        """Tell the next few."""
        others_s = perf_counter() - self._sliced_at - self._sliced * WRITE_S
        busy = others_s > AT_ONCE * WRITE_S
        told, viewers, then = self._passes[0]
        self._sliced = min(len(viewers), max(1, int(others_s * SHARE / WRITE_S)) if busy else AT_ONCE, AT_ONCE)
        for _ in range(self._sliced):
            viewers.popleft().take(told)
        if not viewers:
            self._passes.popleft()
            then()
        if self._passes:
            self._sliced_at = perf_counter()
            asyncio.get_running_loop().call_soon(self._slice)
