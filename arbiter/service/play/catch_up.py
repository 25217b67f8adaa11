"""The first items of a bot that connects: results that it has not acknowledged, challenges, and seeks of others.

All of them are read from the store. Results and challenges that change meanwhile are read again, and new seeks are
collected. So the bot misses nothing between these first items and the live items that follow.

Some bots never acknowledge a result. They are sent the newest ones; older ones then count as acknowledged, so that they
are not read again at the next connection. A bot that acknowledges never has this many: only its open matches end
while it is away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from arbiter.config import Limits
from arbiter.games.contract import Seat
from arbiter.service.alone import OtherServers
from arbiter.service.matches.match_registry import MatchRegistry
from arbiter.service.play.session import ChallengeItem, EndedItem, Item, SeekItem, Session
from arbiter.service.ports.directory import Challenge, Directory, Player
from arbiter.service.ports.journal import MatchSummary, StoreFailed
from arbiter.service.tasks import Tasks

PAGE: Final = 200  #: results or challenges in one read


FirstItems = Callable[[Session], Iterable[Item]]
"""Returns items that a stream gets when it opens, before its turns."""


class CatchUp:
    """Reads the first items of streams. Call `note_change` and `note_seek` when something changes.

    first_items: called in order for the further items that each stream gets when it opens. others: of the store.
    """

    def __init__(
        self,
        matches: MatchRegistry,
        directory: Directory,
        first_items: Sequence[FirstItems],
        others: OtherServers,
        limits: Limits,
    ) -> None:
        self._matches = matches
        self._directory = directory
        self._first_items = first_items
        self._others = others
        self._most = limits.unacknowledged_results + limits.open_matches_of_player
        self._tasks = Tasks()
        self._reads: dict[str, set[asyncio.Event]] = {}  # by player; set by a new result or challenge
        self._new_seeks: dict[int, list[Challenge]] = {}  # created during each read under way

    def note_change(self, player: str) -> None:
        """Note that a player has a new result or challenge."""
        for event in self._reads.get(player, ()):
            event.set()

    def note_seek(self, seek: Challenge) -> None:
        """Note a new seek."""
        for seeks in self._new_seeks.values():
            seeks.append(seek)

    async def read(self, player: Player, seeks: bool) -> list[Item]:
        """Return a player's first items. seeks: with the open seeks of others.

        They are complete until the caller's next await, so the stream must be live by then.
        """
        name = player.name
        rows: list[MatchSummary] = []
        with self._noting_changes(name) as changed, self._collecting_seeks() as new_seeks:
            while True:
                changed.clear()
                after = rows[-1].ended_sequence if rows else player.acknowledged
                while page := await self._matches.results(name, after, PAGE):
                    rows += page
                    after = page[-1].ended_sequence
                    if len(rows) > self._most:
                        before = await self._matches.result_before_last(name, self._most)
                        await self._directory.acknowledge(name, before)
                        rows, after = [row for row in rows if row.ended_sequence > before], max(after, before)
                found = await self._challenges(name)
                if not changed.is_set():
                    break
        items: list[Item] = [_ended(row, name) for row in rows]
        items += [ChallengeItem(challenge) for challenge in found if challenge.opponent == name]
        if seeks:
            known = {challenge.challenge_id for challenge in found}
            items += _seeks(name, [*found, *(seek for seek in new_seeks if seek.challenge_id not in known)])
        return items

    def further(self, session: Session) -> list[Item]:
        """Return the further first items of a stream, which need not be read."""
        return [item for first_items in self._first_items for item in first_items(session)]

    def acknowledge(self, session: Session, cursor: str) -> None:
        """Note which results the bot has seen. A cursor after the last result that this stream has sent is ignored."""
        if cursor.isascii() and cursor.isdigit() and len(cursor) <= 18 and int(cursor) <= session.last_result:
            self._tasks.start(self._acknowledge(session, int(cursor), session.received(int(cursor))))

    async def _acknowledge(self, session: Session, cursor: int, received: Collection[int]) -> None:
        with suppress(StoreFailed):  # the results are sent again
            cursor = await self._others.last_received(session.player, cursor, received)
            await self._directory.acknowledge(session.player, cursor)
            session.unacknowledged = {each: None for each in session.unacknowledged if each > cursor}

    async def _challenges(self, player: str) -> list[Challenge]:
        found: list[Challenge] = []
        while page := await self._directory.challenges(player, found[-1].challenge_id if found else "", PAGE):
            found += page
        return found

    @contextmanager
    def _noting_changes(self, player: str) -> Iterator[asyncio.Event]:
        event = asyncio.Event()
        those = self._reads.setdefault(player, set())
        those.add(event)
        try:
            yield event
        finally:
            those.discard(event)
            if not those:
                del self._reads[player]

    @contextmanager
    def _collecting_seeks(self) -> Iterator[list[Challenge]]:
        seeks: list[Challenge] = []
        self._new_seeks[id(seeks)] = seeks
        try:
            yield seeks
        finally:
            del self._new_seeks[id(seeks)]


def _seeks(player: str, challenges: Iterable[Challenge]) -> list[Item]:
    """Return items for the seeks of other players among some challenges."""
    return [SeekItem(each) for each in challenges if not each.opponent and each.challenger != player]


def _ended(row: MatchSummary, player: str) -> EndedItem:
    assert row.end is not None
    seat: Seat = 1 if row.player_1 == player else 2
    opponent = row.player_2 if seat == 1 else row.player_1
    return EndedItem(row.match_id, row.game, seat, opponent, row.end, row.ended_sequence)
