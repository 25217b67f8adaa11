"""The process of a server: its event loop, its garbage collector, its threads."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Coroutine
from typing import Any, Final

YOUNG_OBJECTS: Final = 20_000  #: made, and not gone yet, before the collector looks at them; Python's own is 700
SWITCH_S: Final = 0.001  #: after which a thread that waits for the interpreter gets it; Python's own is 5 ms
GRPC_ENVIRONMENT: Final = {"GRPC_EXPERIMENTS": "-event_engine_listener"}
"""What the gRPC library is to find in the environment when it is loaded, unless an operator has put something there.

Without this experiment of its own it hands less from thread to thread: a move costs its server a fifth less processor
time, measured with grpcio 1.85.
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

    What has been imported lives as long as the process: the garbage collector need not look at it. And a move makes
    and keeps dozens of objects none of which is garbage: at Python's own rate, looking for it would be a tenth of all
    work. The thread that commits must not wait long for the one that runs the event loop.
    """
    sys.setswitchinterval(SWITCH_S)
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 10, 10)
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(main)
