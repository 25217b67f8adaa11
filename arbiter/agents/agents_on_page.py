"""Agents on the address of the page: streamable HTTP in the server's process, for the player of each token.

The libraries of the protocol take a second to load. The first request loads them, in a thread, so that a server whose
page no agent uses does without them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

if TYPE_CHECKING:
    import arbiter_client as arb


SHARED: Final = PlainTextResponse(
    "Several servers may share this address, and an agent's player would have to stay with one of them: ask the "
    "operator for the address of an `arbiter mcp --listen` beside them.",
    503,
)
NOT_INSTALLED: Final = PlainTextResponse(
    "Agents need the extra `agents` on the server: `pip install 'game-arbiter[agents]'`.", 501
)


class AgentsOnPage:
    """The application for the path of agents. Close it to end their players' streams.

    open_client: makes the client for a token and its caller's address, whose calls stay in this process. most_bytes: of
    a request.
    """

    def __init__(self, open_client: Callable[[str, str], arb.Client], most_bytes: int) -> None:
        self._open_client = open_client
        self._most_bytes = most_bytes
        self._running: asyncio.Task[None] | None = None
        self._app: asyncio.Future[ASGIApp] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if self._app is None:
            self._app = asyncio.get_running_loop().create_future()
            self._running = asyncio.create_task(self._run(self._app))
        app = await asyncio.shield(self._app)
        await app(scope, receive, send)

    async def _run(self, app: asyncio.Future[ASGIApp]) -> None:
        try:
            loaded = await asyncio.to_thread(_load)
        except ImportError:
            app.set_result(NOT_INSTALLED)
            return
        async with loaded.application(self._open_client, None, self._most_bytes) as running:
            app.set_result(running)
            await asyncio.Future()

    async def close(self) -> None:
        """End the streams of all players."""
        if self._running is not None:
            self._running.cancel()
            with suppress(asyncio.CancelledError):
                await self._running


def _load() -> Any:
    from arbiter.agents import serving

    return serving
