"""Addresses: where calls come from, as rates count it, and whether only this machine can call."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address
from typing import Final

HOST_BITS: Final = 64  #: of an IPv6 address that are a host's own to choose


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
