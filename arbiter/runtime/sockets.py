"""The connections of this process, closed from outside the library that serves them."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from contextlib import suppress
from ipaddress import IPv6Address, ip_address
from urllib.parse import unquote


def close_soon(peer: str) -> None:
    """Close the connections with a peer, in a thread: thousands of files take tens of milliseconds."""
    asyncio.get_running_loop().run_in_executor(None, close_connection, peer)


def close_connection(peer: str) -> int:
    """Shut down the connections of this process with a peer, named as gRPC does (`ipv4:192.0.2.7:50000`).

    Return how many there were; none for a peer that is not named by an IP address. gRPC has no call for this: the
    socket is found among the files that are open. It is shut down on a copy of its descriptor, so that a number that
    is given anew meanwhile does no harm. The library sees the end of the connection, and cleans up.
    """
    try:
        wanted = _peer(peer)
    except ValueError:
        return 0
    found = 0
    for name in os.listdir("/dev/fd"):  # noqa: PTH208 - numbers, and no paths
        number = int(name)
        with suppress(OSError):
            if not stat.S_ISSOCK(os.fstat(number).st_mode):
                continue
            with socket.socket(fileno=os.dup(number)) as copy:
                if copy.family in (socket.AF_INET, socket.AF_INET6):
                    host, port = copy.getpeername()[:2]
                    if (_address(host), port) == wanted:
                        copy.shutdown(socket.SHUT_RDWR)
                        found += 1
    return found


def _peer(peer: str) -> tuple[str, int]:
    host, _, port = unquote(peer).partition(":")[2].rpartition(":")
    return _address(host.strip("[]")), int(port)


def _address(host: str) -> str:
    """Return an address in the form in which it can be compared: IPv4 in IPv6 as IPv4, and without a zone."""
    address = ip_address(host.partition("%")[0])
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return str(address)
