"""The process of a server: its event loop, its garbage collector, its threads."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Coroutine
from typing import Any, Final, NoReturn

LITTLE: Final = 50_000  #: containers made and not gone, before garbage is looked for among them while little happens
MUCH: Final = 1_000_000  #: and whatever happens; or
SHARE: Final = 2  #: as many times those that were found alive the time before, if that is more
QUIET: Final = 0.1  #: of a processor: a server that takes less has little to do
SWEEP_S: Final = 1.0  #: between two looks at how many there are
SWITCH_S: Final = 0.001  #: after which a thread that waits for the interpreter gets it; Python's own is 5 ms
GRPC_ENVIRONMENT: Final = {"GRPC_EXPERIMENTS": "-event_engine_listener,-event_engine_for_all_other_endpoints"}
"""What the gRPC library is to find in the environment when it is loaded, unless an operator has put something there.

Without these experiments of its own it hands less from thread to thread: a move costs its server a fifth less processor
time without the first, measured with grpcio 1.85, and perhaps a tenth less again without both: in four turns of five.
"""


def new_loop() -> asyncio.AbstractEventLoop:
    """Return a new event loop: uvloop's, where there is one."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


def run_server(main: Coroutine[Any, Any, None]) -> None:
    """Run the main coroutine of a process that is a server and nothing else.

    The thread that commits must not wait long for the one that runs the event loop. Garbage is collected by `_sweep`
    alone, and what has been imported lives as long as the process: it is not looked at.
    """
    sys.setswitchinterval(SWITCH_S)
    gc.collect()
    gc.freeze()
    gc.disable()
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(_swept(main))


async def _swept(main: Coroutine[Any, Any, None]) -> None:
    sweeping = asyncio.create_task(_sweep())
    try:
        await main
    finally:
        sweeping.cancel()


async def _sweep() -> NoReturn:
    """Collect garbage while little happens, or once there may be very much of it.

    Matches, moves and streams leave none behind: what they hold goes by its counts of references. A call leaves half a
    dozen objects of the gRPC library's, one that is refused about fifty. But a move makes and keeps containers, and
    Python's own collector looks at each of them three times, once there are enough new ones: with a thousand matches
    that was a pause of 60 ms every two seconds and one of 200 ms every half a minute, in which no move is read, and not
    one object was found.
    """
    alive, before, used_before = 0, time.monotonic(), time.process_time()
    while True:
        await asyncio.sleep(SWEEP_S)
        now, used = time.monotonic(), time.process_time()
        quiet = used - used_before < QUIET * (now - before)
        if gc.get_count()[0] >= (LITTLE if quiet else max(MUCH, SHARE * alive)):
            gc.collect()
            alive = len(gc.get_objects())
        before, used_before = time.monotonic(), time.process_time()
