"""What connects a bot in a sandbox with the arbiter: connections on its loopback, carried to one address."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import Final

PIECE: Final = 65_536  #: bytes taken at a time
MOST: Final = 64  #: connections at once; others wait until one has ended


async def relayed(listener: socket.socket, host: str, port: int) -> asyncio.Server:
    """Carry whatever comes in on a socket to an address, and what comes back."""
    room = asyncio.Semaphore(MOST)

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with room:
            with contextlib.suppress(OSError):  # one side is gone: then both are
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
