"""How many more matches each player takes, and all tournaments together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Protocol


class Presence(Protocol):
    """Who is there."""

    def room_for(self, player: str) -> int | None:
        """Return how many more matches a player takes now; None if it is not there."""


class Capacity:
    """How many more matches each player takes, those that are just being made counted in; and all tournaments together.

    most_games: of all tournaments at once.
    """

    def __init__(self, presence: Presence, most_games: int) -> None:
        self._presence = presence
        self._most_games = most_games
        self._making: Counter[str] = Counter()
        self._games: dict[str, int] = {}  # under way or being made, by tournament

    @property
    def full(self) -> bool:
        """Whether as many games of tournaments are under way, or being made, as there may be."""
        return sum(self._games.values()) >= self._most_games

    def hold(self, tournament_id: str, games: int) -> None:
        """Take note of how many games of a tournament are under way or being made."""
        if games:
            self._games[tournament_id] = games
        else:
            self._games.pop(tournament_id, None)

    def is_present(self, player: str) -> bool:
        """Say whether a player is there."""
        return self._presence.room_for(player) is not None

    def is_free(self, player: str) -> bool:
        """Say whether a player is there and takes another match."""
        left = self._presence.room_for(player)
        return left is not None and left > self._making[player]

    def may_play(self, player: str) -> bool:
        """Say whether a match may be made for a player: for one who is away too, whose clock then runs."""
        left = self._presence.room_for(player)
        return left is None or left > self._making[player]

    def take(self, players: Collection[str]) -> None:
        """Count a match of some players in that is going to be made; `release` is to follow."""
        self._making.update(players)

    def release(self, players: Collection[str]) -> None:
        """Count it in no longer: it has been made, and counts by itself, or could not be made."""
        self._making.subtract(players)
