"""How many more matches each player accepts, and how many more all tournaments may have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Protocol


class MatchSlots(Protocol):
    """How many matches players accept; implemented by `arbiter.service.play.sessions.Sessions`."""

    def free_slots(self, player: str) -> int | None:
        """Return how many more matches a player accepts now; None if it has no live Play stream."""

    def most_matches(self, player: str) -> int | None:
        """Return how many matches at once a player accepts; None if it has no live Play stream."""


class Capacity:
    """Counts the matches that may still be created, for each player and for all tournaments together.

    Matches that are being created count too. most_games: the limit for all tournaments together.
    """

    def __init__(self, slots: MatchSlots, most_games: int) -> None:
        self._slots = slots
        self._most_games = most_games
        self._making: Counter[str] = Counter()
        self._games: dict[str, int] = {}  # under way or being created, by tournament

    @property
    def full(self) -> bool:
        """Whether all tournaments together have reached their limit of games under way or being created."""
        return sum(self._games.values()) >= self._most_games

    def hold(self, tournament_id: str, games: int) -> None:
        """Set how many games of a tournament are under way or being created."""
        if games:
            self._games[tournament_id] = games
        else:
            self._games.pop(tournament_id, None)

    def is_present(self, player: str) -> bool:
        """Return whether a player has a live Play stream."""
        return self._slots.free_slots(player) is not None

    def is_free(self, player: str) -> bool:
        """Return whether a player has a live Play stream and accepts another match."""
        left = self._slots.free_slots(player)
        return left is not None and left > self._making[player]

    def may_play(self, player: str) -> bool:
        """Return whether a match may be created for a player. An absent player may get one: its clock runs."""
        left = self._slots.free_slots(player)
        return left is None or left > self._making[player]

    def accepted(self, players: Collection[str]) -> dict[str, int]:
        """Return how many matches at once each of some players accepts; absent players are left out."""
        found = {player: self._slots.most_matches(player) for player in players}
        return {player: most for player, most in found.items() if most is not None}

    def take(self, players: Collection[str]) -> None:
        """Count a match that is being created for some players, until `release`."""
        self._making.update(players)

    def release(self, players: Collection[str]) -> None:
        """Stop counting a match as being created: it is live now, or could not be created."""
        self._making.subtract(players)
