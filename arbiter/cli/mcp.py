"""`arbiter mcp`: a language model plays as one player, by the Model Context Protocol."""

from __future__ import annotations

import asyncio
from typing import Annotated

import arbiter_client as arb
from cyclopts import Parameter

from arbiter.cli.connection import Connection
from arbiter.cli.failure import Failure


def mcp(
    *,
    listen: str = "",
    host: Annotated[list[str] | None, Parameter(negative=())] = None,
    connection: Connection | None = None,
) -> None:
    """Serve the Model Context Protocol, by which a language model plays as one player of a server.

    A host of models starts `arbiter mcp --server HOST:PORT --as NAME` and speaks with it by standard input and output.
    A server with a page needs none of this: it serves the protocol at /mcp on the page's address.
    The token bounds what the model may do: `arbiter token create NAME --scope play --save` makes one that only plays.
    The player is present while this runs; after a lost connection, start it again, and all matches go on.

    :param listen: Serve streamable HTTP at http://HOST:PORT/mcp instead, for the player of each request's token.
    :param host: With --listen: further names (HOST or HOST:PORT) under which it is reached, such as that of a proxy.
    """
    try:
        from arbiter.agents import serving
    except ImportError as error:
        raise Failure(f"{error.name} is not installed: `pip install 'game-arbiter[agents]'`") from None
    connection = connection or Connection()
    if host and not listen:
        raise Failure("--host goes with --listen")
    try:
        if listen:
            name, _, port = listen.rpartition(":")
            if not name or not port.isdigit() or not 0 < int(port) < 1 << 16:
                raise Failure(f"--listen is HOST:PORT, such as 127.0.0.1:7490, not {listen!r}")
            served = serving.serve_http(connection.server, connection.security(), name, int(port), host or [])
        else:
            served = serving.serve_stdio(connection.server, connection.secret(), connection.security())
        asyncio.run(served)
    except arb.ClientError as error:
        raise Failure(str(error)) from None
