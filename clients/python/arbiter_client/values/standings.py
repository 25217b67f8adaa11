"""The standings of a tournament: of its players, and of its teams."""

from __future__ import annotations

from dataclasses import dataclass

from arbiter_client.values.rating import Estimate
from arbiter_client.values.tournament import TieBreak


@dataclass(frozen=True, slots=True)
class Faults:
    """Games that a player lost without being beaten by play."""

    timeouts: int
    crashes: int
    violations: int
    walkovers: int


@dataclass(frozen=True, slots=True)
class StandingsRating:
    """The rating of a player by the games of one tournament: Elo, 0 the mean of its players.

    provisional: it has met few other players. group: the order of neighbours by rating with the same number is not
    established.
    """

    elo: Estimate
    provisional: bool
    group: int


@dataclass(frozen=True, slots=True)
class StandingsRow:
    """The row of a player in the standings. Points are in halves, values of tie-breaks in quarters.

    half_points: of meetings in a Swiss, of games elsewhere. arena_points: None except in an arena; reached: '' except
    in a knockout. rating: by the games of this tournament, None without one. left_early: it has left a round robin
    before half of its games, which do not count for the points of the others. awarded_half_points: given or taken by
    the organiser, as part of the points. prize_place: as if only the best bot of each author had played, else 0.
    """

    place: int
    player: str
    half_points: int
    tie_break_quarters: tuple[int, ...]
    meeting_half_points: int
    game_half_points: int
    games: int
    wins: int
    draws: int
    losses: int
    faults: Faults
    withdrawn: bool
    arena_points: int | None
    reached: str
    rating: StandingsRating | None = None
    left_early: bool = False
    disqualified: bool = False
    awarded_half_points: int = 0
    prize_place: int = 0
    team: str = ""

    @property
    def points(self) -> float:
        """The points as a number: 2.5."""
        return self.half_points / 2


@dataclass(frozen=True, slots=True)
class TeamRow:
    """The row of a team in the standings. board_half_points: of the games of its matches.

    matches, wins, draws, losses: of teams, that have ended. players: in the order of its boards, then reserves. Values
    of tie-breaks are in quarters.
    """

    place: int
    team: str
    match_points: int
    board_half_points: int
    tie_break_quarters: tuple[int, ...]
    matches: int
    wins: int
    draws: int
    losses: int
    players: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TeamStandings:
    """The standings of the teams of a tournament, best team first."""

    tie_breaks: tuple[TieBreak, ...]
    rows: tuple[TeamRow, ...]


@dataclass(frozen=True, slots=True)
class Standings:
    """The standings at a revision of a tournament, best player first; tie-breaks order players with equal points.

    teams: None if it is no tournament of teams.
    """

    tournament_id: str
    revision: int
    tie_breaks: tuple[TieBreak, ...]
    rows: tuple[StandingsRow, ...]
    teams: TeamStandings | None = None
