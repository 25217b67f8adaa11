"""Agents under the client of the official library.

The library takes a second to load: the tests that use it load it, and not each process that collects them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arbiter.agents.presence import Presence
from tests.processes import WAIT_S

if TYPE_CHECKING:
    from mcp import Client


@asynccontextmanager
async def over_http(address: str, token: str = "") -> AsyncIterator[Client]:
    """Connect to the path /mcp of an HTTP address, with a token or none."""
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=WAIT_S) as connection,
        Client(streamable_http_client(f"{address}/mcp", http_client=connection)) as agent,
    ):
        yield agent


def over_pipes(command: Path, args: list[str], environment: dict[str, str]) -> Client:
    """Return an agent that starts a command and writes to its standard input."""
    from mcp import Client, StdioServerParameters

    return Client(StdioServerParameters(command=str(command), args=args, env=environment))


def in_process(presence: Presence) -> Client:
    """Return an agent of the tools themselves."""
    from mcp import Client

    from arbiter.agents import tools

    async def of(_context: Any) -> Presence:
        return presence

    return Client(tools.server(of))
