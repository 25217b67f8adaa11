"""The organiser of a simulated tournament: it makes each call at any of the servers, until it is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from itertools import count
from random import Random
from typing import Any, Final, TypeVar

from arbiter.errors import Refusal
from arbiter.testing.simulation.cluster import SharingServer
from arbiter.testing.simulation.observations import RunObservations
from arbiter.testing.simulation.plan import ORGANISER, TournamentPlan
from arbiter.testing.simulation.simulated_player import TRY_AGAIN
from arbiter.tournaments import commands as do
from arbiter.tournaments.standings import standings
from arbiter.tournaments.tournament import TournamentPhase

T = TypeVar("T")
PAUSE_S: Final = 0.5  #: until a call is repeated
LONGEST_BREAK_S: Final = 10.0  #: of a tournament that an organiser has paused


class TournamentOrganiser:
    """Creates a tournament, enters its players, and starts it if it has no schedule. is_done: whether all is done.

    If the tournament is corrected, it also goes on after each pause. tournament_id: '' before all players have entered.
    """

    def __init__(self, plan: TournamentPlan, servers: Sequence[SharingServer], dice: Random) -> None:
        self.plan: Final = plan
        self._servers = servers
        self._dice = dice
        self.tournament_id = ""
        self.is_done = False

    async def organise(self) -> None:
        """Do so, at the time that is planned."""
        plan = self.plan
        await asyncio.sleep(plan.after_ms / 1000)
        made = await self._call(lambda server: server.arbiter.tournaments.create(plan.spec, ORGANISER, plan.spec.name))
        for player in plan.players:
            with suppress(Refusal):  # it may have started by its schedule
                await self._act(made.id, do.Enter(player, ORGANISER, f"enter {player}"))
        if not plan.spec.schedule.start_ms:
            await self._act(made.id, do.Start(ORGANISER, "start"))
        self.tournament_id = made.id
        if plan.corrections:
            await self._continue_until_the_end(made.id)
        self.is_done = True

    async def _continue_until_the_end(self, tournament_id: str) -> None:
        """Let the tournament go on some time after each pause, until it has ended."""
        for number in count(1):
            phase = (await self._call(lambda server: server.arbiter.tournaments.get(tournament_id))).phase
            if phase is TournamentPhase.ENDED:
                return
            if phase is TournamentPhase.PAUSED:
                await asyncio.sleep(self._dice.uniform(0.0, LONGEST_BREAK_S))
                with suppress(Refusal):  # another server may know more
                    await self._act(tournament_id, do.Continue(ORGANISER, f"go on {number}"))
            await asyncio.sleep(PAUSE_S)

    async def _act(self, tournament_id: str, command: do.Request) -> None:
        await self._call(lambda server: server.arbiter.tournaments.act(tournament_id, command))

    async def _call(self, call: Callable[[SharingServer], Coroutine[Any, Any, T]]) -> T:
        """Make a call until it has an answer. Raises Refusal if this is a refusal that is final."""
        while True:
            server = self._dice.choice(self._servers)
            if server.is_up:
                try:
                    return await server.ask(call(server))
                except Refusal as refusal:
                    if refusal.reason not in TRY_AGAIN:
                        raise
            await asyncio.sleep(PAUSE_S)


async def note_tables(history: RunObservations, servers: Sequence[SharingServer], tournaments: Sequence[str]) -> None:
    """Note the standings that each server shows of each tournament."""
    for server in servers:
        for tournament_id in tournaments:
            if server.is_fine:
                tournament = await server.ask(server.arbiter.tournaments.get(tournament_id))
                history.tables.setdefault(tournament_id, {})[server.number] = standings(tournament)
