"""Files that are sent as they are read: the server has one part of a file in memory, however long the file is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from arbiter.errors import Refusal
from arbiter.web.browser_connections import DIRECT, Direct, disconnected

JSON_LINES: Final = "application/jsonl"


class FileStream(Response):
    """A response of several parts. Each one is read when the browser has taken the one before, while it stays.

    A refusal before the first part is the response. After a later one the connection is aborted, since a response that
    ended as usual would look complete.
    """

    media_type = JSON_LINES

    def __init__(self, opening: AbstractAsyncContextManager[AsyncIterator[bytes]]) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._opening = opening
        self._begun = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the parts."""
        left = asyncio.create_task(disconnected(receive))
        try:
            await self._send(scope, send, left)
        except Refusal:
            if not self._begun:
                raise
            connection: Direct = scope["extensions"][DIRECT]
            connection.abort()
            await left
        finally:
            left.cancel()

    async def _send(self, scope: Scope, send: Send, left: asyncio.Task[None]) -> None:
        async with self._opening as parts:
            async for part in parts:
                if not self._begun:
                    await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                    self._begun = True
                if scope["method"] == "HEAD":
                    break
                await send({"type": "http.response.body", "body": part, "more_body": True})
                if left.done():
                    return
        await send({"type": "http.response.body", "body": b"", "more_body": False})
