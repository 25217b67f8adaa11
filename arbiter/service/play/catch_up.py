"""What a bot is told first when it connects: results that it has not acknowledged, challenges, and seeks of others.

Whatever happens while that is read from the store is read, or heard, too: nothing falls between the backlog and the
stream that goes on behind it.
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
    """Reads backlogs. `noticed` and `sought` are to be called when something happens that may belong into one."""

    def __init__(self, matches: MatchRegistry, directory: Directory) -> None:
        self._matches = matches
        self._directory = directory
        self._readers: dict[str, set[asyncio.Event]] = {}  # by player: set when there is a result or a challenge
        self._listeners: dict[int, list[Challenge]] = {}  # seeks that are made while somebody reads

    def noticed(self, player: str) -> None:
        """Take note of a result or challenge of a player's."""
        for event in self._readers.get(player, ()):
            event.set()

    def sought(self, seek: Challenge) -> None:
        """Take note of a new seek."""
        for heard in self._listeners.values():
            heard.append(seek)

    async def read(self, player: Player, seeks: bool) -> list[Item]:
        """Return a player's backlog, with the open seeks of others if they are asked for.

        After this returns, and before anything is awaited, a stream that is live has missed nothing.
        """
        name = player.name
        rows: list[MatchSummary] = []
        with self._reading(name) as news, self._listening() as heard:
            while True:
                news.clear()
                after = rows[-1].ended_sequence if rows else player.acknowledged
                while page := await self._matches.results(name, after, PAGE):
                    rows += page
                    after = page[-1].ended_sequence
                found = await self._challenges(name)
                if not news.is_set():
                    break
        items: list[Item] = [_ended(row, name) for row in rows]
        items += [ChallengeItem(challenge) for challenge in found if challenge.opponent == name]
        if seeks:
            known = {challenge.challenge_id for challenge in found}
            items += _seeks(name, [*found, *(seek for seek in heard if seek.challenge_id not in known)])
        return items

    async def _challenges(self, player: str) -> list[Challenge]:
        found: list[Challenge] = []
        while page := await self._directory.challenges(player, found[-1].challenge_id if found else "", PAGE):
            found += page
        return found

    @contextmanager
    def _reading(self, player: str) -> Iterator[asyncio.Event]:
        event = asyncio.Event()
        those = self._readers.setdefault(player, set())
        those.add(event)
        try:
            yield event
        finally:
            those.discard(event)
            if not those:
                del self._readers[player]

    @contextmanager
    def _listening(self) -> Iterator[list[Challenge]]:
        heard: list[Challenge] = []
        self._listeners[id(heard)] = heard
        try:
            yield heard
        finally:
            del self._listeners[id(heard)]


def _seeks(player: str, challenges: Iterable[Challenge]) -> list[Item]:
    """Return what a player is told of challenges: those that are seeks of others."""
    return [SeekItem(each) for each in challenges if not each.opponent and each.challenger != player]


def _ended(row: MatchSummary, player: str) -> EndedItem:
    assert row.end is not None
    seat: Seat = 1 if row.player_1 == player else 2
    opponent = row.player_2 if seat == 1 else row.player_1
    return EndedItem(row.match_id, row.game, seat, opponent, row.end, row.ended_sequence)
