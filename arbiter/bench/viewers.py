"""A benchmark process: browsers that watch, as their script does: each one stream of server-sent events.

Plan: `page` (address of the page), `match` and `viewers` (how many watch it), `grid` (matches) and `grid_viewers` (how
many watch all of these on one stream each). It sends an answer once every stream has caught up. An order has `durable`
(match, revision and time of the commit, of each event). Once nothing has come for a while, the answer has the
`latencies` of these events in milliseconds, from the commit to each viewer; and `bytes`, which were read in all.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from typing import Final, cast
from urllib.parse import urlsplit

from arbiter.bench.processes import answer, give_way, order
from arbiter.runtime.loop import run_process

STREAM_ENDED = 3  #: exit code
OPENING = 50  #: streams that are being opened at the same time
QUIET_S = 0.3  #: after this time without an event, none is under way any more
KEPT = 1_000  #: parts of streams whose events are known: all viewers of a match get the same bytes

Place = tuple[str, int]
_EVENT: Final = re.compile(rb'"match":"([^"]+)","revision":(\d+)')


class Viewers:
    """All viewers of this process, and when each event arrived at each of them."""

    def __init__(self) -> None:
        self.arrived: dict[Place, list[float]] = {}
        self.bytes = 0
        self._known: dict[bytes, Place | None] = {}
        self._newest = time.monotonic()

    def part(self, part: bytes) -> None:
        """Note a part of a stream that has arrived."""
        if part not in self._known:
            found = _EVENT.search(part)
            if len(self._known) >= KEPT:
                self._known.clear()
            self._known[part] = (found[1].decode(), int(found[2])) if found else None
        place = self._known[part]
        if place is not None:
            self._newest = time.monotonic()
            self.arrived.setdefault(place, []).append(self._newest)

    async def quiet(self) -> None:
        """Wait until no event has come for a while."""
        while (passed := time.monotonic() - self._newest) < QUIET_S:  # noqa: ASYNC110 - they come too often to tell
            await asyncio.sleep(QUIET_S - passed)


class Viewer(asyncio.Protocol):
    """One stream of events."""

    def __init__(self, viewers: Viewers, request: bytes) -> None:
        self.caught_up: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._viewers = viewers
        self._request = request
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the stream."""
        cast("asyncio.Transport", transport).write(self._request)

    def data_received(self, data: bytes) -> None:
        """Note each event, as soon as it is whole."""
        self._viewers.bytes += len(data)
        *parts, self._rest = (self._rest + data).split(b"\n\n")
        for part in parts:
            self._viewers.part(part)
            if not self.caught_up.done() and (b": here" in part or b"event: here" in part):
                self.caught_up.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the process: the results of such a run are not valid."""
        os._exit(STREAM_ENDED)


async def run(page: str, match: str, viewers: int, grid: list[str], grid_viewers: int) -> None:
    """Watch until there are no more orders."""
    everybody, loop, place = Viewers(), asyncio.get_running_loop(), urlsplit(page)
    of_grid = "/live?" + "&".join(f"match={each}" for each in grid)
    paths = [f"/matches/{match}/events"] * viewers + [of_grid] * grid_viewers

    async def watch(path: str) -> None:
        request = f"GET {path} HTTP/1.1\r\nhost: {place.netloc}\r\naccept: text/event-stream\r\n\r\n".encode()
        _, viewer = await loop.create_connection(
            lambda: Viewer(everybody, request), place.hostname or "", place.port or 80
        )
        await viewer.caught_up

    for first in range(0, len(paths), OPENING):
        await asyncio.gather(*map(watch, paths[first : first + OPENING]))
    answer(streams=len(paths))
    while (told := await asyncio.to_thread(order)) is not None:
        await everybody.quiet()
        latencies = [
            round((arrived - committed) * 1_000, 2)
            for match_id, revision, committed in told["durable"]
            for arrived in everybody.arrived.get((match_id, revision), ())
        ]
        answer(latencies=latencies, bytes=everybody.bytes)


if __name__ == "__main__":
    plan = order()
    assert plan is not None
    give_way()
    run_process(run(**plan))
