"""An arbiter in this process, on a real port of the loopback interface, with in-memory ports or on a database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import grpc

from arbiter.bootstrap.running_server import RunningServer, serving
from arbiter.bootstrap.store import Store
from arbiter.bootstrap.world import World
from arbiter.config import Limits, Settings, load
from arbiter.runtime.ids import SystemIds
from arbiter.runtime.loopback import free_port
from arbiter.runtime.system_clock import SystemClock
from arbiter.service.players.accounts import Caller, Scope
from arbiter.service.ratings.rating_work import InProcessRating
from arbiter.service.tournaments.tournament_ports import InProcessPairing
from arbiter.testing.memory import MemoryDirectory, MemoryJournal, NoKeys, PlainRules

PATIENT_MS: Final = 60_000
PATIENT: Final = {"stall_ms": PATIENT_MS, "server_silence_ms": PATIENT_MS}
"""Limits with which a machine that is too busy to run a server interrupts no match and takes no server for gone."""


def patient(limits: Limits | Mapping[str, Any]) -> Limits | Mapping[str, Any]:
    """Return limits that are PATIENT, unless these are given."""
    if isinstance(limits, Limits):
        return limits.model_copy(
            update={name: ms for name, ms in PATIENT.items() if name not in limits.model_fields_set}
        )
    return {**PATIENT, **limits}


class Served:
    """A running server: its address, a channel to it, and tokens for it."""

    def __init__(self, running: RunningServer, address: str, channel: grpc.aio.Channel) -> None:
        self.running = running
        self.address = address
        self.channel = channel

    async def token(self, player: str, *scopes: Scope) -> list[tuple[str, str]]:
        """Return call metadata with a token for a player, created if needed; default scopes: play and observe."""
        operator = Caller("", "", frozenset({Scope.ADMIN.value}))
        _, secret = await self.running.arbiter.accounts.create_token(operator, player, scopes, "")
        return [("authorization", f"Bearer {secret}")]


@asynccontextmanager
async def memory_world(settings: Settings) -> AsyncIterator[World]:
    """Build an in-memory arbiter with the system's clock; nothing is kept after the context."""
    clock, rules = SystemClock(), PlainRules()
    yield World(
        Store(MemoryJournal(), MemoryDirectory()),
        clock,
        SystemIds(clock),
        rules,
        rules,
        NoKeys(),
        InProcessPairing(),
        InProcessRating(),
    )


@asynccontextmanager
async def served(world: Any = memory_world, **given: Any) -> AsyncIterator[Served]:
    """Run a server inside the context, in memory unless another world is given.

    Its limits are PATIENT, unless they are given.
    """
    address = given.pop("listen", f"127.0.0.1:{free_port()}")
    given["limits"] = patient(given.get("limits", {}))
    async with (
        serving(load(None, listen=address, **given), world) as running,
        grpc.aio.insecure_channel(address) as channel,
    ):
        yield Served(running, address, channel)
