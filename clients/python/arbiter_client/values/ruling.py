"""Rulings of an organiser on games of a tournament, and what they change."""

from __future__ import annotations

from dataclasses import dataclass

from arbiter_client.values.reading import OpenEnum
from arbiter_client.values.tournament import PlayerPair, Tournament


class RulingDecision(OpenEnum):
    """What an organiser rules on a game."""

    UNSPECIFIED = 0
    POINTS = 1  #: it has other points
    VOID = 2  #: it does not count
    STANDS = 3  #: its result counts, and earlier rulings do not


@dataclass(frozen=True, slots=True)
class PlaceChange:
    """A player whose place or points differ in the standings after a ruling. Points are in halves."""

    player: str
    place_before: int
    place: int
    half_points_before: int
    half_points: int


@dataclass(frozen=True, slots=True)
class LaterPairings:
    """Pairs of a round that is paired already (0: ties of a knockout) and stays, and those that would be instead.

    result: with this result of a game that is to be played again; '' for other decisions.
    """

    result: str
    round: int
    pairs: tuple[PlayerPair, ...]
    instead: tuple[PlayerPair, ...]


@dataclass(frozen=True, slots=True)
class RuledOnGame:
    """What a ruling changes, or would change: in the order of the new standings; and which pairings would be others."""

    tournament: Tournament
    changes: tuple[PlaceChange, ...]
    later: tuple[LaterPairings, ...] = ()


@dataclass(frozen=True, slots=True)
class RoundPairs:
    """Who meets in a round, and who has a bye with a point."""

    round: int
    pairs: tuple[PlayerPair, ...]
    byes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CorrectedTournament:
    """What a correction changes, or would change, as in `RuledOnGame`.

    paired: after a decision on pairings, its round as it is paired, or will be by the results so far; None if that is
    not known yet. breaks: which rules of the format that breaks, each as a clause. ratings_changed: the ids of the
    matches that count for ratings otherwise.
    """

    tournament: Tournament
    changes: tuple[PlaceChange, ...]
    later: tuple[LaterPairings, ...]
    paired: RoundPairs | None = None
    breaks: tuple[str, ...] = ()
    ratings_changed: tuple[str, ...] = ()
