"""The HTTP server: its socket, and its start and stop beside the gRPC server, in one event loop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from functools import partial

import uvicorn

from arbiter.config import Settings
from arbiter.errors import OperatorError
from arbiter.runtime.certificates import ServedCertificate
from arbiter.service.gate.addresses import Proxies, host_and_port, is_loopback
from arbiter.service.gate.gate import Gate
from arbiter.service.ports.meter import Meter
from arbiter.web.accepting import Accepting, OpenConnections
from arbiter.web.application import Calls, application
from arbiter.web.browser_connections import BrowserConnection
from arbiter.web.visits import PageTime

WAITING: int = 1_024  #: connections that wait to be accepted
GRACE_S: int = 2  #: seconds that responses have to end when the server stops


class _Uvicorn(uvicorn.Server):
    """A server that leaves signals to the process in which it runs."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class WebServer:
    """The HTTP server. Its constructor binds the address."""

    def __init__(
        self,
        gate: Gate,
        settings: Settings,
        certificate: ServedCertificate | None,
        calls: Calls,
        meter: Meter,
    ) -> None:
        """Bind the address. Raises OperatorError if that fails, or if it needs TLS and there is no certificate."""
        time = PageTime(settings.limits, settings.has_page_alone)
        app = application(gate, settings, calls, meter, time)
        self._socket = _bound(settings)
        self.port: int = self._socket.getsockname()[1]
        self.scheme = "https" if settings.tls_certificate else "http"

        class InTime(BrowserConnection):
            patience_s = settings.limits.request_ms / 1000

        self._connection = InTime
        config = uvicorn.Config(
            app,
            http=InTime,
            log_config=None,
            log_level="error",  # a warning would say what a visitor has sent: anybody could fill the log
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            proxy_headers=bool(settings.web_proxies),
            forwarded_allow_ips=list(settings.web_proxies),
            timeout_graceful_shutdown=GRACE_S,
            ssl_certfile=settings.tls_certificate,
            ssl_keyfile=settings.tls_key,
        )
        config.load()
        if certificate is not None and config.ssl is not None:
            certificate.follow(config.ssl)
        self._server = _Uvicorn(config)
        self._connections = OpenConnections(settings.limits, Proxies(settings.web_proxies))
        self._accepting = Accepting(self._socket, config.ssl, self._connections, self._protocol, time, gate.background)
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Accept connections; those that arrive before the event loop runs wait."""
        self._socket.setblocking(False)
        self._socket.listen(WAITING)
        serving = asyncio.create_task(self._server.serve(sockets=[]))
        while not self._server.started and not serving.done():  # noqa: ASYNC110 - it has no event for that
            await asyncio.sleep(0)
        self._tasks = [serving, asyncio.create_task(self._accepting.run())]

    async def stop(self) -> None:
        """Accept no more connections, and close the open ones."""
        self._server.should_exit = True
        if self._tasks:
            serving, accepting = self._tasks
            accepting.cancel()
            await asyncio.wait((accepting,))
            self._socket.close()
            await serving
        self._socket.close()

    def _protocol(self, address: str) -> BrowserConnection:
        """Return the protocol of a connection that is counted for an address."""
        config, server = self._server.config, self._server
        made: BrowserConnection = self._connection(config, server.server_state, server.lifespan.state)
        made.closed = partial(self._connections.close, address)
        return made


def _bound(settings: Settings) -> socket.socket:
    """Return a socket that is bound to the address of the pages. Raises OperatorError."""
    host, port = host_and_port(settings.web, "for the page", "127.0.0.1:7480")
    if not settings.tls_certificate and not is_loopback(host) and not settings.insecure:
        raise OperatorError(
            f"a page on {settings.web} without TLS could be changed on its way: "
            "give --tls-certificate and --tls-key, or say --insecure"
        )
    address = host.removeprefix("[").removesuffix("]")
    try:
        family, kind, number, _, place = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, number)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, int(settings.supervised))
        try:
            bound.bind(place)
        except OSError:
            bound.close()
            raise
    except OSError:
        raise OperatorError(
            f"can't serve the page on {settings.web}: the port is taken, or the address is not this machine's"
        ) from None
    return bound
