"""Addresses: those that a server listens on, whether they are loopback addresses, and those that calls come from."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address
from typing import Final

from arbiter.errors import OperatorError

HOST_BITS: Final = 64  #: bits of an IPv6 address that a host chooses itself


def host_and_port(address: str, purpose: str, example: str) -> tuple[str, int]:
    """Return the host and the port of an address to listen on, HOST:PORT. `purpose`, `example`: for the error message.

    Raises OperatorError if the address does not have this form.
    """
    host, _, port = address.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()) or int(port) > 65_535:
        raise OperatorError(f"{address!r} is no address {purpose}: write HOST:PORT, as {example}")
    return host, int(port)


def is_loopback(host: str) -> bool:
    """Return whether a server that listens on a host can be reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False


def counted_as(address: str) -> str:
    """Return the name under which the rate limits count an address.

    An IPv6 address counts as its network, because one host may use all addresses of its network. An IPv4 address counts
    as it is, and so does any other address, such as that of a Unix socket.
    """
    try:
        found = ip_address(address.strip("[]").partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return f"{IPv6Address(int(found) >> HOST_BITS << HOST_BITS)}/{128 - HOST_BITS}"
    return str(found)
