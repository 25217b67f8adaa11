"""Asks a tournament's plug-in for verdicts on its matches after moves: one request at a time for each match."""

from __future__ import annotations

import asyncio

from arbiter.errors import Refusal
from arbiter.event_json.canonical import MalformedRecordError
from arbiter.matches.commands import Adjudicate, ResultKind
from arbiter.matches.comments import unseal
from arbiter.matches.match import Match, Phase
from arbiter.service.matches.match_registry import MatchRegistry
from arbiter.service.ports.log import Logger
from arbiter.service.tournaments.adjudicators import AdjudicatedEnd, AdjudicatorFailed, Adjudicators, Case


class PluginAdjudication:
    """Asks a plug-in about matches, and ends those that it decides. by: the organiser's name in the commands."""

    def __init__(self, matches: MatchRegistry, judges: Adjudicators, plugin: str, by: str, log: Logger) -> None:
        self._matches = matches
        self._judges = judges
        self._plugin = plugin
        self._by = by
        self._waiting: dict[str, Match] = {}  # by id: the state to ask about next
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._log = log.bind(plugin=plugin)

    def look(self, match: Match) -> None:
        """Ask about a match in this state, as soon as the plug-in has answered the previous request."""
        if not self._plugin or match.phase is Phase.ENDED or match.ply == len(match.created.opening):
            return
        self._waiting[match.id] = match
        if match.id not in self._asking:
            self._asking[match.id] = asyncio.create_task(self._ask(match.id))

    async def close(self) -> None:
        """Cancel all requests."""
        asking = list(self._asking.values())
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)

    async def _ask(self, match_id: str) -> None:
        try:
            while match_id in self._waiting:
                match = self._waiting.pop(match_id)
                try:
                    verdict = await self._judges.judge(self._plugin, case_of(match))
                    if verdict is not None:
                        await self._end(match, verdict)
                except (AdjudicatorFailed, Refusal) as failure:  # refused: the match has ended, or the server stops
                    self._log.warning("not_judged", match=match_id, ply=match.ply, error=str(failure))
        finally:
            del self._asking[match_id]

    async def _end(self, match: Match, verdict: AdjudicatedEnd) -> None:
        note = f"plug-in {self._plugin} after {match.ply} plies" + (f": {verdict.note}" if verdict.note else "")
        result = ResultKind.WIN if verdict.winner else ResultKind.DRAW
        await self._matches.act(match.id, Adjudicate(self._by, f"judged {match.ply}", result, verdict.winner, note))


def case_of(match: Match) -> Case:
    """Return the case for a plug-in: a match in its current state."""
    said: list[int | None] = [None] * match.ply
    try:
        for ply, sealed in match.comments if match.secret else ():
            said[ply] = unseal(sealed, match.secret, ply).evaluation
    except MalformedRecordError:
        pass  # sealed with a signing key that has been lost
    created, (first, second) = match.created, match.clocks
    return Case(
        match_id=match.id,
        game=created.game,
        players=created.players,
        position=match.text,
        turn=match.turn,
        moves=match.moves,
        opening=len(created.opening),
        seats=tuple(match.turns),
        evaluations=tuple(said),
        remaining_ms=(first.remaining_ms, second.remaining_ms),
    )
