"""The games of a tournament that wait to be played, in order, for each player and for all."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from arbiter.tournaments.meetings import ScheduledGame


@dataclass
class WaitingGames:
    """Games that have not begun, or must be played again. Each waits for both its players.

    games: by player and number, in order of numbers; no player has none.
    """

    games: dict[str, dict[int, ScheduledGame]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[ScheduledGame]:
        return self.of(self.games)

    def of(self, players: Iterable[str]) -> Iterator[ScheduledGame]:
        """Yield the games of some players, in order. Of thousands, no more are looked at than are asked for."""
        last = 0
        for game in heapq.merge(*(self.games[player].values() for player in players if player in self.games)):
            if game.number != last:  # it waits for both
                last = game.number
                yield game

    def add(self, game: ScheduledGame) -> None:
        """Let a game wait."""
        for player in game.players:
            games = self.games.setdefault(player, {})
            is_last = game.number > next(reversed(games), 0)
            games[game.number] = game
            if not is_last:  # it is played again
                self.games[player] = dict(sorted(games.items()))

    def remove(self, game: ScheduledGame) -> None:
        """Remove a game, if it waits."""
        for player in game.players:
            games = self.games.get(player, {})
            games.pop(game.number, None)
            if not games:
                self.games.pop(player, None)

    def copy(self) -> WaitingGames:
        """Return a copy."""
        return WaitingGames({player: games.copy() for player, games in self.games.items()})
