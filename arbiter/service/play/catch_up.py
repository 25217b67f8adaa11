"""The first items of a bot that connects: results that it has not acknowledged, challenges, and seeks of others.

All of them are read from the store. Results and challenges that change meanwhile are read again, and new seeks are
collected. So the bot misses nothing between these first items and the live items that follow.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from arbiter.games.contract import Seat
from arbiter.service.matches.registry import MatchRegistry
from arbiter.service.play.session import ChallengeItem, EndedItem, Item, SeekItem
from arbiter.service.ports.directory import Challenge, Directory, Player
from arbiter.service.ports.journal import MatchSummary

PAGE: Final = 200  #: results or challenges in one read


class CatchUp:
    """Reads the first items of streams. Call `note_change` and `note_seek` when something changes."""

    def __init__(self, matches: MatchRegistry, directory: Directory) -> None:
        self._matches = matches
        self._directory = directory
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
                found = await self._challenges(name)
                if not changed.is_set():
                    break
        items: list[Item] = [_ended(row, name) for row in rows]
        items += [ChallengeItem(challenge) for challenge in found if challenge.opponent == name]
        if seeks:
            known = {challenge.challenge_id for challenge in found}
            items += _seeks(name, [*found, *(seek for seek in new_seeks if seek.challenge_id not in known)])
        return items

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
