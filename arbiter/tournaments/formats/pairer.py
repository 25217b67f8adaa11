"""The interface of a format: its traits, its pairings, when it is over, and how it ranks the players."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from arbiter.tournaments.commands import Arrange
from arbiter.tournaments.meetings import Pair
from arbiter.tournaments.openings import Turn, repeats
from arbiter.tournaments.spec import Options, Spec, TieBreak
from arbiter.tournaments.tie_breaks import OF_TEAMS
from arbiter.tournaments.tournament import Tournament
from arbiter.tournaments.unpaired_reasons import Why


class Strength(NamedTuple):
    """A player's estimated strength: its rating in Elo, and the rating's standard deviation."""

    rating: float
    deviation: float


class FreePlayers(NamedTuple):
    """The players that could be paired now, for formats that pair free players.

    free: players who are present, not in a game of this tournament, and accept another one; in the order in which they
    became free. since: the instant at which each did. strengths: players without an entry are unknown. now: the instant
    of the pairing. ahead: how many more games each present player has had than the one with the fewest (`Shares`); a
    player without an entry is not ahead.
    """

    free: Sequence[str] = ()
    since: Mapping[str, int] = {}
    strengths: Mapping[str, Strength] = {}
    now: int = 0
    ahead: Mapping[str, int] = {}


class Rating(NamedTuple):
    """A player's rating by the games of one tournament alone: Elo, 0 the mean, with the ends of a 95 % interval.

    provisional: whether the player has met few others. group: from 1; if two players with neighbouring ratings have the
    same group, it is not established who is better.
    """

    elo: float
    low: float
    high: float
    provisional: bool
    group: int


class Merit(NamedTuple):
    """What orders players before any tie-break, in formats that do not order by points.

    order: larger is better. arena_points, reached: columns of the standings, see `arbiter.tournaments.standings.Row`.
    """

    order: tuple[int, ...]
    arena_points: int | None = None
    reached: str = ""


class InvalidOption(NamedTuple):
    """A value that a format does not accept in a specification: the value, its field, and what is allowed."""

    value: str
    field: str
    allowed: str


class Pairer(ABC):
    """A format: its traits, and who meets whom next.

    It is stateless: its answers follow from the tournament and the field alone. A new format is a subclass, which sets
    only the traits that differ from the values here.
    """

    title: ClassVar[str]  #: the name for people
    purpose: ClassVar[str]  #: how it is played and what it is good for, in a sentence or two for organisers
    by_round: ClassVar[bool] = False  #: people read its games round by round
    has_bracket: ClassVar[bool] = False  #: its meetings form a bracket
    late_entry: ClassVar[bool] = False  #: players may enter after the start
    reentry: ClassVar[bool] = False  #: a withdrawn player may enter again
    least_players: ClassVar[int] = 2  #: minimum of players to start
    most_players: ClassVar[int] = 0  #: maximum of players; 0: as many as the specification says
    in_rounds: ClassVar[bool] = (
        False  #: scores meetings round by round: byes count, and Article 16 of the tie-breaks applies
    )
    pairs_whoever_is_free: ClassVar[bool] = False  #: pairs at any time, without waiting for other games (`FreePlayers`)
    pairs_by_strength: ClassVar[bool] = False  #: `FreePlayers.strengths` is used
    drops_early_leavers: ClassVar[bool] = False  #: `arbiter.tournaments.early_leavers` applies
    sums_do: ClassVar[bool] = False  #: of old games it needs sums alone (`arbiter.tournaments.folding`)
    own_points: ClassVar[bool] = False  #: players are ordered by points of the format's own, as in an arena
    reported: ClassVar[bool] = False  #: pairing programs of others know it: a report of it can be written
    ends_by_test: ClassVar[bool] = False  #: a sequential test of the two players' games ends it
    rules: ClassVar[str] = ""  #: the published pairing rules, with their edition, for the record
    tie_breaks: ClassVar[tuple[TieBreak, ...]] = ()  #: default tie-breaks, in order
    known_tie_breaks: ClassVar[frozenset[TieBreak]] = frozenset(TieBreak) - OF_TEAMS  #: which an organiser can choose

    def needed(self, tournament: Tournament) -> int:
        """Return how many players a tournament needs to start."""
        return self.least_players

    def incomplete(self, tournament: Tournament) -> str:
        """Return what a tournament lacks to start besides the number of its players, a clause; '' for nothing."""
        return ""

    @property
    def keeps_apart(self) -> bool:
        """Whether it chooses who meets whom, so that some pairs need never meet."""
        return self.in_rounds or self.pairs_whoever_is_free

    def invalid_option(self, options: Options) -> InvalidOption | None:
        """Return the first option that this format does not accept; None if it accepts all."""
        return None

    def caution(self, spec: Spec) -> str:
        """Return a warning for the organiser before the tournament starts, a sentence; '' for none."""
        return repeats(spec, self.most_meetings(spec.options))

    def planned_meetings(self, options: Options) -> int | None:
        """Return how often two players meet if they do and nothing is level; None if only play decides that."""
        return None

    def most_meetings(self, options: Options) -> int | None:
        """Return how often the same two players can meet; None: as often as there is time for."""
        return self.planned_meetings(options)

    def same_openings(self, options: Options) -> bool:
        """Return whether all pairs play the same openings."""
        return False

    def turn(self, tournament: Tournament, meeting: int) -> Turn:
        """Return which opening a meeting has, by its number from 1.

        Unless all pairs play the same openings, a pair begins where the pair before it ends, if the number of their
        meetings is planned, and else one opening later. So all of the book is played.
        """
        spec = tournament.spec
        pair, times = tournament.encounters[meeting - 1]
        if self.same_openings(spec.options):
            pair = 0
        return Turn(meeting - 1, times, pair * (self.planned_meetings(spec.options) or 1), pair, spec.paired)

    def field_caution(self, spec: Spec, players: int) -> str:
        """Return a warning for the organiser about a field of this many players, a sentence; '' for none."""
        return ""

    def meetings_to_come(self, options: Options, rounds: int, players: int, present: int) -> int | None:
        """Return how many meetings are still to be paired once `rounds` rounds are; None if only play decides that.

        players: how many started or entered late; present: those of them who have not withdrawn.
        """
        return None

    def sharing(self, tournament: Tournament, present: Sequence[str]) -> Sequence[str]:
        """Return the present players whose numbers of games are kept even; only in formats that pair free players."""
        return ()

    def heavy(self, tournament: Tournament, field: FreePlayers) -> bool:
        """Return whether `propose` may take longer than a millisecond; then a worker process runs it."""
        return False

    @abstractmethod
    def propose(self, tournament: Tournament, field: FreePlayers) -> Arrange | None:
        """Return who meets whom next, or None if nothing is to be paired now.

        A proposal without pairs and byes means that no further pairing is possible.
        """

    def waits(self, tournament: Tournament, field: FreePlayers, player: str) -> Why | None:
        """Return why this format does not pair a player who has no game to play, None if it would."""
        return None

    def paired_again(self, tournament: Tournament) -> list[Pair] | None:
        """Return how a format in rounds pairs the next round; None if it can't."""
        return None

    def ties(self, tournament: Tournament) -> Mapping[str, Pair]:
        """Return the ties of a bracket whose players are known, by place; better seed first."""
        return {}

    def over(self, tournament: Tournament) -> bool:
        """Return whether nothing will be paired any more: here, whether all rounds of the specification are paired.

        Called once all games have their results.
        """
        return tournament.rounds >= tournament.spec.options.rounds

    def end_note(self, tournament: Tournament) -> str:
        """Return what there is to say about a tournament that has been played to its end, a clause; '' for nothing."""
        return ""

    def merits(
        self, tournament: Tournament, players: Sequence[str], ratings: Mapping[str, Rating]
    ) -> Mapping[str, Merit] | None:
        """Return what orders the players before any tie-break; None: their points.

        ratings: by the games of this tournament alone; empty if they are not known.
        """
        return None


def arrange(
    tournament: Tournament, round_: int, pairs: Sequence[Pair], byes: Sequence[str] = (), free: Sequence[str] = ()
) -> Arrange:
    """Return a proposal for a tournament's current state."""
    return Arrange(tournament.revision, round_, tuple(pairs), tuple(byes), tuple(free))
