"""What a format is asked: its traits, whom it pairs, when it is over, and by what it orders the players."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from arbiter.tournaments.commands import Arrange
from arbiter.tournaments.meetings import Pair
from arbiter.tournaments.spec import Options, Spec, TieBreak
from arbiter.tournaments.tournament import Tournament


class Strength(NamedTuple):
    """What is known of a player's strength: its rating in Elo, and the standard deviation of that."""

    rating: float
    deviation: float


class Field(NamedTuple):
    """Who could be paired now, and what is known of them: for formats that pair whoever is free.

    free: players who are present, in no game of this tournament, and take another one; in the order in which they
    became free. since: for each the instant at which it did. strengths: players without an entry are unknown. now: the
    instant of the pairing. ahead: how many more games each of those present has had than who has had the fewest
    (`Shares`); nobody is ahead without an entry.
    """

    free: Sequence[str] = ()
    since: Mapping[str, int] = {}
    strengths: Mapping[str, Strength] = {}
    now: int = 0
    ahead: Mapping[str, int] = {}


class Rating(NamedTuple):
    """How strong a player is by the games of one tournament alone: Elo, 0 the mean, with the ends of a 95 % interval.

    provisional: whether the player has met few others. group: from 1; of two players who follow each other by rating,
    and have the same group, it is not established who is better.
    """

    elo: float
    low: float
    high: float
    provisional: bool
    group: int


class Merit(NamedTuple):
    """What orders a player before any tie-break, where that is not its points.

    order: larger is better. arena_points, reached: columns of the standings, see `arbiter.tournaments.standings.Row`.
    """

    order: tuple[int, ...]
    arena_points: int | None = None
    reached: str = ""


class InvalidOption(NamedTuple):
    """A value of a specification that a format does not take: which value, in which field, and what it takes."""

    value: str
    field: str
    allowed: str


class Pairer(ABC):
    """A format: its traits, and who is to meet whom next.

    It holds no state: what it answers follows from the tournament and from the field alone. A new format is a subclass,
    which names only those traits that differ from the values here.
    """

    late_entry: ClassVar[bool] = False  #: players may enter after the start
    reentry: ClassVar[bool] = False  #: a player that has withdrawn may enter again
    least_players: ClassVar[int] = 2  #: that a tournament needs to start
    most_players: ClassVar[int] = 0  #: that may enter; 0: as many as the specification says
    in_rounds: ClassVar[bool] = (
        False  #: meetings score, round by round: byes count, and Article 16 of the tie-breaks holds
    )
    pairs_whoever_is_free: ClassVar[bool] = False  #: at any time, without waiting for other games (`Field`)
    pairs_by_strength: ClassVar[bool] = False  #: `Field.strengths` is used
    ends_by_test: ClassVar[bool] = False  #: a sequential test of the games of its two players ends it
    rules: ClassVar[str] = ""  #: the published rules by which it pairs, with their edition, for the record
    tie_breaks: ClassVar[tuple[TieBreak, ...]] = ()  #: in order, where the specification names none

    def invalid_option(self, options: Options) -> InvalidOption | None:
        """Return the first option that this format does not take; None if it takes all."""
        return None

    def caution(self, spec: Spec) -> str:
        """Return what an organiser should know of a tournament before it begins, a sentence; '' for nothing."""
        return ""

    def sharing(self, tournament: Tournament, present: Sequence[str]) -> Sequence[str]:
        """Return those present whose shares of the games are kept even; only where whoever is free is paired."""
        return ()

    def heavy(self, tournament: Tournament, field: Field) -> bool:
        """Return whether `propose` may take longer than a millisecond: then it belongs into a worker process."""
        return False

    @abstractmethod
    def propose(self, tournament: Tournament, field: Field) -> Arrange | None:
        """Return who is to meet whom next, or None if nothing is to be paired now.

        A proposal without pairs and byes says that nothing can be paired any more.
        """

    @abstractmethod
    def over(self, tournament: Tournament) -> bool:
        """Return whether nothing will be paired any more; asked once all games have their results."""

    def merits(
        self, tournament: Tournament, players: Sequence[str], ratings: Mapping[str, Rating]
    ) -> Mapping[str, Merit] | None:
        """Return what orders the players before any tie-break; None: their points.

        ratings: by the games of this tournament alone; empty where they are not known.
        """
        return None


def arrange(
    tournament: Tournament, round_: int, pairs: Sequence[Pair], byes: Sequence[str] = (), free: Sequence[str] = ()
) -> Arrange:
    """Return a proposal for a tournament as it is now."""
    return Arrange(tournament.revision, round_, tuple(pairs), tuple(byes), tuple(free))
