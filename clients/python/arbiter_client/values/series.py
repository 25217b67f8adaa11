"""The table over a series of tournaments."""

from __future__ import annotations

from dataclasses import dataclass

from arbiter_client.values.groups import PlayerGroup
from arbiter_client.values.schedule import SeriesRules
from arbiter_client.values.tournament import TournamentSummary


@dataclass(frozen=True, slots=True)
class SeriesResult:
    """A player's result in a tournament. half_points: what it counts. counts: whether it is one of its best ones."""

    tournament_id: str
    place: int
    half_points: int
    counts: bool


@dataclass(frozen=True, slots=True)
class SeriesRow:
    """A player's row. half_points: the sum of the results that count. results: in the order of the tournaments."""

    place: int
    player: str
    half_points: int
    results: tuple[SeriesResult, ...]


@dataclass(frozen=True, slots=True)
class LeagueDivision:
    """A division in a season of a league. players: the best ones of the season before first, newcomers last."""

    name: str
    tournament_id: str
    players: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Series:
    """The table over a series. tournaments: those that count, oldest first. next_tournament_id: empty if not made.

    divisions: those of the season in a league, the highest one first. moves: who has moved since the season before, by
    how: promoted, relegated, entered, left (withdrawn or disqualified), dropped out (missing).
    """

    tournaments: tuple[TournamentSummary, ...]
    rows: tuple[SeriesRow, ...]
    next_tournament_id: str
    rules: SeriesRules
    divisions: tuple[LeagueDivision, ...] = ()
    moves: tuple[PlayerGroup, ...] = ()
