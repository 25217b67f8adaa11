"""A benchmark process: observers of all matches, each with its own stream and connection.

Plan: `address`, `token`, `observers` (how many). It sends an answer once every stream has caught up. An order has
`durable` (match, revision and time of the commit, of each event). Once no message has come for a while, and every
observer has these events (or LATEST_S are over), the answer has the `latencies` of these events in milliseconds, from
the commit to each observer. What came before an answer is then forgotten: a later order is about later events.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence

from arbiter_protos.v1 import match_pb2 as pb

from arbiter.bench.h2 import RawCall
from arbiter.bench.processes import OPENING, STREAM_ENDED, answer, give_way, order, run_part
from arbiter.bench.readers import OBSERVE

LATEST_S = 10.0  #: for which events are waited for that have not come while others did
QUIET_S = 0.3  #: after this time without a message, no more messages are under way
KEPT = 1_000  #: cached messages with known events, because all observers get the same bytes

Place = tuple[str, int]


class Observers:
    """All observers of this process, and when each event arrived at each of them."""

    def __init__(self) -> None:
        self.arrived: dict[Place, list[float]] = {}
        self._known: dict[bytes, list[Place]] = {}
        self._newest = time.monotonic()

    async def observe(self, address: str, token: str) -> None:
        """Open a stream; return once it has caught up."""
        caught_up: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def received(data: bytes) -> None:
            places = self._known.get(data)
            if places is None:
                items = pb.ObserveResponse.FromString(data).items
                if any(item.HasField("bookmark") for item in items) and not caught_up.done():
                    caught_up.set_result(None)
                places = [(item.event.match_id, item.event.revision) for item in items if item.HasField("event")]
                if len(self._known) >= KEPT:
                    self._known.clear()
                if places:
                    self._known[data] = places
            now = time.monotonic()
            for place in places:
                self.arrived.setdefault(place, []).append(now)
            self._newest = now

        call = RawCall(OBSERVE, [("authorization", f"Bearer {token}")], received, lambda: os._exit(STREAM_ENDED))
        await call.connect(address)
        call.send(pb.ObserveRequest(all=pb.ObserveAll()).SerializeToString(), last=True)
        await caught_up

    async def quiet(self) -> None:
        """Wait until no message has come for a while."""
        while (passed := time.monotonic() - self._newest) < QUIET_S:  # noqa: ASYNC110 - messages come too often to tell
            await asyncio.sleep(QUIET_S - passed)

    async def have_all(self, places: Sequence[Place], observers: int) -> None:
        """Wait until every observer has the events at some places, or LATEST_S are over."""
        last = time.monotonic() + LATEST_S
        while any(len(self.arrived.get(place, ())) < observers for place in places):
            if time.monotonic() >= last:
                return
            await asyncio.sleep(QUIET_S)


async def run(address: str, token: str, observers: int) -> None:
    """Observe until there are no more orders."""
    everybody = Observers()
    for first in range(0, observers, OPENING):
        some = range(first, min(first + OPENING, observers))
        await asyncio.gather(*(everybody.observe(address, token) for _ in some))
    answer(streams=observers)
    while (ordered := await asyncio.to_thread(order)) is not None:
        await everybody.quiet()
        await everybody.have_all([(match_id, revision) for match_id, revision, _ in ordered["durable"]], observers)
        latencies = [
            round((arrived - committed) * 1_000, 2)
            for match_id, revision, committed in ordered["durable"]
            for arrived in everybody.arrived.get((match_id, revision), ())
        ]
        everybody.arrived.clear()
        answer(latencies=latencies)


if __name__ == "__main__":
    run_part(run, priority=give_way)
