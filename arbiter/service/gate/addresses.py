"""Addresses: those that a server listens on, whether only this machine reaches them, and where calls come from."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address
from typing import Final

from arbiter.errors import OperatorError

HOST_BITS: Final = 64  #: of an IPv6 address that are a host's own to choose


def host_and_port(address: str, purpose: str, example: str) -> tuple[str, int]:
    """Return the parts of an address to listen on, HOST:PORT. `purpose`, `example`: for the message of an error.

    Raises OperatorError if it is no such address.
    """
    host, _, port = address.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()) or int(port) > 65_535:
        raise OperatorError(f"{address!r} is no address {purpose}: write HOST:PORT, as {example}")
    return host, int(port)


def is_loopback(host: str) -> bool:
    """Say whether only this machine reaches a server that listens on a host."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False


def counted_as(address: str) -> str:
    """Return the name under which rates count an address.

    An IPv6 address counts as its network, since one host may have all addresses of it. Any other address, such as that
    of a Unix socket, counts as it is.
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
