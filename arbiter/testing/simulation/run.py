"""A run: many matches and players, observers and faults, in one process and in virtual time, from one seed.

Everything in a run is decided by its plan and by random generators that the seed initialises, so the same seed leaves
the same journal, byte for byte. When the faults are over, everything must finish: answers, matches, results, streams.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any

import structlog

from arbiter.bootstrap import wire
from arbiter.service.ports.journal import StoredRecord
from arbiter.testing.clock import run
from arbiter.testing.simulation.fault_injector import FaultInjector
from arbiter.testing.simulation.network import Delays
from arbiter.testing.simulation.observations import RunObservations
from arbiter.testing.simulation.others import Observer, Organiser
from arbiter.testing.simulation.plan import Plan
from arbiter.testing.simulation.player import SimulatedBot
from arbiter.testing.simulation.readers import StoppingReader
from arbiter.testing.simulation.server import Server, Wiring

LONGEST_CALM_S = 600.0  #: after the faults, everything must end within this time
STEP_S = 1.0  #: between two checks whether everything has ended
ERRORS = ("error", "critical")  #: levels at which the arbiter logs its own mistakes
EXPECTED = ("match_not_stored",)  #: errors that are not mistakes: faults of the disk


@dataclass(frozen=True, slots=True)
class Evidence:
    """The result of a run: its plan, the observations, the journal, and the virtual time that it took."""

    plan: Plan
    history: RunObservations
    records: list[StoredRecord]
    virtual_ms: int

    @property
    def digest(self) -> str:
        """The SHA-256 of the journal, hexadecimal."""
        digest = sha256()
        for record in self.records:
            digest.update(record.body + b"\n")
        return digest.hexdigest()

    @property
    def moves(self) -> int:
        """How many moves were played."""
        return sum(b'"kind":"moved"' in record.body for record in self.records)


def play_out(plan: Plan, wiring: Wiring = wire) -> Evidence:
    """Execute a plan and return the evidence. `wiring` may build a different arbiter, to test the invariants."""
    with structlog.testing.capture_logs() as logs:
        evidence = run(_Run(plan, wiring).go())
    for entry in logs:
        if entry["log_level"] in ERRORS and entry["event"] not in EXPECTED:
            evidence.history.unforeseen.append(f"the arbiter logged an error: {entry}")
    return evidence


class _Run:
    """The parts of a run, connected."""

    def __init__(self, plan: Plan, wiring: Wiring) -> None:
        self._plan = plan
        self._wiring = wiring
        self._history = RunObservations()

    async def go(self) -> Evidence:
        plan, loop = self._plan, asyncio.get_running_loop()
        loop.set_exception_handler(self._unforeseen)
        injector = FaultInjector(plan, self._history)
        self._server = server = Server(plan, self._history, injector.chance, self._wiring)
        await server.register([player.name for player in plan.players])
        await server.start()
        injector.begin()
        plies = {match.create.request: match.plies for match in plan.matches}
        self._players = [
            SimulatedBot(player, server, self._delays(player.name, player.rtt_ms), plan.dice(player.name), plies)
            for player in plan.players
        ]
        self._organiser = Organiser(plan.matches, server, self._delays("organiser", 20), plan.dice("organiser"))
        self._observers = self._observing()
        for player, planned in zip(self._players, plan.players, strict=True):
            loop.call_later(planned.comes_ms / 1000, player.connect)
        self._organiser.begin()
        for observer in self._observers:
            observer.begin()
        visits = [asyncio.create_task(reader.come_and_go()) for reader in self._readers()]
        await injector.inject(server, self._players, self._observers)
        for visit in visits:
            visit.cancel()
        await self._wait_until_idle(loop.time() + LONGEST_CALM_S)
        virtual_ms = round(loop.time() * 1000)
        for player in self._players:
            player.close()
        for observer in self._observers:
            observer.close()
        loop.set_exception_handler(lambda loop, context: None)  # the others come from crashed processes
        return Evidence(plan, self._history, list(server.stored.records), virtual_ms)

    def _delays(self, of: str, rtt_ms: int) -> Delays:
        return Delays(rtt_ms, self._plan.dice(f"network of {of}"), self._server.chance)

    def _observing(self) -> list[Observer]:
        of_matches, of_all, of_label = self._plan.observers
        kinds: list[tuple[Any, str]] = [
            *((partial(self._match, n), "") for n in range(of_matches)),
            *((lambda: "", "") for _ in range(of_all)),
            *((lambda: "", "cup") for _ in range(of_label)),
        ]
        return [
            Observer(self._server, self._delays(f"observer {n}", 20), self._plan.dice(f"observer {n}"), find, label)
            for n, (find, label) in enumerate(kinds)
        ]

    def _readers(self) -> list[StoppingReader]:
        return [
            StoppingReader(f"reader{n}", self._server, self._plan.dice(f"reader {n}"), partial(self._match, 0))
            for n in range(self._plan.readers)
        ]

    def _match(self, n: int) -> str | None:
        """Return the match of the n-th single-match observer, once it is created; they are spread over the plan."""
        matches, observers = self._plan.matches, self._plan.observers[0]
        return self._organiser.matches.get(matches[len(matches) * n // observers].create.request)

    async def _wait_until_idle(self, until_s: float) -> None:
        """Wait until nothing is left to happen, or until a timeout."""
        loop, server = asyncio.get_running_loop(), self._server
        unfinished = None
        while loop.time() < until_s:
            await asyncio.sleep(STEP_S)
            unfinished = await server.stored.unfinished()
            if not unfinished and self._organiser.is_done and all(player.is_at_rest for player in self._players):
                break
        else:
            left = [player.name for player in self._players if not player.is_at_rest]
            self._history.unfinished += unfinished or [f"requests of {', '.join(left) or 'the organiser'}"]
        await asyncio.sleep(30)  # results that are sent again, streams that are resumed

    def _unforeseen(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self._history.unforeseen.append(f"{context.get('message')}: {context.get('exception')!r}")
