"""A bus to which something happens again and again: it is killed, started again, cut, and vanishes without a sign."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from itertools import cycle

from arbiter.testing.network import Network
from tests.bus.nats import Nats


class ChangingBus:
    """A real NATS. Some servers reach it by `url`, and others by `cut_url`, with a network between that can be cut."""

    def __init__(self, nats: Nats, network: Network) -> None:
        self.url = nats.url
        self.cut_url = f"nats://{network.address}"
        self._nats = nats
        self._network = network
        self._vanished: AbstractContextManager[None] | None = None
        self._changes = cycle((self._vanish, self.mend, nats.kill, nats.start, network.cut))

    def change(self) -> None:
        """Do the next thing to it."""
        next(self._changes)()

    def mend(self) -> None:
        """Make it whole again."""
        if self._vanished is not None:
            self._vanished.__exit__(None, None, None)
            self._vanished = None
        if not self._nats.runs:
            self._nats.start()

    def _vanish(self) -> None:
        self._vanished = self._network.vanished()
        self._vanished.__enter__()


@asynccontextmanager
async def changing_bus() -> AsyncIterator[ChangingBus]:
    """Start a NATS with a network before it."""
    with Nats() as nats:
        async with Network(nats.address) as network:
            yield ChangingBus(nats, network)
