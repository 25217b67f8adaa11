"""Child processes that end when their parent ends, for whatever reason.

The parent gives the child a pipe as standard input, keeps the other end, and never writes to it. The system closes the
pipe when the parent ends, even if it is killed. The child then ends as if it had received SIGTERM.

    python -m arbiter.runtime.tied MODULE [ARGUMENT …]    runs a module as `python -m MODULE …` does
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

GRACE_S: Final = 10.0  #: time for the process to end by itself after SIGTERM


def tie(grace_s: float = GRACE_S) -> None:
    """Send this process SIGTERM when its standard input hangs up, and kill it `grace_s` seconds later."""
    threading.Thread(target=_watch, args=(grace_s,), name="tied", daemon=True).start()


def _watch(grace_s: float) -> None:
    poll = select.poll()
    poll.register(sys.__stdin__.fileno() if sys.__stdin__ else 0, 0)  # no events asked for: only a hang-up is reported
    poll.poll()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(grace_s)
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Run the module that the command line names; it ends when the parent process ends."""
    tie()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
