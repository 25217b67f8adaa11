"""The fault injection of a run: faults that happen at times, and random decisions for those that are probabilities."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from arbiter.testing.simulation.log_lock import LogLock
from arbiter.testing.simulation.observations import RunObservations
from arbiter.testing.simulation.others import Observer
from arbiter.testing.simulation.plan import HAPPENING, Fault, Plan
from arbiter.testing.simulation.simulated_player import SimulatedBot
from arbiter.testing.simulation.simulated_server import Server

STALLS_S: Final = (0.5, 1.9, 2.5, 6.0, 20.0)  #: how long a server stands still; for two seconds, players pay
LOCKED_S: Final = (0.3, 1.5, 2.5, 4.0, 8.0)  #: how long the log is locked; for two seconds, players are charged


class FaultInjector:
    """The faults of a plan: active until `faulty_ms` have passed, then none. Here are those of clients.

    Set `lock`, on the log, before `inject`.
    """

    lock: LogLock

    def __init__(self, plan: Plan, history: RunObservations) -> None:
        self._plan = plan
        self._history = history
        self._dice = plan.dice("weather")
        self._chances = plan.dice("chances")
        self._active = False
        self._rates: dict[Fault, float] = {fault: rate for fault, rate in plan.faults.items() if fault not in HAPPENING}

    def begin(self) -> None:
        """Start to inject faults."""
        self._active = True

    def chance(self, fault: Fault) -> bool:
        """Decide at random whether a fault happens."""
        rate = self._rates.get(fault)
        if rate is None or not self._active or self._chances.random() >= rate:
            return False
        self._history.faults[fault] += 1
        return True

    async def inject(self, players: Sequence[SimulatedBot], observers: Sequence[Observer]) -> None:
        """Inject faults until `faulty_ms` have passed."""
        locking = asyncio.create_task(self._lock_the_log())
        rates = {fault: rate for fault, rate in self._plan.faults.items() if fault in HAPPENING}
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + self._plan.faulty_ms / 1000
        while rates:
            pause_s = self._dice.expovariate(sum(rates.values()) / 60)
            await asyncio.sleep(min(pause_s, max(0.0, ends_s - loop.time())))
            if loop.time() >= ends_s:
                break
            fault = self._dice.choices(list(rates), list(rates.values()))[0]
            self._history.faults[fault] += 1
            await self._strike(fault, players, observers)
        await asyncio.sleep(max(0.0, ends_s - loop.time()))
        self._active = False
        locking.cancel()
        self.lock.release()

    async def _lock_the_log(self) -> None:
        """Lock the log now and then: besides the other faults, so that these stay what they are."""
        rate, dice = self._plan.faults.get(Fault.LOCKED), self._plan.dice("locks")
        while rate is not None:
            await asyncio.sleep(dice.expovariate(rate / 60))
            self._history.faults[Fault.LOCKED] += 1
            self.lock.hold(dice.choice(LOCKED_S), dice.random() < 0.5)

    def _drawn(
        self, players: Sequence[SimulatedBot], observers: Sequence[Observer]
    ) -> tuple[SimulatedBot, Observer | None]:
        """Draw a player and, if there are any, an observer: for each fault, so that seeds stay what they are."""
        return self._dice.choice(players), self._dice.choice(observers) if observers else None

    async def _strike(self, fault: Fault, players: Sequence[SimulatedBot], observers: Sequence[Observer]) -> None:
        dice = self._dice
        player, observer = self._drawn(players, observers)
        match fault:
            case Fault.SUPERSEDE:
                player.connect()
            case Fault.FORGET:
                player.forget()
            case Fault.AWAY:
                player.leave(dice.uniform(1.0, 60.0))
            case Fault.CUT if player.link is not None:
                player.link.cut(below_after_s=dice.uniform(0.0, 0.5), above_after_s=dice.uniform(0.0, 0.5))
            case Fault.HALF_OPEN if player.link is not None:
                player.link.cut(below_after_s=dice.uniform(0.0, 8.0), above_after_s=None)
            case Fault.STALL if player.link is not None:
                player.link.down.stall(dice.uniform(0.5, 12.0))
            case Fault.CUT_OBSERVER if observer is not None and observer.link is not None:
                observer.link.cut(below_after_s=dice.uniform(0.0, 0.5))
            case Fault.STALL_OBSERVER if observer is not None and observer.link is not None:
                observer.link.down.stall(dice.uniform(0.5, 20.0))
            case _:
                pass


class ServerFaults(FaultInjector):
    """The faults of a plan with one server. Set `server` before `inject`."""

    server: Server

    async def inject(self, players: Sequence[SimulatedBot], observers: Sequence[Observer]) -> None:
        """Inject faults until `faulty_ms` have passed."""
        standing = asyncio.create_task(self._stall_server())
        await super().inject(players, observers)
        standing.cancel()

    async def _stall_server(self) -> None:
        """Let the server stand still now and then: besides the other faults, so that these stay what they are."""
        rate, dice = self._plan.faults.get(Fault.SERVER_STALL), self._plan.dice("standstills")
        while rate is not None:
            await asyncio.sleep(dice.expovariate(rate / 60))
            seconds = dice.choice(STALLS_S)
            if self.server.is_up:
                self._history.faults[Fault.SERVER_STALL] += 1
                self.server.stall(seconds)

    async def _strike(self, fault: Fault, players: Sequence[SimulatedBot], observers: Sequence[Observer]) -> None:
        match fault:
            case Fault.CRASH:
                self._drawn(players, observers)
                self.server.crash()
                await self._restart(self.server)
            case Fault.DRAIN:
                self._drawn(players, observers)
                await self.server.drain()
                await self._restart(self.server)
            case Fault.LEAP:
                self._drawn(players, observers)
                self.server.clock.skew_ms += self._dice.choice((50, 1_000, 8_000))
            case _:
                await super()._strike(fault, players, observers)

    async def _restart(self, server: Server) -> None:
        """Restart the server, at once or some time later, mostly with the right clock, sometimes with a wrong one."""
        await asyncio.sleep(self._dice.choice((0.0, 0.1, 3.0, 25.0)) * self._dice.random())
        jump_ms = self._dice.choice((-20_000, -700, 0, 0, 0, 0, 300, 600_000))
        await server.start(jump_ms)
