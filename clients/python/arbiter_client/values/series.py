"""The table over a series of tournaments."""

from __future__ import annotations

from dataclasses import dataclass

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
class Series:
    """The table over a series. tournaments: those that count, oldest first. next_tournament_id: empty if not made."""

    tournaments: tuple[TournamentSummary, ...]
    rows: tuple[SeriesRow, ...]
    next_tournament_id: str
    rules: SeriesRules
