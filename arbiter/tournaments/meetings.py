"""Meetings and their games: the results of pairing.

Two players are paired for a meeting. It has one game of each variant in the specification, or two with the seats
swapped. Meetings and games are numbered from 1 in the order of pairing, through the whole tournament.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from arbiter.tournaments.spec import Spec


class Pair(NamedTuple):
    """Two players to meet: `first` has seat 1 in the first game. `place` names the tie in a knockout, or is ''.

    A pair of a player with itself is a ladder's validation game.
    """

    first: str
    second: str
    place: str = ""

    @property
    def players(self) -> tuple[str, str]:
        """Both players; the first has seat 1 in the first game."""
        return self.first, self.second


class ScheduledGame(NamedTuple):
    """A game to be played: it begins with the opening of its meeting (`arbiter.tournaments.openings`)."""

    number: int
    meeting: int
    seat1: str
    seat2: str
    game: str

    @property
    def players(self) -> tuple[str, str]:
        """Both players, by seat."""
        return self.seat1, self.seat2


class Meeting(NamedTuple):
    """Two paired players. `round` counts from 1; in formats without rounds, every pairing is a round of its own."""

    number: int
    round: int
    first: str
    second: str
    place: str
    games: tuple[ScheduledGame, ...]

    @property
    def players(self) -> tuple[str, str]:
        """Both players; the first has seat 1 in the first game."""
        return self.first, self.second


def make_meetings(spec: Spec, pairs: Iterable[Pair], round_: int, meetings: int, games: int) -> tuple[Meeting, ...]:
    """Return the meetings of some pairs, numbered from the given numbers of meetings and games on."""
    made: list[Meeting] = []
    for pair in pairs:
        meetings += 1
        alone = pair.first == pair.second
        played: list[ScheduledGame] = []
        for game in spec.games:
            for swapped in (False, True)[: 2 if spec.paired and not alone else 1]:
                games += 1
                seats = (pair.second, pair.first) if swapped else (pair.first, pair.second)
                played.append(ScheduledGame(games, meetings, *seats, game))
        made.append(Meeting(meetings, round_, pair.first, pair.second, pair.place, tuple(played)))
    return tuple(made)
