"""Connects a sandboxed bot with the arbiter: forwards connections on its loopback to one address."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import Final

PIECE: Final = 65_536  #: bytes to read at a time
MOST: Final = 64  #: concurrent connections; further ones wait until one has ended


async def relayed(listener: socket.socket, host: str, port: int) -> asyncio.Server:
    """Accept connections on a socket, and forward the data of each to an address and back."""
    room = asyncio.Semaphore(MOST)

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with room:
            with contextlib.suppress(OSError):  # one side has closed: close both
                there, back = await asyncio.open_connection(host, port)
                try:
                    async with asyncio.TaskGroup() as group:
                        group.create_task(_pump(reader, back))
                        group.create_task(_pump(there, writer))
                except* OSError:
                    pass
                finally:
                    back.close()
            writer.close()

    return await asyncio.start_server(carry, sock=listener)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(PIECE):
        writer.write(piece)
        await writer.drain()
    writer.write_eof()
