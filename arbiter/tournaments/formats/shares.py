"""Fair shares of a ladder: how many more games a player has had than the one with the fewest, of those present."""

from __future__ import annotations

from collections.abc import Collection, Mapping


class Shares:
    """Counts games from the moment at which players are present together.

    A player that comes, or comes back, starts level with the one that has the fewest games, so nobody waits until it
    has caught up. The counts are in memory only; after a restart all players start level.

    In a simulation of 20 minutes with eight bots whose speeds differ by a factor of 8, the most games of a bot were
    1.04 times the fewest, without this rule 1.78. The price is a third of all games: fast bots wait for slow ones
    (tests/tournaments/test_ladder_shares.py).
    """

    def __init__(self) -> None:
        self._base: dict[str, int] = {}  # of each present player: games that do not count

    def ahead(self, present: Collection[str], games: Mapping[str, int]) -> dict[str, int]:
        """Return how many games each present player is ahead of the one with the fewest, given all games so far."""
        staying = {player: games.get(player, 0) - self._base[player] for player in present if player in self._base}
        least = min(staying.values(), default=0)
        self._base = {
            player: self._base[player] if player in staying else games.get(player, 0) - least for player in present
        }
        return {player: games.get(player, 0) - self._base[player] - least for player in present}
