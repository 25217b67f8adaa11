"""The bus between servers that share a store, if the settings ask for one."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from arbiter.bus.messages import DOMAIN, Envelopes
from arbiter.bus.nats_addresses import servers_of
from arbiter.config import Settings
from arbiter.errors import OperatorError
from arbiter.keys.key_ring import KeyRing
from arbiter.service.ports.bus import Bus

if TYPE_CHECKING:
    from arbiter.bus.nats_bus import NatsBus


@asynccontextmanager
async def open_bus(settings: Settings, ring: KeyRing) -> AsyncIterator[Bus]:
    """Open the bus of the settings, which need not be there yet. Raises OperatorError."""
    bus = make_bus(settings, ring)
    running = asyncio.create_task(bus.run())
    try:
        yield bus
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def make_bus(settings: Settings, ring: KeyRing | None) -> NatsBus:
    """Return the bus of the settings, without a connection. Without `ring` it is good for a look only.

    Raises OperatorError.
    """
    try:
        from arbiter.bus.nats_bus import NatsBus  # an extra
    except ImportError as error:
        raise OperatorError(
            f"a bus needs the library of NATS, which is not installed ({error.name} is missing): install the package "
            "with its extra, game-arbiter[bus]"
        ) from None
    logging.getLogger("nats").setLevel(logging.CRITICAL)  # `bus_lost` says it once
    signature = ring.sign(ring.public_keys()[-1].key_id, DOMAIN) if ring is not None else b""
    credentials = settings.bus_credentials
    if credentials is not None and not credentials.is_file():
        raise OperatorError(f"there is no file of credentials for the bus at {credentials}")
    return NatsBus(servers_of(settings.bus), Envelopes(signature), _tls(settings), credentials)


def _tls(settings: Settings) -> ssl.SSLContext | None:
    if settings.bus_authority is None:
        return None  # then tls:// means the authorities that the system trusts
    try:
        return ssl.create_default_context(cafile=settings.bus_authority)
    except OSError as error:
        raise OperatorError(
            f"can't read the authority of the bus in {settings.bus_authority}: {error.strerror or error}"
        ) from None
