"""A benchmark process: browsers that watch, as their script does: each one stream of server-sent events.

Real viewers have machines of their own; these share the processors with the server and the players whose latency is
measured. So they cost as little as can be: the process has the lowest priority, sleeps between two looks at all its
sockets (the server's writes then wake nobody), and takes what all viewers get alike apart once. When an event arrived
is what the kernel noted as it came in (SO_TIMESTAMPNS), not when this process got around to reading it; where the
system notes nothing, it is the time of reading.

Plan: `page` (address of the page), `match` and `viewers` (how many watch it), `grid` (matches) and `grid_viewers` (how
many watch all of these on one stream each). It sends an answer once every stream has caught up. An order has `durable`
(match, revision and time of the commit, of each event). Once nothing has come for a while, the answer has the
`latencies` of these events in milliseconds, from the commit to each viewer; and `bytes`, which were read in all.
"""

from __future__ import annotations

import os
import re
import select
import socket
import struct
import sys
import time
from typing import Any, Final
from urllib.parse import urlsplit

from arbiter.bench.processes import OPENING, STREAM_ENDED, answer, go_last, order

LOOK_S = 0.02  #: between two looks at the sockets
QUIET_S = 0.3  #: after this time without an event, none is under way any more
KEPT = 1_000  #: reads whose events are known: all viewers of a match get the same bytes
NOTE_ARRIVAL: Final = 35  #: SO_TIMESTAMPNS of Linux, for which Python 3.11 has no name
STAMP: Final = struct.Struct("qq")  #: seconds and nanoseconds of the real-time clock
ROOM: Final = socket.CMSG_SPACE(STAMP.size)
LARGEST: Final = 1 << 18  #: bytes of one read

Place = tuple[str, int]
_EVENT: Final = re.compile(rb'"match":"([^"]+)","revision":(\d+)')
_HERE: Final = (b": here", b"event: here")


class ViewerStream:
    """One stream of events. `rest`: the received part of an incomplete event."""

    __slots__ = ("has_caught_up", "rest", "socket")

    def __init__(self, place: tuple[str, int], request: bytes) -> None:
        self.socket = socket.create_connection(place)
        if sys.platform == "linux":
            self.socket.setsockopt(socket.SOL_SOCKET, NOTE_ARRIVAL, 1)
        self.socket.sendall(request)
        self.socket.setblocking(False)
        self.rest = b""
        self.has_caught_up = False


class Viewers:
    """All viewers of this process, and when each event arrived at each of them."""

    def __init__(self) -> None:
        self.arrived: dict[Place, list[float]] = {}
        self.bytes = 0
        self._known: dict[bytes, tuple[list[Place], bool]] = {}  # and whether it says that all was told
        self._of: dict[int, ViewerStream] = {}
        self._ready = select.epoll()

    def open(self, place: tuple[str, int], requests: list[bytes]) -> None:
        """Open a stream for each request; return once all have caught up."""
        for first in range(0, len(requests), OPENING):
            some = [ViewerStream(place, request) for request in requests[first : first + OPENING]]
            for viewer in some:
                self._of[viewer.socket.fileno()] = viewer
                self._ready.register(viewer.socket, select.EPOLLIN)
            while not all(viewer.has_caught_up for viewer in some):
                self._look(LOOK_S)

    def watch(self) -> dict[str, Any] | None:
        """Read until there is an order, and return it."""
        orders = select.poll()
        orders.register(sys.stdin, select.POLLIN)
        while not orders.poll(LOOK_S * 1_000):
            self._look(0)
        return order()

    def quiet(self) -> None:
        """Read until no event has come for a while."""
        seen = time.monotonic()
        while time.monotonic() - seen < QUIET_S:
            time.sleep(LOOK_S)
            if self._look(0):
                seen = time.monotonic()

    def _look(self, wait_s: float) -> int:
        """Read what has come; return from how many sockets."""
        ready = self._ready.poll(wait_s, len(self._of))
        real_to_monotonic = time.monotonic() - time.time()
        for number, _ in ready:
            viewer = self._of[number]
            data, notes, _, _ = viewer.socket.recvmsg(LARGEST, ROOM)
            if not data:
                os._exit(STREAM_ENDED)  # the results of such a run are not valid
            arrived = time.monotonic()
            if notes:
                seconds, nanoseconds = STAMP.unpack(notes[0][2][: STAMP.size])
                arrived = seconds + nanoseconds / 1e9 + real_to_monotonic
            self._received(viewer, data, arrived)
        return len(ready)

    def _received(self, viewer: ViewerStream, data: bytes, at: float) -> None:
        """Note the events that have become whole."""
        self.bytes += len(data)
        found = None if viewer.rest else self._known.get(data)
        if found is None:
            whole, end, rest = (viewer.rest + data).rpartition(b"\n\n")
            places = [(match.decode(), int(revision)) for match, revision in _EVENT.findall(whole)]
            found = places, any(mark in whole + end for mark in _HERE)
            if not viewer.rest and rest == b"\r\n":  # whole chunks
                rest = b""
                if len(self._known) >= KEPT:
                    self._known.clear()
                self._known[data] = found
            viewer.rest = rest
        viewer.has_caught_up = viewer.has_caught_up or found[1]
        for place in found[0]:
            self.arrived.setdefault(place, []).append(at)


def run(page: str, match: str, viewers: int, grid: list[str], grid_viewers: int) -> None:
    """Watch until there are no more orders."""
    everybody, address = Viewers(), urlsplit(page)
    of_grid = "/live?" + "&".join(f"match={each}" for each in grid)
    paths = [f"/matches/{match}/events"] * viewers + [of_grid] * grid_viewers
    requests = [f"GET {path} HTTP/1.1\r\nhost: {address.netloc}\r\naccept: text/event-stream\r\n\r\n" for path in paths]
    everybody.open((address.hostname or "", address.port or 80), [request.encode() for request in requests])
    answer(streams=len(paths))
    while (ordered := everybody.watch()) is not None:
        everybody.quiet()
        latencies = [
            round((arrived - committed) * 1_000, 2)
            for match_id, revision, committed in ordered["durable"]
            for arrived in everybody.arrived.get((match_id, revision), ())
        ]
        answer(latencies=latencies, bytes=everybody.bytes)


if __name__ == "__main__":
    plan = order()
    assert plan is not None
    go_last()
    run(**plan)
