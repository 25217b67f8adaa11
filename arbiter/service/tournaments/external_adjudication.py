"""Asks a tournament's judges, its plug-in and endgame tables, for verdicts on its matches after moves.

Each judge has one request at a time for each match, and the match goes on meanwhile.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple

from arbiter.errors import Refusal
from arbiter.event_json.canonical import MalformedRecordError
from arbiter.matches.commands import Adjudicate, ResultKind
from arbiter.matches.comments import unseal
from arbiter.matches.match import Match, Phase
from arbiter.service.matches.match_registry import MatchRegistry
from arbiter.service.ports.log import Logger
from arbiter.service.tournaments.adjudicators import AdjudicatedEnd, AdjudicatorFailed, Adjudicators, Case
from arbiter.tournaments.spec import Adjudication

MOST_WAITING: Final = 100  #: positions of a match that wait for the tables


class Judge(NamedTuple):
    """Who gives verdicts. name: in notes. most_waiting: how many states of a match wait for it, the newest ones.

    concerns: whether it may have a verdict on a match in a state. verdict: asks it for one, which is None if the match
    shall go on; raises AdjudicatorFailed. is_tables: whether it is endgame tables.
    """

    name: str
    most_waiting: int
    concerns: Callable[[Match], bool]
    verdict: Callable[[Match], Awaitable[AdjudicatedEnd | None]]
    is_tables: bool = False


def judges_of(rules: Adjudication, adjudicators: Adjudicators) -> list[Judge]:
    """Return the judges of a tournament."""

    def is_endgame(match: Match) -> bool:
        ranks, _, castling, _ = match.text.split(" ", 3)
        return castling == "-" and sum(map(str.isalpha, ranks)) <= rules.syzygy_pieces

    def by_tables(match: Match) -> Awaitable[AdjudicatedEnd | None]:
        return adjudicators.by_tables(match.text, rules.syzygy_ignore_50)

    def by_plugin(match: Match) -> Awaitable[AdjudicatedEnd | None]:
        return adjudicators.judge(rules.plugin, case_of(match))

    judges = []
    if rules.syzygy_pieces:
        judges.append(Judge("Syzygy tables", MOST_WAITING, is_endgame, by_tables, is_tables=True))
    if rules.plugin:
        judges.append(Judge(f"plug-in {rules.plugin}", 1, lambda match: True, by_plugin))
    return judges


class ExternalAdjudication:
    """Asks judges about matches, and ends those that one decides. by: the organiser's name in the commands."""

    def __init__(self, matches: MatchRegistry, judges: Sequence[Judge], by: str, log: Logger) -> None:
        self._matches = matches
        self._judges = judges
        self._by = by
        self._waiting: dict[tuple[Judge, str], deque[Match]] = {}  # by the match's id: the states to ask about next
        self._asking: dict[tuple[Judge, str], asyncio.Task[None]] = {}
        self._log = log

    def look(self, match: Match) -> None:
        """Ask about a match in this state, as soon as each judge has answered the previous request."""
        if match.phase is Phase.ENDED or match.ply == len(match.created.opening):
            return
        for judge in self._judges:
            if judge.concerns(match):
                key = judge, match.id
                self._waiting.setdefault(key, deque(maxlen=judge.most_waiting)).append(match)
                if key not in self._asking:
                    self._asking[key] = asyncio.create_task(self._ask(*key))

    async def close(self) -> None:
        """Cancel all requests."""
        asking = list(self._asking.values())
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)

    async def _ask(self, judge: Judge, match_id: str) -> None:
        waiting = self._waiting[judge, match_id]
        try:
            while waiting:
                match = waiting.popleft()
                try:
                    verdict = await judge.verdict(match)
                    if verdict is not None:
                        waiting.clear()
                        await self._end(match, judge, verdict)
                except (AdjudicatorFailed, Refusal) as failure:  # refused: the match has ended, or the server stops
                    self._log.warning("not_judged", judge=judge.name, match=match_id, ply=match.ply, error=str(failure))
        finally:
            del self._asking[judge, match_id], self._waiting[judge, match_id]

    async def _end(self, match: Match, judge: Judge, verdict: AdjudicatedEnd) -> None:
        plies = "1 ply" if match.ply == 1 else f"{match.ply} plies"
        note = f"{judge.name} after {plies}" + (f": {verdict.note}" if verdict.note else "")
        result, request = ResultKind.WIN if verdict.winner else ResultKind.DRAW, f"judged {match.ply}"
        command = Adjudicate(self._by, request, result, verdict.winner, note, judge.is_tables)
        await self._matches.act(match.id, command)


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
