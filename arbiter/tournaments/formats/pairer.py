"""What a format must answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from arbiter.tournaments.commands import Arrange
from arbiter.tournaments.meetings import Pair
from arbiter.tournaments.tournament import Tournament


class Strength(NamedTuple):
    """What is known of a player's strength: its rating in Elo, and the standard deviation of that."""

    rating: float
    deviation: float


class Field(NamedTuple):
    """Who could be paired now, and what is known of them: only an arena and a ladder look at it.

    free: players who are present, in no game of this tournament, and take another one; in the order in which they
    became free. since: for each the instant at which it did. strengths: players without an entry are unknown. now: the
    instant of the pairing.
    """

    free: Sequence[str] = ()
    since: Mapping[str, int] = {}
    strengths: Mapping[str, Strength] = {}
    now: int = 0


class Pairer(Protocol):
    """A format. It holds nothing: what it answers follows from the tournament alone, and from the field."""

    def heavy(self, tournament: Tournament, field: Field) -> bool:
        """Return whether `propose` may take longer than a millisecond: then it belongs into a worker process."""

    def propose(self, tournament: Tournament, field: Field) -> Arrange | None:
        """Return who is to meet whom next, or None if nothing is to be paired now.

        A proposal without pairs and byes says that nothing can be paired any more.
        """

    def over(self, tournament: Tournament) -> bool:
        """Return whether nothing will be paired any more; asked once all games have their results."""


def arrange(
    tournament: Tournament, round_: int, pairs: Sequence[Pair], byes: Sequence[str] = (), free: Sequence[str] = ()
) -> Arrange:
    """Return a proposal for a tournament as it is now."""
    return Arrange(tournament.revision, round_, tuple(pairs), tuple(byes), tuple(free))
