"""How many more matches each player takes, and all tournaments together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Protocol


class MatchSlots(Protocol):
    """How many matches players take: `arbiter.service.play.sessions.Sessions`."""

    def free_slots(self, player: str) -> int | None:
        """Return how many more matches a player takes now; None if it has no live Play stream."""


class Capacity:
    """Counts the matches that may still be made: for each player, with those being made now, and for all tournaments.

    most_games: of all tournaments at once.
    """

    def __init__(self, slots: MatchSlots, most_games: int) -> None:
        self._slots = slots
        self._most_games = most_games
        self._making: Counter[str] = Counter()
        self._games: dict[str, int] = {}  # under way or being made, by tournament

    @property
    def full(self) -> bool:
        """Whether as many games of tournaments are under way, or being made, as there may be."""
        return sum(self._games.values()) >= self._most_games

    def hold(self, tournament_id: str, games: int) -> None:
        """Set how many games of a tournament are under way or being made."""
        if games:
            self._games[tournament_id] = games
        else:
            self._games.pop(tournament_id, None)

    def is_present(self, player: str) -> bool:
        """Say whether a player is there."""
        return self._slots.free_slots(player) is not None

    def is_free(self, player: str) -> bool:
        """Say whether a player is connected and can take another match."""
        left = self._slots.free_slots(player)
        return left is not None and left > self._making[player]

    def may_play(self, player: str) -> bool:
        """Say whether a match may be made for a player. A player who is away may get one: its clock runs."""
        left = self._slots.free_slots(player)
        return left is None or left > self._making[player]

    def take(self, players: Collection[str]) -> None:
        """Count a match that is being made for some players, until `release`."""
        self._making.update(players)

    def release(self, players: Collection[str]) -> None:
        """Stop counting it: it has been made and is live, or its making failed."""
        self._making.subtract(players)
