"""The HTTP of web hooks: one POST for each attempt, to addresses outside, or to those that the operator allows.

A name is resolved here, its addresses are checked, and the connection goes to a checked address, so that the name can't
lead elsewhere in between. Redirects are not followed, no proxy is used, and of an answer only the status is read.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Final
from urllib.parse import urlsplit

import httpcore

from arbiter.config import WebHookSettings
from arbiter.service.ports.web_hooks import DeliveryFailed

MOST_ADDRESSES: Final = 4  #: of a name that are tried
GONE: Final = 410  #: the status by which a receiver says that it wants no more
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")  #: IPv4 addresses behind a translator (RFC 6052)


class _NotAllowed(Exception):
    """No address of a name may be reached. The message says why."""


class HttpSender:
    """Sends deliveries; see `arbiter.service.ports.web_hooks.Sender`."""

    def __init__(self, settings: WebHookSettings) -> None:
        self._timeout_s = settings.timeout_ms / 1_000
        self._allowed = Addresses(settings.networks)

    @cached_property
    def _pool(self) -> httpcore.AsyncConnectionPool:
        return httpcore.AsyncConnectionPool(
            ssl_context=ssl.create_default_context(),
            max_keepalive_connections=0,  # so that each attempt resolves and checks the name
            network_backend=_CheckedNetwork(self._allowed),
        )

    def check(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            whole = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            whole = False
        if not whole or not url.isascii() or " " in url:
            raise ValueError("an address such as https://example.org/hook, in ASCII")
        if parts.username is not None or parts.password is not None or parts.fragment:
            raise ValueError("an address without user, password and fragment")
        try:
            address = ip_address(parts.hostname or "")
        except ValueError:
            return  # a name, which may lead elsewhere at any time: each attempt checks it
        if not self._allowed.allow(address):
            raise ValueError("a public address: the operator of the server allows others (web_hooks.networks)")

    async def send(self, url: str, headers: Mapping[str, str], body: bytes) -> None:
        """Send a delivery. Raises DeliveryFailed unless the receiver answers in time, with a status 2xx."""
        try:
            async with (
                asyncio.timeout(self._timeout_s),
                self._pool.stream("POST", url, headers=list(headers.items()), content=body) as response,
            ):
                status = response.status
        except TimeoutError:
            raise DeliveryFailed(f"no answer within {self._timeout_s:g} s") from None
        except (_NotAllowed, OSError, ValueError, httpcore.NetworkError, httpcore.TimeoutException) as error:
            raise DeliveryFailed(str(error) or type(error).__name__) from None
        except (httpcore.ProtocolError, httpcore.UnsupportedProtocol) as error:
            raise DeliveryFailed(f"it gave no answer in HTTP: {error}") from None
        if not 200 <= status < 300:
            raise DeliveryFailed(f"it answered with status {status}", gone=status == GONE)


class Addresses:
    """The addresses to which connections may go: public ones, and those in some networks, `*` for all."""

    def __init__(self, networks: Iterable[str]) -> None:
        names = list(networks)
        self._all = "*" in names
        self._networks = [ip_network(name, strict=False) for name in names if name != "*"]

    def allow(self, address: IPv4Address | IPv6Address) -> bool:
        """Return whether a connection may go to an address, and to the IPv4 address that it stands for, if any."""
        meant = _meant(address)
        if self._all or any(meant in network for network in self._networks if network.version == meant.version):
            return True
        inside = meant.is_multicast or meant.is_reserved or (isinstance(meant, IPv6Address) and meant.is_site_local)
        return meant.is_global and not inside


def _meant(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the address to which a packet goes in the end: an IPv6 address may stand for one of IPv4."""
    if isinstance(address, IPv4Address):
        return address
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else address)


class _CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Connects to the checked addresses of a name alone."""

    def __init__(self, allowed: Addresses) -> None:
        self._allowed = allowed
        self._plain = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to a name. Raises _NotAllowed, OSError, httpcore.ConnectError."""
        failure: Exception | None = None
        for address in await self._resolved(host, port):
            try:
                return await self._plain.connect_tcp(address, port, timeout, local_address, socket_options)
            except httpcore.ConnectError as error:
                failure = error
        assert failure is not None
        raise failure

    async def _resolved(self, host: str, port: int) -> Sequence[str]:
        """Return the first addresses of a name to which connections may go. Raises _NotAllowed, OSError."""
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(where[0]) for *_, where in found))
        allowed = [each for each in addresses if self._allowed.allow(ip_address(each.partition("%")[0]))]
        if not allowed:
            raise _NotAllowed(f"{host} has no public address, and this server reaches no others")
        return allowed[:MOST_ADDRESSES]
