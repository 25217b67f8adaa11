"""The input of the ratings: how often each pair of players met, and with which results.

Counts are a value in canonical order, sorted by player and pair. Two records with the same games give equal counts, in
whatever order the games were added, and so the same ratings to the last digit.

A player is a name, or a name and a version: `orca@1.2`. Versions are rated separately. They are ordered by their parts,
numbers by value (1.9 before 1.10), so the order follows from the text alone. A name without a version comes first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, NamedTuple

from arbiter.errors import argument_invalid

_invalid: Final = partial(argument_invalid, of="a rated game")

VERSION_MARK: Final = "@"  #: separates a name from its version; names cannot contain it

_NUMBER: Final = re.compile(r"([0-9]+)")


def identity(name: str, version: str = "") -> str:
    """Return the name of a bot version in counts: `name@version`, or the name alone if there is no version."""
    return f"{name}{VERSION_MARK}{version}" if version else name


def named(player: str) -> tuple[str, str]:
    """Return the name and the version ("": none) of a player in counts."""
    name, _, version = player.partition(VERSION_MARK)
    return name, version


def chains(players: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Return the players by name, each name with its versions from the first to the last."""
    by_name: dict[str, list[str]] = {}
    for player in sorted(players):
        by_name.setdefault(named(player)[0], []).append(player)
    return tuple(tuple(sorted(versions, key=_order)) for _, versions in sorted(by_name.items()))


def _order(player: str) -> tuple[Sequence[tuple[int, str]], str]:
    """Return the sort key of a version: its parts, text before numbers; then the whole text, if the parts are equal."""
    version = named(player)[1]
    parts = [part.lstrip("0") if _NUMBER.fullmatch(part) else (part,) for part in _NUMBER.split(version) if part]
    return [(len(part), part) if isinstance(part, str) else (-1, *part) for part in parts], version


class RatedGame(NamedTuple):
    """A rated game between two players: `winner` is seat 1, seat 2, or 0 for a draw."""

    seat1: str
    seat2: str
    winner: Literal[0, 1, 2]


class PairCount(NamedTuple):
    """All games of two players with these seats: won in seat 1, drawn, won in seat 2.

    repeated: how many of them only repeat others of them, move by move. They are no evidence of their own (`model`).
    """

    seat1: str
    seat2: str
    wins1: int
    draws: int
    wins2: int
    repeated: int = 0


@dataclass(frozen=True, slots=True)
class Counts:
    """Rated games by pair. Build it with `of` and `add`, which keep both fields sorted and each key unique.

    players: everybody to be rated, with or without games.
    pairs: one entry for each (seat 1, seat 2) that has met.
    """

    players: tuple[str, ...] = ()
    pairs: tuple[PairCount, ...] = ()

    @classmethod
    def of(cls, games: Iterable[RatedGame], players: Iterable[str] = ()) -> Counts:
        """Return the counts of some games, and of players who may have no games. Raises as `add` does."""
        return cls().add(games, players)

    def add(self, games: Iterable[RatedGame], players: Iterable[str] = ()) -> Counts:
        """Return these counts with more games and players; the cost grows with the pairs and the new games.

        Leave out void and unrated games.

        Raises Refusal ARGUMENT_INVALID (facts what, where, allowed) for a winner other than 0, 1 and 2, and for a game
        of a player against itself, which says nothing about its strength.
        """
        tally = {(p.seat1, p.seat2): [p.draws, p.wins1, p.wins2, p.repeated] for p in self.pairs}
        for seat1, seat2, winner in games:
            if winner not in (0, 1, 2):
                raise _invalid(str(winner), "winner", "1, 2, or 0 for a draw")
            if seat1 == seat2:
                raise _invalid(seat2, "seat2", "another player than in seat 1")
            tally.setdefault((seat1, seat2), [0, 0, 0, 0])[winner] += 1
        everybody = {*self.players, *players, *(player for pair in tally for player in pair)}
        pairs = (PairCount(*pair, wins1, draws, *rest) for pair, (draws, wins1, *rest) in tally.items())
        return Counts(tuple(sorted(everybody)), tuple(sorted(pairs)))

    def with_repeated(self, repeated: Mapping[tuple[str, str], int]) -> Counts:
        """Return these counts with other numbers of repeated games, by (seat 1, seat 2); other pairs keep theirs."""
        pairs = (pair._replace(repeated=repeated.get((pair.seat1, pair.seat2), pair.repeated)) for pair in self.pairs)
        return Counts(self.players, tuple(pairs))

    @property
    def games(self) -> int:
        """The number of games."""
        return sum(pair.wins1 + pair.draws + pair.wins2 for pair in self.pairs)
