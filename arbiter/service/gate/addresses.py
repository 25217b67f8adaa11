"""Addresses: those that a server listens on, whether they are loopback addresses, and those that calls come from."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
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


class Proxies:
    """Proxies whose word is trusted on where a call comes from: their addresses and networks, or `*` for everybody."""

    def __init__(self, named: Iterable[str]) -> None:
        """Take addresses and networks, as the settings have checked them."""
        names = tuple(named)
        self._all = "*" in names
        self._networks = tuple(ip_network(name, strict=False) for name in names if name != "*")

    def __contains__(self, address: str) -> bool:
        if self._all:
            return True
        found = _ip(address) if self._networks else None
        return found is not None and any(found in network for network in self._networks)

    def sender(self, peer: str, forwarded: str) -> str:
        """Return the address that a call comes from.

        peer: the address of the connection. forwarded: the header X-Forwarded-For, to which each proxy has appended
        its caller's address. So the last address there that is no trusted proxy is right; anybody may have
        written what is before it.
        """
        for address in reversed(forwarded.split(",")):
            if peer not in self:
                break
            found = _ip(address.strip())
            if found is None:
                break
            peer = str(found)
        return peer


def _ip(address: str) -> IPv4Address | IPv6Address | None:
    """Return an address of the internet, without its port if it has one; None for other texts."""
    text = address.partition("]")[0].removeprefix("[").partition("%")[0]
    if text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ip_address(text)
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found


def counted_as(address: str) -> str:
    """Return the name under which the rate limits count an address.

    An IPv6 address counts as its network, because one host may use all addresses of its network. An IPv4 address counts
    as it is, and so does any other address, such as that of a Unix socket.
    """
    found = _ip(address)
    if found is None:
        return address
    if isinstance(found, IPv6Address):
        return f"{IPv6Address(int(found) >> HOST_BITS << HOST_BITS)}/{128 - HOST_BITS}"
    return str(found)
