"""Groups of players that an organiser names: categories with tables of their own, and the bots of each author.

An account says nothing of who has written its bot, so the organiser names the authors of several bots.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Annotated, TypeAlias

from arbiter.options import Option

Named: TypeAlias = Mapping[str, tuple[str, ...]]
"""Players by the name of their group."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Categories, and what holds for several bots of one author. apart, one_prize: only with authors."""

    categories: Annotated[
        Named,
        Option(
            "Players with standings of their own, such as newcomers.",
            bounds=(0, 50),
            allowed="up to 50 lists of 2000 players",
            example='`[groups.categories]`, then `rust = ["ann", "ben"]`',
        ),
    ] = field(default_factory=dict)
    authors: Annotated[
        Named,
        Option(
            "The bots of each author who has several; they are a category too.",
            bounds=(0, 200),
            allowed="up to 200 lists of 2–10 players",
            example='`[groups.authors]`, then `"Ada L." = ["cat", "dan"]`',
        ),
    ] = field(default_factory=dict)
    apart: Annotated[bool, Option("Two bots of one author never meet: in a Swiss, an arena and a ladder.")] = False
    one_prize: Annotated[
        bool,
        Option(
            "The standings have a column with the places as if only the best bot of each author, and nobody "
            "disqualified, had played."
        ),
    ] = False

    @property
    def tables(self) -> Named:
        """All groups that have a table of their own."""
        return {**self.categories, **self.authors}

    @property
    def pairs_apart(self) -> frozenset[frozenset[str]]:
        """The pairs of bots of one author, if these are not to meet."""
        authors = self.authors.values() if self.apart else ()
        return frozenset(frozenset(pair) for bots in authors for pair in combinations(bots, 2))


def prize_places(rows: Iterable[tuple[str, int, bool]], authors: Named) -> list[int]:
    """Return the place of each player as if only the best bot of each author had played; 0 for all others.

    rows: player, place and whether it is disqualified, best first. A disqualified player wins no prize. Players that
    share a place share the one for the prizes too.
    """
    of = {player: author for author, bots in authors.items() for player in bots}
    winning = set[str]()  # the authors that have a bot in the prizes
    winners, last, prize = 0, 0, 0
    found: list[int] = []
    for player, place, disqualified in rows:
        author = of.get(player, "")
        if disqualified or author in winning:
            found.append(0)
            continue
        if author:
            winning.add(author)
        winners += 1
        if place != last:
            last, prize = place, winners
        found.append(prize)
    return found
