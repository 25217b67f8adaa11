"""One of the processes of `arbiter serve --processes`, started by `arbiter.cli.serve_processes`.

It reads its plan as a line of JSON from standard input (settings, number, new, bots, log_level), and writes a line when
it serves (`arbiter.cli.announcing.Serving`). When standard input ends, its parent has ended, and so does it.
"""

from __future__ import annotations

import gc
import json
import signal
import sys

from arbiter.cli.terminal import write_line


def main() -> None:
    """Run a server until it is told to stop."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until it serves
    gc.disable()  # it would run hundreds of times during the imports; `run_process` enables it
    plan = json.loads(sys.stdin.readline())

    import structlog

    from arbiter.cli import logs
    from arbiter.cli.announcing import Serving
    from arbiter.cli.serve_here import run_server
    from arbiter.config import Settings

    logs.configure(plan["log_level"])
    structlog.contextvars.bind_contextvars(server=plan["number"])

    def serves(serving: Serving) -> None:
        write_line(json.dumps(serving._asdict()))

    run_server(Settings(**plan["settings"]), plan["new"], tuple(plan["bots"]), serves)


if __name__ == "__main__":
    main()
