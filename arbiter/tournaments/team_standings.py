"""The standings of teams: a function of a tournament of teams, and so of its log.

| what | how |
| --- | --- |
| board points | the points of a team's players in the games of a match, forfeits and rulings as `arbiter.tournaments.game_ends` has them |
| match points | for a won match (more board points) `match_win`, for a drawn one `match_draw`; none for a lost one, nor for both if nobody has scored |
| bye in a Swiss | a won match, with half of the board points; tie-breaks as for players (Article 16 of C.07) |
| order | match points, or with `by_board_points` board points; then the tie-breaks |

A match counts once all its games have results. Points that the organiser gives or takes are the player's alone.
"""  # noqa: E501 - a row of a table is one line

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from arbiter.tournaments.game_ends import DRAW, LOSS, WIN
from arbiter.tournaments.spec import TieBreak, options_in
from arbiter.tournaments.team_boards import TeamMatch, members, numbered, on_boards, team_matches
from arbiter.tournaments.tie_breaks import QUARTERS, Encounter, EncounterKind, Scores
from arbiter.tournaments.tournament import Tournament

POINTS_OF_TEAMS: Final = (TieBreak.MATCH_POINTS, TieBreak.BOARD_POINTS)  #: columns that the table has anyway
_HALVES: Final = 2  #: half points of a point


class TeamRow(NamedTuple):
    """A team's row. place: from 1; teams that are level in everything share it. board_points: half points.

    values: one for each tie-break of the table, in quarters. matches: that have ended, split into wins, draws, losses.
    players: in the order of the boards, then reserves.
    """

    place: int
    team: str
    match_points: int
    board_points: int
    values: tuple[int, ...]
    matches: int
    wins: int
    draws: int
    losses: int
    players: tuple[str, ...]


class TeamTable(NamedTuple):
    """The standings of teams, best team first, and its columns of `values`."""

    tie_breaks: tuple[TieBreak, ...]
    rows: tuple[TeamRow, ...]

    @property
    def columns(self) -> dict[int, TieBreak]:
        """The tie-breaks that are no columns of their own, by their place in `values`."""
        return {at: each for at, each in enumerate(self.tie_breaks) if each not in POINTS_OF_TEAMS}


class TeamResult(NamedTuple):
    """A match from the side of one team, or a bye with the opponent ''. number: of the match, as rounds of teams.

    board_points: of it, half points; outcome: WIN, DRAW or LOSS. over: whether all its games have results; played:
    whether one of them was played. boards: half points by board.
    """

    number: int
    opponent: str
    board_points: int
    outcome: int
    over: bool
    played: bool
    boards: Counter[int]


def result_of(tournament: Tournament, match: TeamMatch, team: str) -> TeamResult:
    """Return how a match stands for one of its teams."""
    boards: Counter[int] = Counter()
    total = 0
    for board, meeting, player in on_boards(tournament, match, team):
        boards[board] += tournament.score(meeting, player)
        total += sum(tournament.score(meeting, each) for each in meeting.players)
    mine, games = boards.total(), [game.number for meeting in match.meetings for game in meeting.games]
    outcome = WIN if 2 * mine > total else DRAW if mine and 2 * mine == total else LOSS
    return TeamResult(
        match.number,
        match.second if team == match.first else match.first,
        mine,
        outcome,
        len(match.meetings) == tournament.spec.boards * tournament.spec.rounds_a_match
        and all(map(tournament.decided, match.meetings)),
        any(number in tournament.results and tournament.results[number].played for number in games),
        boards,
    )


