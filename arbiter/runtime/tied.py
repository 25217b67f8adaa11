"""Processes that do not outlive the one that started them, however it ends.

The starter gives its child a pipe for standard input and keeps the other end, on which it writes nothing. The system
closes that end with the starter, even if it is killed, and the child then ends as if it had been told to by SIGTERM.

    python -m arbiter.runtime.tied MODULE [ARGUMENT …]    runs a module as `python -m MODULE …` does, tied so
"""

from __future__ import annotations

import os
import runpy
import select
import signal
import sys
import threading
import time
from typing import Final

GRACE_S: Final = 10.0  #: what the process gets to end by itself


def tie(grace_s: float = GRACE_S) -> None:
    """Have this process told to end (SIGTERM) once its standard input hangs up, and killed `grace_s` later."""
    threading.Thread(target=_watch, args=(grace_s,), name="tied", daemon=True).start()


def _watch(grace_s: float) -> None:
    poll = select.poll()
    poll.register(sys.__stdin__.fileno() if sys.__stdin__ else 0, 0)  # nothing is read: only the end is reported
    poll.poll()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(grace_s)
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Run the module that the command line names, tied to whoever started this process."""
    tie()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
