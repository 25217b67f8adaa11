"""The server of a run, with the engines of the run in the same process: no network is between them.

    python -m arbiter.cli.tournament_run.hosting_server CHANNEL LISTEN WEB STORE

CHANNEL is the handle of a socket, by which `arbiter.cli.tournament_run.engine_channel` sends each engine.
"""

from __future__ import annotations

import gc
import signal
import sys


def main() -> None:
    """Run the server until it is told to stop."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until it serves
    gc.disable()  # it would run hundreds of times during the imports; `run_process` enables it

    import socket
    from functools import partial

    from arbiter.cli import logs
    from arbiter.cli.serve_here import run_server
    from arbiter.cli.tournament_run.hosted_engines import playing
    from arbiter.config import load

    channel, listen, web, store = sys.argv[1:]
    logs.configure("warning")
    settings = load(None, listen=listen, web=web, store=store, registration="closed")
    run_server(settings, engines=partial(playing, socket.socket(fileno=int(channel))))


if __name__ == "__main__":
    main()
