"""One arbiter at each address of a machine, although the processes of one arbiter share theirs.

Sockets alone can't keep this. With SO_REUSEPORT, the system lets two arbiters of one user listen on one address, and
gives each a part of the connections. A trial without it fails only once somebody listens there, which is seconds after
an arbiter with several processes has begun to start. So each arbiter also holds a name, which Linux frees as soon as
its process has ended: that of a Unix socket without a file, in the network namespace of the address.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from arbiter.errors import OperatorError


@contextmanager
def alone_at(address: str, name: str) -> Iterator[None]:
    """Let no other arbiter of this machine have an address, HOST:PORT, during the context. name: the setting's.

    An address without a port of its own (port 0), or one to which nobody can bind, is not held. Raises OperatorError if
    another arbiter has it.
    """
    place = _place(address)
    if place is None or sys.platform != "linux":
        yield
        return
    with socket.socket(socket.AF_UNIX) as holder:
        try:
            holder.bind(f"\0arbiter at {place}")
        except OSError:
            raise OperatorError(
                f"can't listen on {address} ({name}): another arbiter on this machine has this address, or starts "
                "there: stop it first, or name another address"
            ) from None
        yield


def _place(address: str) -> str | None:
    host, _, port = address.rpartition(":")
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65_536):
        return None
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
    except (OSError, ValueError):
        return None
    return f"{found[0][4][0]!s} {int(port)}"
