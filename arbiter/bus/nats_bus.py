"""The bus on NATS (core: at most once, nothing is kept), by its library `nats-py`.

A connection that is lost is replaced by a new one, to any of the servers. What is published meanwhile is dropped, since
the store has it.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NoReturn

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error

from arbiter.bus.messages import Envelopes
from arbiter.service.ports.bus import Listener, Message

RETRY_S: Final = 0.25  #: between two attempts to connect
CONNECT_S: Final = 2
PING_S: Final = 1  #: a connection without an answer to two pings is given up
MOST_WAITING: Final = 1_000  #: messages that are not sent yet; older ones are dropped
NOT_YET: Final = "it is not connected yet"


class NatsBus:
    """The bus of one server; see `arbiter.service.ports.bus`. Somebody has to `run` it.

    servers: URLs. refused: messages that no server of this store has sent. trouble: why it is not connected, or ''.
    """

    FAILURES: Final = (OSError, Error, TimeoutError, EOFError)  #: what a connection may raise

    def __init__(
        self,
        servers: Sequence[str],
        envelopes: Envelopes,
        tls: ssl.SSLContext | None = None,
        credentials: Path | None = None,
    ) -> None:
        self.trouble = NOT_YET
        self.refused = 0
        self._servers = servers
        self._envelopes = envelopes
        self._tls = tls
        self._credentials = credentials
        self._listeners: list[Listener] = []
        self._waiting: deque[bytes] = deque(maxlen=MOST_WAITING)
        self._more = asyncio.Event()

    def publish(self, message: Message) -> None:
        if not self.trouble:
            self._waiting.append(self._envelopes.seal(message))
            self._more.set()

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    async def run(self) -> NoReturn:
        """Keep a connection, until cancelled."""
        while True:
            client = Client()
            try:
                await self._connect(client)
                await client.subscribe(self._envelopes.subject, cb=self._arrived)
                await client.flush(CONNECT_S)  # now the others' messages come
                self.trouble = ""
                await self._send(client)
            except self.FAILURES as error:
                await self._failed(error)
            finally:
                self.trouble = self.trouble or "the connection has ended"
                self._waiting.clear()
                await self._close(client)
            _end_if_cancelled()
            await asyncio.sleep(RETRY_S)

    async def round_trip_ms(self) -> float:
        """Connect, ask the server for an answer, and return how long it took. Raises FAILURES."""
        client = Client()
        try:
            async with asyncio.timeout(CONNECT_S):
                await self._connect(client)
                began = time.perf_counter()
                await client.flush(CONNECT_S)
                return (time.perf_counter() - began) * 1_000
        except TimeoutError:
            raise OSError(self.trouble) from None
        finally:
            await self._close(client)

    async def _connect(self, client: Client) -> None:
        options: dict[str, Any] = {"tls": self._tls} if self._tls is not None else {}
        if self._credentials is not None:
            options["user_credentials"] = str(self._credentials)
        await client.connect(
            list(self._servers),
            name="arbiter",
            no_echo=True,
            allow_reconnect=False,  # here is the loop that connects again, after any failure
            max_reconnect_attempts=-1,
            reconnect_time_wait=RETRY_S,  # type: ignore[arg-type]
            connect_timeout=CONNECT_S,
            ping_interval=PING_S,
            max_outstanding_pings=2,
            error_cb=self._failed,
            closed_cb=self._closed,
            **options,
        )

    async def _close(self, client: Client) -> None:
        with suppress(*self.FAILURES):
            async with asyncio.timeout(CONNECT_S):  # after a failed handshake it may never end
                await client.close()

    async def _send(self, client: Client) -> None:
        """Send what is published, until the connection ends."""
        while client.is_connected:
            _end_if_cancelled()
            await self._more.wait()
            self._more.clear()
            while self._waiting and client.is_connected:
                await client.publish(self._envelopes.subject, self._waiting.popleft())

    async def _arrived(self, received: Msg) -> None:
        message = self._envelopes.open(received.data)
        if message is None:
            self.refused += 1
            return
        for listener in self._listeners:
            listener(message)

    async def _failed(self, error: Exception) -> None:
        self.trouble = str(error) or type(error).__name__
        _end_if_cancelled()  # the library would go on with its attempts to connect, for as long as they fail

    async def _closed(self) -> None:
        self._more.set()


def _end_if_cancelled() -> None:
    """Raise CancelledError if this task was cancelled: some calls of the library swallow the error."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
