"""A run: many matches and players, observers and faults, in one process and in virtual time, from one seed.

Everything in a run is decided by its plan and by random generators that the seed initialises, so the same seed leaves
the same journal, byte for byte. When the faults are over, everything must finish: answers, matches, results, streams.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any

import structlog

from arbiter.bootstrap.wiring import wire
from arbiter.config import Limits
from arbiter.service.players.accounts import Accounts
from arbiter.service.ports.journal import StoredRecord, Subject
from arbiter.testing.clock import VirtualClock, run
from arbiter.testing.memory import CountingIds, MemoryBroker, MemoryDirectory, MemorySnapshots
from arbiter.testing.simulation.address import Address, Addresses
from arbiter.testing.simulation.challengers import Challenger, note_ends
from arbiter.testing.simulation.cluster import RecordedReplicas, SharedData, SharingServer, TimedJournal
from arbiter.testing.simulation.cluster_faults import ClusterFaults
from arbiter.testing.simulation.corrector import OTHERS, Corrector, note_ratings
from arbiter.testing.simulation.fault_injector import FaultInjector, ServerFaults
from arbiter.testing.simulation.log_lock import LogLock
from arbiter.testing.simulation.observations import RunObservations, copy_of
from arbiter.testing.simulation.organiser import TournamentOrganiser, note_tables
from arbiter.testing.simulation.others import Observer, Organiser
from arbiter.testing.simulation.plan import OPERATORS, ORGANISER, Plan
from arbiter.testing.simulation.readers import StoppingReader
from arbiter.testing.simulation.simulated_network import Delays
from arbiter.testing.simulation.simulated_player import SimulatedBot
from arbiter.testing.simulation.simulated_server import Server, StoredData, Wiring, register
from arbiter.testing.simulation.watch import Watch, differences_at_the_end
from arbiter.testing.virtual_processes import end_all, run_processes

LONGEST_CALM_S = 600.0  #: after the faults, everything must end within this time
AFTERWARDS_S = 30.0  #: until results are sent again, and streams are resumed
STEP_S = 1.0  #: between two checks whether everything has ended
BEGUN_S = 0.5  #: from the start of several servers until clients come
ERRORS = ("error", "critical")  #: levels at which the arbiter logs its own mistakes
EXPECTED = ("match_not_stored", "tournament_failed")  #: errors that are not mistakes: faults of the disk


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
        alone = plan.replicas == 1
        evidence = run(_Run(plan, wiring).go()) if alone else run_processes(_ClusterRun(plan, wiring).go())
    for entry in logs:
        expected = entry["event"] in EXPECTED and not entry.get("exc_info")
        if entry["log_level"] in ERRORS and not expected:
            evidence.history.unforeseen.append(f"the arbiter logged an error: {entry}")
    return evidence


class _Run:
    """The parts of a run with one server, connected. Other kinds of runs replace the methods of the first group."""

    def __init__(self, plan: Plan, wiring: Wiring) -> None:
        self._plan = plan
        self._wiring = wiring
        self._history = RunObservations()

    # -- the server ----------------------------------------------------------------------------------------------

    async def _open(self) -> FaultInjector:
        """Start to serve."""
        injector = ServerFaults(self._plan, self._history)
        self._server = injector.server = Server(self._plan, self._history, injector.chance, self._wiring)
        await self._server.register([player.name for player in self._plan.players])
        await self._server.start()
        injector.lock = self._server.data.lock
        return injector

    @property
    def _servers(self) -> Sequence[Server]:
        return (self._server,)

    def _address(self, of: str) -> Address:
        """Return the address that a client uses."""
        return self._server

    async def _organisers_are_done(self) -> bool:
        """Return whether all tournaments have been started, and all challenges have ended."""
        return True

    async def _close(self) -> None:
        """End what was started, after everybody has left."""

    # -- the run -------------------------------------------------------------------------------------------------

    async def go(self) -> Evidence:
        plan, loop = self._plan, asyncio.get_running_loop()
        loop.set_exception_handler(self._unforeseen)
        injector = await self._open()
        self._stored, self._chance = self._servers[0].stored, injector.chance
        injector.begin()
        plies = {match.create.request: match.plies for match in plan.matches}
        self._players = [
            SimulatedBot(
                player,
                self._address(player.name),
                self._delays(player.name, player.rtt_ms),
                plan.dice(player.name),
                plies,
            )
            for player in plan.players
        ]
        self._organiser = Organiser(
            plan.matches, self._address("organiser"), self._delays("organiser", 20), plan.dice("organiser")
        )
        self._observers = self._observing()
        for player, planned in zip(self._players, plan.players, strict=True):
            loop.call_later(planned.comes_ms / 1000, player.connect)
        self._organiser.begin()
        for observer in self._observers:
            observer.begin()
        visits = [asyncio.create_task(reader.come_and_go()) for reader in self._readers()]
        await injector.inject(self._players, self._observers)
        for visit in visits:
            visit.cancel()
        await self._wait_until_idle(loop.time() + LONGEST_CALM_S)
        virtual_ms = round(loop.time() * 1000)
        for player in self._players:
            player.close()
        for observer in self._observers:
            observer.close()
        evidence = Evidence(plan, copy_of(self._history), list(self._stored.records), virtual_ms)
        loop.set_exception_handler(lambda loop, context: None)  # the others come from crashed processes
        await self._close()
        return evidence

    def _delays(self, of: str, rtt_ms: int) -> Delays:
        return Delays(rtt_ms, self._plan.dice(f"network of {of}"), self._chance)

    def _observing(self) -> list[Observer]:
        of_matches, of_all, of_label = self._plan.observers
        kinds: list[tuple[Any, str]] = [
            *((partial(self._match, n), "") for n in range(of_matches)),
            *((lambda: "", "") for _ in range(of_all)),
            *((lambda: "", "cup") for _ in range(of_label)),
        ]
        return [
            Observer(
                self._address(f"observer {n}"),
                self._delays(f"observer {n}", 20),
                self._plan.dice(f"observer {n}"),
                find,
                label,
            )
            for n, (find, label) in enumerate(kinds)
        ]

    def _readers(self) -> list[StoppingReader]:
        return [
            StoppingReader(f"reader{n}", self._servers, self._plan.dice(f"reader {n}"), partial(self._match, 0))
            for n in range(self._plan.readers)
        ]

    def _match(self, n: int) -> str | None:
        """Return the match of the n-th single-match observer, once it is created; they are spread over the plan."""
        matches, observers = self._plan.matches, self._plan.observers[0]
        return self._organiser.matches.get(matches[len(matches) * n // observers].create.request)

    async def _wait_until_idle(self, until_s: float) -> None:
        """Wait until nothing is left to happen, or until a timeout."""
        loop = asyncio.get_running_loop()
        unfinished = None
        while loop.time() < until_s:
            await asyncio.sleep(STEP_S)
            organised = await self._organisers_are_done()  # earlier than what comes of it
            unfinished = await self._stored.unfinished() + await self._stored.unfinished_tournaments()
            if (
                not unfinished
                and organised
                and self._organiser.is_done
                and all(player.is_at_rest for player in self._players)
            ):
                break
        else:
            left = [player.name for player in self._players if not player.is_at_rest]
            self._history.unfinished += unfinished or [f"requests of {', '.join(left) or 'the organiser'}"]
        await asyncio.sleep(AFTERWARDS_S)

    def _unforeseen(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self._history.unforeseen.append(f"{context.get('message')}: {context.get('exception')!r}")


class _ClusterRun(_Run):
    """The parts of a run with several servers."""

    async def _open(self) -> FaultInjector:
        plan, history = self._plan, self._history
        injector = ClusterFaults(plan, history)
        lock = injector.lock = LogLock(history.holds)
        snapshots = MemorySnapshots(every=8)  # so that starts read them
        data = StoredData(TimedJournal(history), MemoryDirectory(), CountingIds(), {}, lock, snapshots)
        clock, limits = VirtualClock(), Limits(**plan.limits)
        accounts = Accounts(data.directory, data.ids, clock, "open", limits)
        corrected = [cup for cup in plan.tournaments if cup.corrections]
        await register(accounts, [*(each.name for each in plan.players), *(OTHERS if corrected else ())], data.secrets)
        broker = injector.broker = MemoryBroker(plan.dice("bus")) if plan.bus is not None else None
        shared = SharedData(data, RecordedReplicas(history), broker)
        self._cluster = [
            SharingServer(number, plan, history, injector.chance, self._wiring, shared)
            for number in range(plan.replicas)
        ]
        injector.servers = self._cluster
        self._kept = [asyncio.create_task(server.keep_up()) for server in self._cluster]
        watch = Watch(self._cluster, history)
        self._kept.append(asyncio.create_task(watch.keep_watching()))
        await asyncio.sleep(BEGUN_S)
        self._cups = [
            TournamentOrganiser(cup, self._cluster, plan.dice(f"cup {number}"))
            for number, cup in enumerate(plan.tournaments)
        ]
        self._challengers = [
            Challenger(each, f"challenge {n}", self._cluster, history, injector.chance, plan.dice(f"challenge {n}"))
            for n, each in enumerate(plan.challenges)
        ]
        self._correctors = [
            Corrector(caller, cup, self._cluster, history, injector.chance, plan.dice(f"corrections of {caller}"))
            for cup in self._cups
            for caller in ((ORGANISER, *OPERATORS) if cup.plan.corrections else ())
        ]
        self._directory = data.directory
        self._kept += [asyncio.create_task(cup.organise()) for cup in self._cups]
        self._kept += [asyncio.create_task(each.correct()) for each in self._correctors]
        self._kept += [asyncio.create_task(each.challenge()) for each in self._challengers]
        return injector

    @property
    def _servers(self) -> Sequence[Server]:
        return self._cluster

    def _address(self, of: str) -> Address:
        return Addresses(self._cluster, self._plan.dice(f"addresses of {of}"))

    async def _wait_until_idle(self, until_s: float) -> None:
        await super()._wait_until_idle(until_s)
        self._history.differences += differences_at_the_end(self._cluster)
        await note_ends(self._history, self._directory)
        cups = {record.match_id: None for record in self._stored.records if record.subject is Subject.TOURNAMENT}
        await note_tables(self._history, self._cluster, list(cups))
        await note_ratings(self._history, self._stored)

    async def _organisers_are_done(self) -> bool:
        callers: list[TournamentOrganiser | Challenger | Corrector]
        callers = [*self._cups, *self._challengers, *self._correctors]
        if not all(each.is_done for each in callers):
            return False
        return not await self._directory.challenges_being_accepted()

    async def _close(self) -> None:
        for task in self._kept:
            task.cancel()
        for server in self._cluster:
            server.process.kill()
        await end_all([process for server in self._cluster for process in server.processes])
