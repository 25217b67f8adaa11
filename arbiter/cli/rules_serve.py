"""`arbiter rules serve`: an arbiter of its own for the program that starts it, for matches of that program's bots."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from typing import Final

from arbiter.bootstrap.operator_tokens import replace_token
from arbiter.bootstrap.running_server import serving
from arbiter.cli import logs
from arbiter.cli.announcing import OPERATOR
from arbiter.cli.terminal import write_line
from arbiter.config import load_private
from arbiter.runtime.loopback import HOST, free_port

SEATS: Final = ("seat-1", "seat-2")  #: the players of local matches
CREDIT: Final = {"hand_over_most_ms": 3_600_000}  #: no turn goes without the legal moves that its bot wants
LIMITS: Final = {"calls_a_second": 1_000_000, "rules_waiting": 10_000}  #: its only caller is the program that starts it


async def serve_until_end_of_input() -> None:
    """Serve on a temporary store and a free port of this machine, until standard input ends.

    One line on standard output says where, and with which tokens, as a client's credentials file does. Raises
    OperatorError if there is no port.
    """
    logs.configure("error")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program, whose end closes our input
    with tempfile.TemporaryDirectory(prefix="arbiter-") as folder:
        server = f"{HOST}:{free_port()}"
        settings = load_private(
            listen=server, store=f"sqlite:///{folder}/arbiter.db", web="", credit=CREDIT, limits=LIMITS
        )
        async with serving(settings) as running:
            seats = {seat: await replace_token(running.arbiter.accounts, seat, "") for seat in SEATS}
            write_line(json.dumps({server: {OPERATOR: running.admin_token, **seats}}))
            sys.stdout.flush()
            await asyncio.to_thread(_read_to_end)


def _read_to_end() -> None:
    while os.read(sys.stdin.fileno(), 65_536):
        pass  # nothing is asked here: calls come to the server