class _TeamScores(Scores):
    """The tie-breaks of teams. results: of each team, those that count in the order of its matches."""

    def __init__(self, tournament: Tournament, results: dict[str, list[TeamResult]]) -> None:
        spec, options = tournament.spec, tournament.spec.options
        self.match_points = {
            team: sum((0, options.match_draw, options.match_win)[each.outcome] for each in ended if each.over)
            for team, ended in results.items()
        }
        self.board_points = {
            team: sum(each.board_points for each in ended if each.over) for team, ended in results.items()
        }
        self._results = {team: [each for each in ended if each.over] for team, ended in results.items()}
        self._boards = spec.boards
        points = {LOSS: 0, DRAW: _HALVES * options.match_draw, WIN: _HALVES * options.match_win}
        if options.by_board_points:
            most = WIN * spec.games_a_meeting * spec.boards * spec.rounds_a_match
            points = {LOSS: 0, DRAW: most // 2, WIN: most}
        encounters = {
            team: [
                Encounter(
                    each.number,
                    each.opponent,
                    each.board_points if options.by_board_points else points[each.outcome],
                    _kind(each),
                )
                for each in ended
            ]
            for team, ended in results.items()
        }
        swiss = "rounds" in options_in(spec.format)
        super().__init__(encounters, tournament.rounds, swiss=swiss, win=points[WIN], draw=points[DRAW])

    def value(self, tie_break: TieBreak, player: str) -> int:
        """Return a team's value in quarters; more is better."""
        ended = self._results[player]
        match tie_break:
            case TieBreak.MATCH_POINTS:
                return QUARTERS * self.match_points[player]
            case TieBreak.BOARD_POINTS:
                return QUARTERS // _HALVES * self.board_points[player]
            case TieBreak.SONNEBORN_BERGER_BOARDS:
                return sum(each.board_points * self.points[each.opponent] for each in ended if each.opponent)
            case TieBreak.BOARD_COUNT:
                weighted = (
                    (self._boards + 1 - board) * halves for each in ended for board, halves in each.boards.items()
                )
                return QUARTERS // _HALVES * sum(weighted)
            case TieBreak.WINS:
                return QUARTERS * sum(each.outcome == WIN for each in ended)
        return super().value(tie_break, player)


def _kind(result: TeamResult) -> EncounterKind:
    if not result.over:
        return EncounterKind.OPEN
    if not result.opponent:
        return EncounterKind.ALLOCATED
    return EncounterKind.PLAYED if result.played else EncounterKind.FORFEIT


def results_of(tournament: Tournament) -> dict[str, list[TeamResult]]:
    """Return the matches and byes of each team, in order: teams by their numbers, before the start by entry."""
    spec = tournament.spec
    teams = numbered(tournament) if tournament.started_at is not None else list(members(tournament))
    results: dict[str, list[TeamResult]] = {team: [] for team in teams}
    for match in team_matches(tournament):
        for team in (match.first, match.second):
            results[team].append(result_of(tournament, match, team))
    for round_, players in tournament.byes.items():
        half = DRAW * spec.games_a_meeting * spec.boards
        for team in {tournament.entrants[player].team for player in players}:
            results[team].append(TeamResult(round_, "", half, WIN, True, False, Counter()))
    return {team: sorted(theirs, key=lambda each: each.number) for team, theirs in results.items()}


def scores_of(tournament: Tournament) -> dict[str, int]:
    """Return the points of each team by which a Swiss pairs: match points, or half board points, as they order it."""
    scores = _TeamScores(tournament, results_of(tournament))
    return scores.board_points if tournament.spec.options.by_board_points else scores.match_points


def team_standings(tournament: Tournament, tie_breaks: tuple[TieBreak, ...]) -> TeamTable:
    """Return the standings of the teams of a tournament: of those that have players before the start."""
    there, results = members(tournament), results_of(tournament)
    scores = _TeamScores(tournament, results)
    ranking = scores.rank(tie_breaks, scores.points)
    rows: list[TeamRow] = []
    for group in ranking.groups:
        place = len(rows) + 1
        for team in group:
            outcomes = Counter(each.outcome for each in results[team] if each.over)
            rows.append(
                TeamRow(
                    place,
                    team,
                    scores.match_points[team],
                    scores.board_points[team],
                    ranking.values[team],
                    *(outcomes.total(), outcomes[WIN], outcomes[DRAW], outcomes[LOSS]),
                    tuple(each.player for each in there[team]),
                )
            )
    return TeamTable(tie_breaks, tuple(rows))
