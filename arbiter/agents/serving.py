"""Agents over standard input and output, for one player, and over streamable HTTP, for the player of each token."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any, Final
from weakref import WeakValueDictionary

import arbiter_client as arb
import uvicorn
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from arbiter.agents import tools
from arbiter.agents.presence import Presence, keep

BEARER: Final = "Bearer "
IDLE_S: Final = 600.0  #: how long a player without requests and without a match stays connected
GONE_S: Final = 3_600.0  #: how long one with matches does; then it counts as absent, as the matches' policy says
MOST_AGENTS: int = 200  #: players at once
SWEEP_S: Final = 5.0
MOST_BYTES: Final = 65_536  #: of a request, which is JSON: four million bytes of it take two seconds to read

NO_TOKEN: Final = "Send the header `Authorization: Bearer TOKEN` with a token of your player that may play."
FULL: Final = "This server has as many agents as it may have: try again later."
POST_ALONE: Final = PlainTextResponse("Agents send each request by POST.", 405, {"allow": "POST"})


OpenClient = Callable[[str, str], arb.Client]
"""Makes the client for a token, and for the address from which it is used ('': not known)."""


@asynccontextmanager
async def present(client: arb.Client) -> AsyncIterator[Presence]:
    """Keep the player of a client present. Raises ArbiterError if its token is refused, ConnectionFailed."""
    async with client:
        await client.myself()
        presence = Presence(client)
        stream = asyncio.create_task(keep(presence))
        try:
            yield presence
        finally:
            stream.cancel()
            await asyncio.wait([stream])


async def serve_stdio(server: str, token: str, tls: arb.Tls | None) -> None:
    """Serve the agent at standard input and output until the input ends. Raises what `present` raises."""
    async with present(arb.Client(server, token=token, tls=tls)) as player:

        async def of(_context: Context[Any, Any]) -> Presence:
            return player

        await tools.server(of).run_stdio_async()


class Agents:
    """The players of the agents that use HTTP, by their tokens. Close it to end all streams.

    A player stays while it is used, so that a lost connection costs nothing: `IDLE_S` without a match, `GONE_S` with.
    If there are too many, the player that has been unused for longest without a match goes: it is back with its next
    request.
    """

    def __init__(self, open_client: OpenClient) -> None:
        self._open_client = open_client
        self._players: dict[str, tuple[Presence, AsyncExitStack]] = {}
        self._used: dict[str, float] = {}
        self._checking = 0  # requests whose token is being checked
        self._opening: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # locks in use

    async def of(self, context: Context[Any, Any]) -> Presence:
        """Return the player of a request's token. Raises ToolError without a valid one."""
        header = (context.headers or {}).get("authorization", "")
        token = header.removeprefix(BEARER).strip()
        if not header.startswith(BEARER) or not token:
            raise ToolError(NO_TOKEN)
        opening = self._opening.setdefault(token, asyncio.Lock())
        async with opening:
            if token not in self._players or self._players[token][0].gone:
                await self._leave(token)
                await self._open(token, _address(context))
        self._used[token] = time.monotonic()
        return self._players[token][0]

    async def _open(self, token: str, address: str) -> None:
        if self._checking >= MOST_AGENTS:
            raise ToolError(FULL)
        self._checking += 1
        async with AsyncExitStack() as stack:
            try:
                client = self._open_client(token, address)
                player = await tools.answered(stack.enter_async_context(present(client)))
            finally:
                self._checking -= 1
            while len(self._players) >= MOST_AGENTS:  # nobody leaves for a token that is refused
                await self._make_room()
            self._players[token] = player, stack.pop_all()

    async def _make_room(self) -> None:
        """Let a player that needs no place go. Raises ToolError if there is none."""
        free = [token for token, (player, _) in self._players.items() if player.gone or not _has_match(player)]
        if not free:
            raise ToolError(FULL)
        await self._leave(min(free, key=lambda token: (not self._players[token][0].gone, self._used.get(token, 0.0))))

    async def _leave(self, token: str) -> None:
        self._used.pop(token, None)
        if token in self._players:
            player, stack = self._players.pop(token)
            player.end()
            await stack.aclose()

    async def sweep(self) -> None:
        """Let players go who are not used any more; does not return."""
        while True:
            await asyncio.sleep(SWEEP_S)
            now = time.monotonic()
            for token, (player, _) in list(self._players.items()):
                if now - self._used.get(token, now) > (GONE_S if _has_match(player) else IDLE_S):
                    await self._leave(token)

    async def close(self) -> None:
        """Let all players go."""
        await asyncio.gather(*map(self._leave, list(self._players)))


def _has_match(player: Presence) -> bool:
    return bool(player.live or player.turns)


def _address(context: Context[Any, Any]) -> str:
    client = getattr(context.request_context.request, "client", None)
    return client.host if client is not None else ""


@asynccontextmanager
async def application(
    open_client: OpenClient, hosts: Sequence[str] | None, most_bytes: int = MOST_BYTES
) -> AsyncIterator[ASGIApp]:
    """Have an application that serves agents at the path /mcp by streamable HTTP.

    hosts: the values of the header Host that are accepted, and their sites as Origin; None: whoever calls the
    application has looked at both. most_bytes: of a request.
    """
    agents, names = Agents(open_client), list(hosts or ())
    app = tools.server(agents.of).streamable_http_app(
        stateless_http=True,
        max_request_body_size=most_bytes,
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=hosts is not None,
            allowed_hosts=names,
            allowed_origins=[f"{scheme}://{name}" for name in names for scheme in ("http", "https")],
        ),
    )
    sweeping = asyncio.create_task(agents.sweep())
    try:
        async with app.router.lifespan_context(app):
            yield _posts(app)
    finally:
        sweeping.cancel()
        await agents.close()


def _posts(app: ASGIApp) -> ASGIApp:
    """Return an application that gets only requests by POST which have arrived whole.

    The library would hold a stream of news for anybody, and log an error for whoever leaves too early.
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            return await POST_ALONE(scope, receive, send)
        whole = False

        async def received() -> Message:
            nonlocal whole
            message = await receive()
            if message["type"] == "http.disconnect" and not whole:
                raise ClientDisconnect
            whole = whole or not message.get("more_body", False)
            return message

        with suppress(ClientDisconnect):
            await app(scope, received, send)
        return None

    return answer


async def serve_http(server: str, tls: arb.Tls | None, host: str, port: int, hosts: list[str]) -> None:
    """Serve agents at http://HOST:PORT/mcp until this is cancelled.

    hosts: further values of the header Host that are accepted, such as that of a proxy with TLS; others are refused, so
    that a web page cannot reach this by a name of its own.
    """

    def open_client(token: str, _address: str) -> arb.Client:
        return arb.Client(server, token=token, tls=tls)

    async with application(open_client, [f"{host}:{port}", *hosts]) as app:
        config = uvicorn.Config(app, host=host, port=port, lifespan="off", log_level="warning", access_log=False)
        await uvicorn.Server(config).serve()
