"""Ports of the loopback, for servers that are started for a while and found by nobody else."""

from __future__ import annotations

import random
import socket
from typing import Final

from arbiter.errors import OperatorError

HOST: Final = "127.0.0.1"
LISTENERS: Final = range(20_000, 32_768)  #: Linux takes those from 32768 on for outgoing connections
TRIES: Final = 100


def free_port() -> int:
    """Return a port of the loopback on which nothing listens now. Raises OperatorError if there is none.

    It is drawn by chance: processes that look for one at the same time seldom find the same.
    """
    for port in random.sample(LISTENERS, TRIES):
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return port
    raise OperatorError(f"no port from {LISTENERS.start} to {LISTENERS.stop - 1} is free on this machine")
