"""What tests of the clocks share."""

from __future__ import annotations

import asyncio

from arbiter.matches.clock import Ledger
from arbiter.matches.events import Moved
from arbiter.matches.match import Match
from arbiter.matches.policy import ClockStart, Policy
from arbiter.matches.record import read
from arbiter.testing.in_memory import InMemoryArbiter

AT_ONCE = Policy(start=ClockStart.AT_ONCE)


async def ledgers(server: InMemoryArbiter, match: Match) -> list[Ledger]:
    """Return the ledgers of a match's moves, in order."""
    events = [read(record.body) for record in await server.journal.read(match.id)]
    return [event.ledger for event in events if isinstance(event, Moved)]


async def passed(seconds: float) -> None:
    await asyncio.sleep(seconds)
