"""One of the processes of `arbiter serve --processes`, started by `arbiter.cli.serve_processes`.

It reads its plan as a line of JSON from standard input (settings, number, new, bots, log_level), and writes a line when
it serves (`arbiter.cli.announcing.Serving`). When standard input ends, its parent has ended, and so does it.
"""

from __future__ import annotations

import gc
import json
import signal
import sys

from arbiter.cli.terminal import tell, write_line


def main() -> None:
    """Run a server until it is told to stop."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until it serves
    gc.disable()  # it would run hundreds of times during the imports; `run_process` runs it instead
    plan = json.loads(sys.stdin.readline())

    import structlog

    from arbiter.cli import logs
    from arbiter.cli.announcing import Serving
    from arbiter.cli.failure import FAILED, USAGE, Failure
    from arbiter.cli.serve_here import serve_until_signal
    from arbiter.config import Settings
    from arbiter.errors import OperatorError
    from arbiter.runtime.loop import run_process

    logs.configure(plan["log_level"])
    structlog.contextvars.bind_contextvars(server=plan["number"])

    def serves(serving: Serving) -> None:
        write_line(json.dumps(serving._asdict()))

    settings = Settings(**plan["settings"])
    try:
        run_process(serve_until_signal(settings, plan["new"], tuple(plan["bots"]), serves, lambda: None))
    except (OperatorError, Failure) as error:
        tell(f"arbiter: {' '.join(str(error).split())}")
        sys.exit(USAGE if isinstance(error, OperatorError) else FAILED)


if __name__ == "__main__":
    main()
