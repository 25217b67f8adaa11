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
from urllib.parse import SplitResult, urlsplit

import h11

from arbiter.config import WebHookSettings
from arbiter.service.ports.web_hooks import DeliveryFailed

MOST_ADDRESSES: Final = 4  #: of a name that are tried
AT_ONCE: Final = 65_536  #: bytes of an answer
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
    def _trusted(self) -> ssl.SSLContext:
        """The authorities of the system. To read them takes long, and many servers have no web hooks."""
        return ssl.create_default_context()

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
            async with asyncio.timeout(self._timeout_s):
                status = await self._post(urlsplit(url), headers, body)
        except TimeoutError:
            raise DeliveryFailed(f"no answer within {self._timeout_s:g} s") from None
        except (_NotAllowed, OSError, ValueError) as error:
            raise DeliveryFailed(str(error) or type(error).__name__) from None
        except h11.ProtocolError as error:
            raise DeliveryFailed(f"it gave no answer in HTTP: {error}") from None
        if not 200 <= status < 300:
            raise DeliveryFailed(f"it answered with status {status}", gone=status == GONE)

    async def _post(self, url: SplitResult, headers: Mapping[str, str], body: bytes) -> int:
        """Return the status of the answer. Raises _NotAllowed, OSError, ValueError, h11.ProtocolError."""
        reader, writer = await self._connect(url)
        try:
            http = h11.Connection(h11.CLIENT)
            own = {"host": url.netloc, "content-length": str(len(body)), "connection": "close"}
            target = (url.path or "/") + (f"?{url.query}" if url.query else "")
            request = h11.Request(method="POST", target=target, headers=[*own.items(), *headers.items()])
            for event in (request, h11.Data(body), h11.EndOfMessage()):
                writer.write(http.send(event) or b"")
            while True:
                came = http.next_event()
                if isinstance(came, h11.Response):
                    return came.status_code
                if came is h11.NEED_DATA:
                    http.receive_data(await reader.read(AT_ONCE))
        finally:
            writer.transport.abort()

    async def _connect(self, url: SplitResult) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to a checked address of a receiver. Raises _NotAllowed, OSError."""
        assert url.hostname is not None
        port = url.port or (443 if url.scheme == "https" else 80)
        tls: dict[str, Any] = {"ssl": self._trusted, "server_hostname": url.hostname} if url.scheme == "https" else {}
        failure = OSError()
        for address in await self._resolved(url.hostname, port):
            try:
                return await asyncio.open_connection(address, port, **tls)
            except OSError as error:
                failure = error
        raise failure

    async def _resolved(self, host: str, port: int) -> Sequence[str]:
        """Return the first addresses of a name to which connections may go. Raises _NotAllowed, OSError."""
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(where[0]) for *_, where in found))
        allowed = [each for each in addresses if self._allowed.allow(ip_address(each.partition("%")[0]))]
        if not allowed:
            raise _NotAllowed(f"{host} has no public address, and this server reaches no others")
        return allowed[:MOST_ADDRESSES]


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
