"""Unary calls and streams of events on the simulated server: each asks the gate, with the token of its caller.

So do the real servicers, which only translate messages beside that (`arbiter.rpc.match_service`, `.observe`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import fields
from typing import Final

from arbiter.errors import Refusal
from arbiter.matches.commands import Abort, Adjudicate, Create, OrganiserRequest
from arbiter.matches.events import EventKind
from arbiter.matches.match import Match
from arbiter.matches.requests import Receipt
from arbiter.service.gate.admission import Call
from arbiter.service.gate.match_calls import MatchGate, NewMatch, OfAll, OfMatch
from arbiter.service.observing.feed import Stream
from arbiter.service.players.accounts import Scope
from arbiter.service.ports.environment import Clock
from arbiter.testing.memory import MemoryJournal
from arbiter.testing.simulation.observations import CreatedMatch, Request, RunObservations, SentAnswer, received
from arbiter.testing.simulation.plan import OPERATORS, ORGANISER

Answer = Receipt | Refusal
ADDRESS: Final = "simulation:"  #: of every client
OBSERVER: Final = "observer"  #: the player whose token all observers use
SCOPES: Final = {  #: of those who do not play
    ORGANISER: Scope.ORGANISE,
    OBSERVER: Scope.OBSERVE,
    **dict.fromkeys(OPERATORS, Scope.ADMIN),
}


class GateCalls:
    """The calls that reach a server process. What it answers is recorded.

    secrets: of the callers' tokens, by name. process: number of the server process.
    """

    def __init__(
        self,
        gate: MatchGate,
        secrets: Mapping[str, str],
        history: RunObservations,
        stored: MemoryJournal,
        clock: Clock,
        process: int,
    ) -> None:
        self._gate = gate
        self._secrets = secrets
        self._history = history
        self._stored = stored
        self._clock = clock
        self._process = process

    def _call(self, caller: str) -> Call:
        return Call(self._secrets[caller], ADDRESS)

    async def request(self, player: str, ask: Request) -> Answer:
        """Do what a player asks for; return the answer."""
        self._history.asked.append(received(player, ask, self._clock.now_ms(), False, self._process))
        try:
            return self._sent(player, ask.match_id, ask.request, await self._receipt(self._call(player), ask))
        except Refusal as refusal:
            return self._sent(player, ask.match_id, ask.request, refusal)

    async def _receipt(self, call: Call, ask: Request) -> Receipt:
        match ask.verb:
            case "move":
                return await self._gate.submit(call, ask.match_id, ask.request, ask.ply, ask.move, None)
            case "offer":
                return await self._gate.offer_draw(call, ask.match_id, ask.request)
            case "answer":
                return await self._gate.answer_draw(call, ask.match_id, ask.request, ask.accept)
            case "claim":
                return await self._gate.claim_draw(call, ask.match_id, ask.request)
            case _:
                return await self._gate.resign(call, ask.match_id, ask.request)

    async def create(self, command: Create) -> CreatedMatch:
        """Create a match for the organiser. Raises Refusal."""
        new = NewMatch(
            request_id=command.request,
            game=command.game,
            players=command.players,
            time_control=command.time,
            rated=command.rated,
            label=command.label,
            opening=command.opening,
            policy={item.name: getattr(command.policy, item.name) for item in fields(command.policy)},
        )
        match = await self._gate.create(self._call(command.creator), new)
        made = CreatedMatch(command.request, match.id, len(self._stored.records))
        self._history.made.append(made)
        return made

    async def judge(self, match_id: str, command: OrganiserRequest) -> Answer:
        """End a match for the organiser; return the answer."""
        try:
            match = await self._ended(self._call(command.by), match_id, command)
        except Refusal as refusal:
            return self._sent(command.by, match_id, command.request, refusal)
        receipt = Receipt(match.revision, EventKind.ENDED, match.ply, None, match.result)
        return self._sent(command.by, match_id, command.request, receipt)

    async def _ended(self, call: Call, match_id: str, command: OrganiserRequest) -> Match:
        match command:
            case Abort(_, request, note):
                return await self._gate.abort(call, match_id, request, note)
            case Adjudicate(_, request, kind, winner, note):
                return await self._gate.adjudicate(call, match_id, request, kind, winner, note)

    def observe(self, match_id: str, label: str, after: int | None) -> AbstractAsyncContextManager[Stream]:
        """Hold a stream of events open: of a match, or of everything (with a label) if `match_id` is ''."""
        watched = OfMatch(match_id, after or 0) if match_id else OfAll("" if after is None else str(after), label)
        return self._gate.observe(self._call(OBSERVER), watched)

    def _sent(self, caller: str, match_id: str, request: str, answer: Answer) -> Answer:
        self._history.given.append(SentAnswer(caller, match_id, request, answer, len(self._stored.records)))
        return answer
