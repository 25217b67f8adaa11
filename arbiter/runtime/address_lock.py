"""One arbiter at each address of a machine, although the processes of one arbiter share theirs.

Sockets alone can't keep this. With SO_REUSEPORT, the system lets two arbiters of one user listen on one address, and
gives each a part of the connections. A trial without it fails only once somebody listens there, which is seconds after
an arbiter with several processes has begun to start. So each arbiter also holds a name, which Linux frees as soon as
its process has ended: that of a Unix socket without a file, in the network namespace of the address. An address of all
interfaces and one of a single interface have different names, so an arbiter also looks through the names of the others.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from arbiter.errors import OperatorError

_HELD: Final = "arbiter at "
_ALL_NAMES: Final = Path("/proc/net/unix")


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
    refusal = OperatorError(
        f"can't listen on {address} ({name}): another arbiter on this machine has this address, or starts "
        "there: stop it first, or name another address"
    )
    with socket.socket(socket.AF_UNIX) as holder:
        try:
            holder.bind(f"\0{_HELD}{place}")
        except OSError:
            raise refusal from None
        if any(_overlap(place, other) for other in _held_places()):
            raise refusal
        yield


def _held_places() -> Iterator[str]:
    """Yield the places that arbiters of this machine hold, as `_place` writes them."""
    with suppress(OSError), _ALL_NAMES.open() as lines:  # some containers hide the list
        for line in lines:
            _, found, place = line.rstrip("\n").partition(f"@{_HELD}")
            if found:
                yield place


def _overlap(place: str, other: str) -> bool:
    """Return whether two different places share connections: one of them is on all interfaces, at the same port."""
    (host, port), (other_host, other_port) = place.split(), other.split()
    is_wide = ip_address(host).is_unspecified or ip_address(other_host).is_unspecified
    return place != other and port == other_port and is_wide


def _place(address: str) -> str | None:
    host, _, port = address.rpartition(":")
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65_536):
        return None
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
    except (OSError, ValueError):
        return None
    return f"{found[0][4][0]!s} {int(port)}"
