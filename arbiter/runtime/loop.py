"""A server process: its event loop, its garbage collection, its threads."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final, NoReturn

from arbiter.runtime.grpc_events import new_loop

YOUNG: Final = 500  #: new containers, after which the collector looks through them
ROUNDS: Final = 3  #: after more such looks it also looks through those that have survived these
NEVER: Final = 2**31 - 1  #: looks at the survivors, after which it would look through all that exists
QUIET: Final = 0.1  #: share of one processor, below which the load is low
MEMORY_S: Final = 1.0  #: interval between two looks at the memory of the process
GROWN: Final = 32 << 20  #: bytes of memory more, after which memory is given back at low load
SWITCH_S: Final = 0.001  #: after which a waiting thread gets the interpreter, if a commit may wait for it
SELDOM_SWITCH_S: Final = 0.005  #: the same, if no commit waits for it; this is Python's default
PAGE_NICE: Final = 5  #: of a process that has the page alone; see nice(1)
GRPC_ENVIRONMENT: Final = {
    "GRPC_EXPERIMENTS": "-event_engine_listener,-event_engine_for_all_other_endpoints",
    "GRPC_ENABLE_FORK_SUPPORT": "0",
}
"""Environment variables for the gRPC library, set before it is loaded unless the operator has set them.

They switch off two experiments of the library, so that it passes less work between threads. Measured with grpcio 1.85:
without the first one, a move costs the server a fifth less processor time. Without both it costs perhaps another tenth
less, in four of five runs.

And they switch off what the library does in a process that is forked: it starts its threads again there. Our forked
processes only start a program, and such a thread, which finds its file descriptors closed, ended some of them before.
"""


def run_process(
    main: Coroutine[Any, Any, None], loop_factory: Callable[[], asyncio.AbstractEventLoop] = new_loop
) -> None:
    """Run the main coroutine of a process that serves, or measures a server, and does nothing else.

    The thread switch interval is short, so that the thread that commits does not wait long for the event loop's thread;
    see also `switch_seldom`.
    Imported modules are frozen: the garbage collector does not scan them. It does not run before that: imports leave
    almost no garbage, and to look for it takes a twentieth of a second.

    Then it looks through each container twice at most, while that is new. Matches, moves, calls and streams leave no
    cyclic garbage: reference counting frees them. But gRPC leaves six objects of each call, when it looks for the
    call's handler. And each move creates containers that stay. Python's usual collector scans all of them again and
    again: with a thousand matches that paused the server for 60 ms every two seconds and for 200 ms every 30 seconds.
    So no pause is longer than for (ROUNDS + 2) * YOUNG containers, however many there are: two milliseconds or so.

    What has become old and is then left in a circle is not freed. `tests/rpc/test_garbage.py` shows for each kind of
    call that it leaves none.
    """
    sys.setswitchinterval(SWITCH_S)
    gc.freeze()
    gc.set_threshold(YOUNG, ROUNDS, NEVER)
    gc.enable()
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(_giving_back(main))


def let_players_go_first() -> None:
    """Have other processes of this machine go first, from now on: for a process that has the page alone."""
    os.nice(PAGE_NICE)


def switch_seldom() -> None:
    """Have the other threads wait longer for the interpreter's lock: for a server whose commits don't need it.

    Measured at 2,500 moves a second: beside the commit, an acknowledgement then takes 1.5 instead of 2 ms (p50), and 6
    instead of 15 to 20 ms (p99).
    """
    sys.setswitchinterval(SELDOM_SWITCH_S)


def keep(_: object = None) -> None:
    """Have the garbage collector pass over all that exists now, such as the matches that were read after a start.

    To look through a thousand of them takes it a tenth of a second, in which nothing else happens. They are freed all
    the same once nothing refers to them.
    """
    gc.freeze()


async def _giving_back(main: Coroutine[Any, Any, None]) -> None:
    giving_back = asyncio.create_task(_give_back())
    try:
        await main
    finally:
        giving_back.cancel()


async def _give_back() -> NoReturn:
    """Give memory back while the load is low.

    Memory that is free again stays with the process until the C library is asked to give it back: so it is, at low
    load, after the process has grown.
    """
    memory = _Memory()
    while True:
        await asyncio.sleep(MEMORY_S)
        memory.look()


class _Memory:
    """Gives memory back to the system."""

    def __init__(self) -> None:
        self._resident = _resident_bytes()
        self._give_back = _giver_back()
        self._note()

    def look(self) -> None:
        """Give memory back if the process has grown, and the load has been low since the last look."""
        quiet = time.process_time() - self._used < QUIET * (time.monotonic() - self._at)
        resident = _resident_bytes()
        if quiet and resident > self._resident + GROWN:
            self._give_back()
            self._resident = _resident_bytes()
        else:
            self._resident = min(self._resident, resident)
        self._note()

    def _note(self) -> None:
        self._at, self._used = time.monotonic(), time.process_time()


def _resident_bytes() -> int:
    """Return the memory of this process; 0 on systems other than Linux, where it is unknown."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _giver_back() -> Callable[[], object]:
    """Return a function that gives free memory back to the system; one that does nothing without the GNU C library."""
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return lambda: None
    return lambda: trim(0)
