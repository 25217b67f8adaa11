"""Free ports on the loopback interface, for servers that run for a short time and only locally."""

from __future__ import annotations

import random
import socket
from typing import Final

from arbiter.errors import OperatorError

HOST: Final = "127.0.0.1"
LISTENERS: Final = range(20_000, 32_768)  #: Linux uses ports from 32768 on for outgoing connections
TRIES: Final = 100

_given = set[int]()  # by this process, which may not have opened them yet


def free_port() -> int:
    """Return a loopback port on which nothing listens now, and another one each time. Raises OperatorError.

    The port is random, so that processes that search at the same time seldom choose the same one.
    """
    for port in random.sample(LISTENERS, TRIES):
        if port in _given:
            continue
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            _given.add(port)
            return port
    raise OperatorError(f"no port from {LISTENERS.start} to {LISTENERS.stop - 1} is free on this machine")
