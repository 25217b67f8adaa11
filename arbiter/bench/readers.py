"""A benchmark process: players with many streams of all events, which they open again and again, or do not read.

Plan: `address`, `tokens` (one of each player), `streams` of each, `after` (the token after which it reads: "0" for all,
"" for from now on), `reads` (else no stream reads a byte). It sends an answer once it has begun, and to each later
order: `bytes`, which were read in all, and `ended`, how many streams have. A stream that has ended is asked for again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from arbiter_protos.v1 import match_pb2 as pb

from arbiter.bench.h2 import WINDOW, RawCall
from arbiter.bench.processes import answer, go_last, order, run_part

OBSERVE = "/arbiter.v1.MatchService/Observe"
AGAIN_S = 0.5  #: before a stream that has ended is asked for again


class Readers:
    """The streams."""

    def __init__(self, address: str, token: str, after: str, reads: bool) -> None:
        self._address = address
        self._metadata = [("authorization", f"Bearer {token}")]
        self._window = WINDOW if reads else 0
        self._request = pb.ObserveRequest(all=pb.ObserveAll(after_token=after), with_record=True).SerializeToString()
        self.bytes = self.ended = 0

    async def read(self) -> None:
        """Read a stream, again and again."""
        while True:
            call = RawCall(OBSERVE, self._metadata, self._received, lambda: None, self._window)
            await call.connect(self._address)
            call.send(self._request, last=True)
            await call.lost.wait()
            self.ended += 1
            await asyncio.sleep(AGAIN_S)

    def _received(self, data: bytes) -> None:
        self.bytes += len(data)


async def run(address: str, tokens: Sequence[str], streams: int, after: str, reads: bool) -> None:
    """Read until there are no more orders."""
    players = [Readers(address, token, after, reads) for token in tokens]
    tasks = [asyncio.create_task(readers.read()) for readers in players for _ in range(streams)]
    answer(streams=len(tasks))
    while await asyncio.to_thread(order) is not None:
        answer(bytes=sum(each.bytes for each in players), ended=sum(each.ended for each in players))
    for task in tasks:
        task.cancel()


if __name__ == "__main__":
    run_part(run, priority=go_last)
