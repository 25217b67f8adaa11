"""The faults of a run with several servers: of one of them each time, or of a player who moves between them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from arbiter.testing.memory import MemoryBroker
from arbiter.testing.simulation.cluster import SharingServer
from arbiter.testing.simulation.fault_injector import FaultInjector
from arbiter.testing.simulation.observations import RunObservations
from arbiter.testing.simulation.others import Observer
from arbiter.testing.simulation.plan import Fault, Plan
from arbiter.testing.simulation.simulated_player import SimulatedBot

MOST_STEPS = 300  #: of a process that is killed: it dies after this many callbacks at most
LOOK_S = 0.01  #: between two looks whether a player has come to another server
COMES_LOOKS = 300  #: how often to look
MOST_STAY_S = 0.5  #: at a server that is killed next
MOST_WRONG = 5e-4  #: pace of a clock that NTP corrects (the kernel's limit, MAXFREQ)
AWAY_S = (0.2, 3.0, 20.0)  #: how long the bus is away
STOPS_S = (0.3, 1.9, 2.4, 6.0, 15.0)  #: how long a process is stopped; it counts as gone after two seconds


class ClusterFaults(FaultInjector):
    """The faults of a plan with several servers. Set `servers`, and `broker` if they have a bus, before `inject`."""

    def __init__(self, plan: Plan, history: RunObservations) -> None:
        super().__init__(plan, history)
        self.servers: Sequence[SharingServer] = ()
        self.broker: MemoryBroker | None = None
        self._bus_back_s = 0.0  # when the bus is back

    async def inject(self, players: Sequence[SimulatedBot], observers: Sequence[Observer]) -> None:
        """Inject faults until `faulty_ms` have passed; then end those that last."""
        if self.broker is not None and self._plan.bus is not None:
            self.broker.lost, self.broker.doubled, self.broker.longest_s = self._plan.bus
        await super().inject(players, observers)
        if self.broker is not None:
            self.broker.lost = self.broker.doubled = 0.0
            self.broker.come_back()
        for each in self.servers:
            each.heal()

    async def _strike(self, fault: Fault, players: Sequence[SimulatedBot], observers: Sequence[Observer]) -> None:
        dice = self._dice
        struck = dice.choice(self.servers)
        match fault:
            case Fault.CRASH:
                struck.kill(dice.choice((0, dice.randint(0, MOST_STEPS))))
            case Fault.DRAIN:
                struck.shut_down()
            case Fault.STOP:
                struck.stop(dice.choice(STOPS_S), dice.random() < 0.3)
            case Fault.CUT_OFF:
                struck.cut_off(dice.choice((0.2, 1.0, 3.0, 12.0)), dice.random() < 0.5)
            case Fault.MOVE:
                _move(dice.choice(players), dice.random())
            case Fault.RACE:
                self._race(dice.choice(players), players)
            case Fault.CHASE:
                await self._chase(dice.choice(players).name)
            case Fault.BUS_AWAY:
                self._take_bus_away(dice.choice(AWAY_S), dice.random() < 0.5, dice.random() < 0.5)
            case Fault.PACE:
                struck.machine.run_at(1.0 + dice.uniform(-MOST_WRONG, MOST_WRONG))
            case _:
                await super()._strike(fault, players, observers)

    def _take_bus_away(self, seconds: float, known: bool, keeps: bool) -> None:
        """Carry no message for a while. known: the servers know it, as when their connections are lost.

        keeps: the messages come afterwards.
        """
        if self.broker is not None:
            self.broker.away, self.broker.silent, self.broker.keeps = known, not known, keeps
            loop = asyncio.get_running_loop()
            self._bus_back_s = max(self._bus_back_s, loop.time() + seconds)
            loop.call_later(seconds, self._bring_bus_back)

    def _bring_bus_back(self) -> None:
        """Do so, unless it is to be away for longer."""
        if self.broker is not None and asyncio.get_running_loop().time() >= self._bus_back_s:
            self.broker.come_back()

    def _race(self, player: SimulatedBot, players: Sequence[SimulatedBot]) -> None:
        """Have both players of a match act at this instant."""
        if not player.matches:
            return
        match_id = self._dice.choice(player.matches)
        for each in players:
            if match_id in each.matches:
                asyncio.get_running_loop().call_soon(each.hurry, match_id)

    async def _chase(self, player: str) -> None:
        """Kill the server of a player, and soon after it has come to another one that too."""
        for _ in range(2):
            for _ in range(COMES_LOOKS):
                there = [server for server in self.servers if server.is_up and player in server.players_here()]
                if there:
                    break
                await asyncio.sleep(LOOK_S)
            else:
                return
            await asyncio.sleep(self._dice.uniform(0.0, MOST_STAY_S))
            there[0].kill(0)
            await asyncio.sleep(LOOK_S)


def _move(player: SimulatedBot, chance: float) -> None:
    """Have a player connect to another server: with its old connection open, after it has ended, or several times."""
    if chance < 0.5 or player.link is None:
        player.connect()
    elif chance < 0.8:
        player.link.cut(below_after_s=0.0)
    else:  # it hurries on, so that a server hardly knows of it
        player.connect()
        for after_s in (0.01, 0.05):
            asyncio.get_running_loop().call_later(after_s, player.connect)
