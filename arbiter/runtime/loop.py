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

LITTLE: Final = 50_000  #: new containers, after which the collector runs if the load is low
MUCH: Final = 1_000_000  #: new containers, after which the collector runs at any load, or
SHARE: Final = 2  #: this multiple of the containers that survived the last run, if that is more
QUIET: Final = 0.1  #: share of one processor, below which the load is low
SWEEP_S: Final = 1.0  #: interval between two checks
GROWN: Final = 32 << 20  #: bytes of memory more, after which garbage is collected and memory given back at low load
SWITCH_S: Final = 0.001  #: after which a waiting thread gets the interpreter, if a commit may wait for it
SELDOM_SWITCH_S: Final = 0.005  #: the same, if no commit waits for it; this is Python's default
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
    Automatic garbage collection is off; `_sweep` runs it instead. Imported modules are frozen: the collector does not
    scan them. It does not run before that: imports leave almost no garbage, and to look for it takes a twentieth of a
    second.
    """
    sys.setswitchinterval(SWITCH_S)
    gc.freeze()
    gc.disable()
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(_swept(main))


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


async def _swept(main: Coroutine[Any, Any, None]) -> None:
    sweeping = asyncio.create_task(_sweep())
    try:
        await main
    finally:
        sweeping.cancel()


async def _sweep() -> NoReturn:
    """Run the garbage collection while the load is low, or once there may be a lot of garbage.

    Matches, moves and streams leave no cyclic garbage: reference counting frees them. A call leaves about six objects
    of the gRPC library, a refused call about fifty. But each move creates containers that stay, and Python's own
    collector scans each of them three times. With a thousand matches it paused the server for 60 ms every two seconds
    and for 200 ms every 30 seconds. During these pauses the server read no moves, and the collector found no garbage.

    Memory that is free again stays with the process until the C library is asked to give it back: so it is, at low
    load, after the process has grown.
    """
    alive, before, used_before = 0, time.monotonic(), time.process_time()
    resident, give_back = _resident_bytes(), _giver_back()
    while True:
        await asyncio.sleep(SWEEP_S)
        now, used = time.monotonic(), time.process_time()
        quiet = used - used_before < QUIET * (now - before)
        grown = quiet and _resident_bytes() > resident + GROWN
        if grown or gc.get_count()[0] >= (LITTLE if quiet else max(MUCH, SHARE * alive)):
            gc.collect()
            alive = len(gc.get_objects())
        if grown:
            give_back()
            resident = _resident_bytes()
        else:
            resident = min(resident, _resident_bytes())
        before, used_before = time.monotonic(), time.process_time()


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
