"""A benchmark process: visitors of the page without a token, who ask all the time.

Plan: `page` (its address), `paths` that are asked for in turn, `addresses` of this machine from which they come,
`connections` at once from each, and `reads`: whether the answers are read; if not, requests are sent as long as they
can be. It sends an answer once it has begun, and to each later order: `bytes` of the answers, `calls` that were
answered, `refused` ones and connections that the server `closed`.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from urllib.parse import urlsplit

from arbiter.bench.processes import answer, go_last, order, run_part

AGAIN_S = 0.05  #: seconds until a closed connection is opened again
PIPELINED = 120  #: requests that are sent at once where no answer is read


class Visitors:
    """The requests of one address."""

    def __init__(self, page: str, paths: Sequence[str], address: str, reads: bool) -> None:
        self._address = address
        self._host, self._port = urlsplit(page).hostname, urlsplit(page).port
        self._requests = itertools.cycle(f"GET {path} HTTP/1.1\r\nhost: page\r\n\r\n".encode() for path in paths)
        self._reads = reads
        self.bytes = self.calls = self.refused = self.closed = 0

    async def go_on(self) -> None:
        """Ask on one connection after the other, without end."""
        while True:
            try:
                reader, writer = await asyncio.open_connection(self._host, self._port, local_addr=(self._address, 0))
                try:
                    await (self._ask(reader, writer) if self._reads else self._flood(writer))
                finally:
                    writer.close()
            except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                pass
            self.closed += 1
            await asyncio.sleep(AGAIN_S)

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(next(self._requests))
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length:")[2].split()[0])
            await reader.readexactly(length)
            self.bytes += len(head) + length
            self.refused += b" 429 " in head[:16]
            self.calls += 1

    async def _flood(self, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b"".join(itertools.islice(self._requests, PIPELINED)))
            await writer.drain()


async def run(page: str, paths: Sequence[str], addresses: Sequence[str], connections: int, reads: bool) -> None:
    """Ask until there are no more orders."""
    all_visitors = [Visitors(page, paths, address, reads) for address in addresses]
    tasks = [asyncio.create_task(visitors.go_on()) for visitors in all_visitors for _ in range(connections)]
    answer(connections=connections)
    while await asyncio.to_thread(order) is not None:
        for task in tasks:
            if task.done():
                task.result()
        names = ("bytes", "calls", "refused", "closed")
        answer(**{name: sum(getattr(visitors, name) for visitors in all_visitors) for name in names})
    for task in tasks:
        task.cancel()


if __name__ == "__main__":
    run_part(run, priority=go_last)
