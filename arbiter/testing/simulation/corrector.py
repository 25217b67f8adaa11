"""Simulated organisers and operators who correct a tournament at several servers, while it is played and after its end.

Three of them decide at the same time: the creator of the tournament, and two operators, who rule on ratings and suspend
a player too. Every second decision is on the revision that its caller has seen. Each call is repeated until its answer
is final, some are made twice at once, and some again after the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Any, Final

from arbiter.errors import Refusal
from arbiter.ratings.rulings import NO_GAMES, Command, Decision, Selection
from arbiter.service.gate.admission import Call
from arbiter.service.ports.journal import Filter
from arbiter.testing.memory import MemoryJournal
from arbiter.testing.random_corrections import drawn_correction, drawn_ruling
from arbiter.testing.simulation.cluster import SharingServer
from arbiter.testing.simulation.disk import Chance
from arbiter.testing.simulation.gate_calls import ADDRESS
from arbiter.testing.simulation.observations import AskedDecision, DecisionAnswer, RunObservations
from arbiter.testing.simulation.organiser import PAUSE_S, TournamentOrganiser
from arbiter.testing.simulation.plan import GUEST, OPERATORS, Fault
from arbiter.testing.simulation.simulated_player import TRY_AGAIN
from arbiter.tournaments.commands import Correct, Rule
from arbiter.tournaments.tournament import Tournament

OTHERS: Final = (*OPERATORS, GUEST)  #: players of whom there is an account if a tournament is corrected
LONGEST_PAUSE_S: Final = 4.0  #: between two decisions of one caller
LONGEST_THOUGHT_S: Final = 2.0  #: from a look at a revision to the decision on it
MOST_STEPS: Final = 40  #: of a server that is killed while a decision is made at it
CONDITIONAL: Final = 0.5  #: the share of decisions that are on a revision
AT_ONCE: Final = 0.2  #: the share of those that are asked for twice at once
AGAIN: Final = 0.3  #: the share of those that are asked for again after they were made
EVERYTHING: Final = 1_000_000  #: matches

Asking = Callable[[SharingServer, Call], Awaitable[Any]]
"""Asks a server for a decision."""


class Corrector:
    """Makes the decisions of one caller on a tournament, as many as its plan says. is_done: whether all are made."""

    def __init__(
        self,
        caller: str,
        organiser: TournamentOrganiser,
        servers: Sequence[SharingServer],
        history: RunObservations,
        chance: Chance,
        dice: Random,
    ) -> None:
        self._caller = caller
        self._organiser = organiser
        self._servers = servers
        self._history = history
        self._chance = chance
        self._dice = dice
        self._suspended = False
        self.is_done = False

    async def correct(self) -> None:
        """Do so, once the tournament's players have entered."""
        while not self._organiser.tournament_id:  # noqa: ASYNC110 - time is virtual
            await asyncio.sleep(PAUSE_S)
        for number in range(self._organiser.plan.corrections):
            await asyncio.sleep(self._dice.uniform(0.0, LONGEST_PAUSE_S))
            await self._decide(f"decision {number} of {self._caller}")
        self.is_done = True

    async def _decide(self, request: str) -> None:
        """Ask for a random decision."""
        kind = self._dice.random()
        if self._caller in OPERATORS and kind < 0.2:
            asked, asking = await self._on_ratings(request)
        elif self._caller == OPERATORS[0] and kind < 0.4 and GUEST in self._organiser.plan.players:
            asked, asking = self._on_guest(request)
        else:
            asked, asking = await self._on_tournament(request, is_ruling=kind > 0.8)
        self._history.decisions.append(asked)
        times = 2 if self._dice.random() < AT_ONCE else 1
        await asyncio.gather(*(self._ask(asked, asking) for _ in range(times)))
        if asked.is_made and self._dice.random() < AGAIN:
            await self._ask(asked, asking)

    async def _on_tournament(self, request: str, *, is_ruling: bool) -> tuple[AskedDecision, Asking]:
        tournament_id, dice = self._organiser.tournament_id, self._dice
        seen: Tournament = await self._answered(lambda server, _: server.arbiter.tournaments.get(tournament_id))
        revision = seen.revision if dice.random() < CONDITIONAL else 0
        wanted: Rule | Correct
        if is_ruling:
            wanted = Rule(self._caller, request, *drawn_ruling(seen, dice), "a reason", revision)
        else:
            wanted = Correct(self._caller, request, drawn_correction(seen, dice), "a reason", revision)
        if revision:
            await asyncio.sleep(dice.uniform(0.0, LONGEST_THOUGHT_S))
        # Not through the gate: it compares the standings in a thread, which virtual time does not wait for.
        asked = self._asked(request, wanted, tournament_id)
        return asked, lambda server, _: server.arbiter.tournaments.act(tournament_id, wanted)

    async def _on_ratings(self, request: str) -> tuple[AskedDecision, Asking]:
        dice, players = self._dice, self._organiser.plan.players
        rulings = await self._answered(lambda server, call: server.gate.ratings.rulings(call))
        revision = len(rulings) if dice.random() < CONDITIONAL else None
        decision = dice.choice((Decision.UNRATED, Decision.UNRATED, Decision.RATED, Decision.TAKEN_BACK))
        label = self._organiser.tournament_id if dice.random() < 0.5 else ""
        games = Selection(players=(dice.choice(players),), label=label)
        number = dice.randint(1, len(rulings) + 1)
        if revision is not None:
            await asyncio.sleep(dice.uniform(0.0, LONGEST_THOUGHT_S))
        if decision is Decision.TAKEN_BACK:
            command = Command(self._caller, request, decision, NO_GAMES, number, "a reason", revision)
        else:
            command = Command(self._caller, request, decision, games, 0, "a reason", revision)
        asked = self._asked(request, command)
        return asked, lambda server, call: server.gate.ratings.rule(call, lambda _: command, preview=False)

    def _on_guest(self, request: str) -> tuple[AskedDecision, Asking]:
        suspended = self._suspended = not self._suspended
        asked = self._asked(request, suspended)
        return asked, lambda server, call: server.gate.players.suspend(call, GUEST, suspended)

    def _asked(self, request: str, what: Rule | Correct | Command | bool, of: str = "") -> AskedDecision:
        return AskedDecision(of, self._caller, request, what, self._servers[0].head)

    async def _ask(self, asked: AskedDecision, asking: Asking) -> None:
        """Ask for a decision until its answer is final."""
        began, refused = self._servers[0].head, None
        try:
            await self._answered(asking)
        except Refusal as refusal:
            refused = refusal.reason
        asked.answers.append(DecisionAnswer(refused, began, self._servers[0].head))

    async def _answered(self, asking: Asking) -> Any:
        """Return the answer of any server, once it is final. Raises Refusal."""
        while True:
            server = self._dice.choice(self._servers)
            if server.is_up:
                if self._chance(Fault.CORRECTING):
                    server.kill(self._dice.randint(0, MOST_STEPS))
                try:
                    return await server.ask(_called(asking, server, Call(server.data.secrets[self._caller], ADDRESS)))
                except Refusal as refusal:
                    if refusal.reason not in TRY_AGAIN:
                        raise
            await asyncio.sleep(PAUSE_S)


async def _called(asking: Asking, server: SharingServer, call: Call) -> Any:
    return await asking(server, call)


async def note_ratings(history: RunObservations, stored: MemoryJournal) -> None:
    """Note the rulings on ratings in the store, and by which of them each match is unrated."""
    history.ratings.log += await stored.rulings()
    rows = await stored.summaries(Filter(), 0, EVERYTHING)
    history.ratings.unrated |= {row.match_id: row.ruling for row in rows if row.ruling}
