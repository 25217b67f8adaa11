"""Revival: after a start, the unfinished matches become live again from their records.

A server alone on its store serves before it has read them: a match becomes live when somebody asks for it, or when one
of its players connects, and the others follow in the background. Nobody sees a match, and no command is decided on it,
before its whole record has been read and checked. Then it is interrupted. Nobody is charged for the time since its last
event, because until it is live no clock runs and no flag falls.

Matches whose record is damaged are set aside; the log names them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Final

from arbiter.errors import Refusal
from arbiter.games import registry
from arbiter.matches.commands import Interrupt, Interruption
from arbiter.matches.match import Match
from arbiter.service.alone import OtherServers
from arbiter.service.matches.attendance import Attendance
from arbiter.service.matches.decisions import Decisions
from arbiter.service.matches.live import DRAINING
from arbiter.service.matches.live_match import LiveMatch
from arbiter.service.matches.recovery import RETRY_S
from arbiter.service.matches.unfinished import read_unfinished
from arbiter.service.ports.journal import Journal, RulesMissing
from arbiter.service.ports.log import Logger

READ_AT_ONCE: Final = 50  #: matches in one read: single reads take longer, and larger ones hold up other tasks
READS_UNDER_WAY: Final = 2  #: one is decoded while the other waits for the store

RevivalListener = Callable[[Match], None]
"""Called with each match that has become live again."""


class Revival:
    """The matches that were unfinished at the start and are not live yet.

    listeners: called with each match once it is live. others: of the store. Matches are not interrupted that they may
    serve.
    """

    def __init__(
        self,
        journal: Journal,
        decisions: Decisions,
        attendance: Attendance,
        others: OtherServers,
        listeners: Sequence[RevivalListener],
        log: Logger,
    ) -> None:
        self._journal = journal
        self._decisions = decisions
        self._attendance = attendance
        self._live = decisions.live
        self._others = others
        self._listeners = listeners
        self._waiting: dict[str, None] = {}  # ids of matches that are not live yet, oldest first
        self._under_way: dict[str, asyncio.Task[None]] = {}  # by id, until the interruption is stored
        self._of_player: dict[str, list[str]] = {}
        self._gap = 0
        self.without_rules = 0  #: matches that wait for the rules of their games, which are not installed
        self._log = log

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, match_id: str) -> bool:
        return match_id in self._waiting or match_id in self._under_way

    async def begin(self) -> int:
        """Find the unfinished matches, without reading their records; return how many continue. Raises StoreFailed."""
        found = await self._journal.unfinished_matches()
        self._gap = await self._journal.last_gap(min(match.reached for match in found)) if found else 0
        for match in found:
            self._waiting[match.match_id] = None
            for player in dict.fromkeys(match.players):
                self._of_player.setdefault(player, []).append(match.match_id)
        self.without_rules = sum(not registry.installed(match.game) for match in found)
        return len(found) - self.without_rules

    async def revive(self, match_ids: Iterable[str]) -> None:
        """Make those of some matches live that are not yet. Raises StoreFailed, DRAINING."""
        wanted = [match_id for match_id in match_ids if match_id in self]
        for some in _portions([match_id for match_id in wanted if match_id not in self._under_way]):
            begun = asyncio.create_task(self._revive(some))
            begun.add_done_callback(_look_at)
            self._under_way |= dict.fromkeys(some, begun)
        tasks = {self._under_way[match_id] for match_id in wanted}
        if tasks:
            await asyncio.wait(tasks)  # a caller that is cancelled does not cancel them: others may wait too
        for task in tasks:
            if task.cancelled():
                raise DRAINING
            task.result()

    async def revive_of(self, *players: str) -> None:
        """Make all matches of some players live. Raises StoreFailed, DRAINING."""
        for player in dict.fromkeys(players):
            if player in self._of_player:
                await self.revive(self._of_player[player])
                self._of_player.pop(player, None)

    async def revive_all(self) -> None:
        """Make all matches live. Raises StoreFailed, DRAINING."""
        working = [self._revive_next() for _ in range(READS_UNDER_WAY)]
        for error in await asyncio.gather(*working, return_exceptions=True):
            if error is not None:
                raise error
        self._of_player.clear()

    async def revive_rest(self) -> None:
        """Make all matches live that are not yet, while the server serves. If the store fails, it is read again."""
        loop, found = asyncio.get_running_loop(), len(self._waiting)
        began = loop.time()
        while not self._live.draining:
            try:
                await self.revive_all()
            except Refusal as refusal:
                if not self._live.draining:
                    self._log.warning("matches_not_read", matches=len(self._waiting), error=refusal.message)
                    await asyncio.sleep(RETRY_S)
            else:
                if found:
                    self._log.info("matches_read", matches=found, after_ms=round(1_000 * (loop.time() - began)))
                return

    async def stop(self) -> None:
        """Leave the other matches to the next start."""
        tasks = set(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _revive_next(self) -> None:
        while self._waiting or self._under_way:
            left = (match_id for match_id in self._waiting if match_id not in self._under_way)
            await self.revive(list(islice(left, READ_AT_ONCE)) or list(self._under_way))

    async def _revive(self, match_ids: Sequence[str]) -> None:
        try:
            matches, damages = await read_unfinished(self._journal, match_ids, self._gap)
            if self._live.draining:
                raise DRAINING
            entered = [self._live.enter(match) for match in matches]
            for damage in damages:
                if isinstance(damage, RulesMissing):  # it waits for the package of its game, and nothing is damaged
                    self._log.warning("match_rules_missing", error=damage.why)
                else:
                    self._log.error("match_set_aside", error=damage.why)
            for match_id in match_ids:
                del self._waiting[match_id]
            await self._interrupt(entered)
        finally:
            for match_id in match_ids:
                self._under_way.pop(match_id, None)

    async def _interrupt(self, entered: Iterable[LiveMatch]) -> None:
        """Interrupt matches that were live when the server ended, and resume those whose players are present."""
        ours = [live for live in entered if self._others.is_ours(live.newest)]
        await asyncio.gather(*[self._decisions.decide(live, Interrupt(Interruption.RESTART)) for live in ours])
        for live in entered:
            self._attendance.note_present_players(live)
            for listener in self._listeners:
                listener(live.newest)


def _portions(match_ids: Sequence[str]) -> list[Sequence[str]]:
    return [match_ids[first : first + READ_AT_ONCE] for first in range(0, len(match_ids), READ_AT_ONCE)]


def _look_at(task: asyncio.Task[None]) -> None:
    """Look at the result of a task, so that asyncio does not log it if nobody waits any more."""
    if not task.cancelled():
        task.exception()
