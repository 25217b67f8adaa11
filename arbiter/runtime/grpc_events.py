"""An event loop that does not let the gRPC library's thread wait, and is not interrupted by it.

For each event, such as a message that has come or has been written, this thread writes a byte to a socket that the
event loop watches.

It must not wait. The library's reader of the socket takes one byte, and all events that there are by then. So bytes
stay behind, and each of them calls the reader again. If many events come at once, the bytes fill the socket (277 on
Linux), and the thread waits until the reader has taken one. From then on it passes on one event for each turn of the
loop: a move that has come waits behind all that the server has written to observers. This loop takes most of these
bytes before that. No event is lost, because each event is there before its byte.

And it must not interrupt. When an event comes, the system runs this thread at once, mostly on the processor of the
event loop's thread, which has to stop meanwhile. With two servers on two processors this happened twice a move. It
brings nothing: the loop looks for the event only at its next turn. So this thread runs as a batch thread. Then it
interrupts no other thread, and passes on several events at once.

Seen in grpcio 1.85 (`PollerCompletionQueue`); https://github.com/grpc/grpc/pull/40989 tells of the same wait when a
process ends.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
import time
from array import array
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final

if sys.platform != "win32":
    import fcntl
    import termios

READER: Final = "PollerCompletionQueue._handle_events"  #: the qualified name of the library's reader
THREAD: Final = "_poll_wrapper"  #: the function that the library's thread runs; it is in the thread's name
OFTEN: Final = 8  #: calls of the reader, after which the bytes are counted
MOST: Final = 128  #: bytes that may stay
KEPT: Final = 64  #: bytes that stay where there were more than MOST; see `DrainingReader`


class DrainingReader:
    """Calls the library's reader, and takes bytes of its socket where too many have stayed.

    It does not take all: as long as there are some, the event loop does not sleep. Where each call took all others, a
    move at saturation cost the server 1.03 and 1.09 times the processor time (two times 11 alternating rounds, 64
    matches); with KEPT, 0.97 times.
    """

    def __init__(self, read: socket.socket, callback: Callable[[], object]) -> None:
        self._read = read
        self._callback = callback
        self._calls = 0
        self._count = array("i", [0])

    def __call__(self) -> None:
        """Call the library's reader, which takes one byte."""
        self._calls += 1
        if not self._calls % OFTEN and (waiting := self.waiting()) > MOST:
            self._read.recv(waiting - KEPT)
        self._callback()

    def waiting(self) -> int:
        """Return how many bytes can be read."""
        fcntl.ioctl(self._read, termios.FIONREAD, self._count)
        return self._count[0]


def new_loop() -> asyncio.AbstractEventLoop:
    """Return a new event loop: of uvloop if it is installed, otherwise asyncio's own.

    Its clock has microseconds: that of uvloop has milliseconds, in which no short turn of the loop can be told from an
    idle one (`arbiter.service.background`).
    """
    loop = plain_loop()
    loop.time = time.monotonic  # type: ignore[method-assign]
    add_reader = loop.add_reader

    def add(fd: Any, callback: Callable[..., Any], *args: Any) -> None:
        if isinstance(fd, socket.socket) and _is_reader(callback):
            add_reader(fd, DrainingReader(fd, partial(callback, *args)))
            _schedule_as_batch()
        else:
            add_reader(fd, callback, *args)

    if sys.platform != "win32":  # there the bytes can't be counted
        loop.add_reader = add  # type: ignore[assignment, method-assign]
    return loop


def plain_loop() -> asyncio.AbstractEventLoop:
    """Return a new event loop without these measures, for the servers that benchmarks compare with."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


def _is_reader(callback: Callable[..., object]) -> bool:
    function = callback.func if isinstance(callback, partial) else callback
    return getattr(function, "__qualname__", "") == READER


def _schedule_as_batch() -> None:
    """Have the library's thread interrupt no other thread (Linux: SCHED_BATCH, see sched(7)).

    Two servers on one PostgreSQL make 1.09 times as many moves a second so, and acknowledge a move at 2,500 offered a
    second after 18 instead of 29 ms (p50). The price: where four other programs kept two processors busy, it waited for
    them, and a move took 9.2 instead of 7.4 ms.
    """
    if sys.platform == "linux":
        for thread in threading.enumerate():
            if THREAD in thread.name and thread.native_id is not None:
                with suppress(OSError):  # it may not be set here
                    if os.sched_getscheduler(thread.native_id) == os.SCHED_OTHER:  # else the operator has chosen one
                        os.sched_setscheduler(thread.native_id, os.SCHED_BATCH, os.sched_param(0))
