"""Teams: who plays at which board of a team, and the matches of teams.

A team has its players in the order of their entry: the first ones have its boards, the others are its reserves. After a
player has withdrawn, the first reserve who is left has its board from the next round on; without a reserve, the player
is paired as before, and loses by walkover. So a match of teams has always a game on each board.

Teams are numbered by the mean rating of the players who have their boards at the start, best first, then by entry.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from arbiter.tournaments.meetings import Meeting, Pair
from arbiter.tournaments.tournament import Entrant, Tournament


class TeamMatch(NamedTuple):
    """Two teams that are paired. number: from 1, counted as rounds of teams. meetings: so far, in order.

    first: the team whose player on board 1 has seat 1 in its first game.
    """

    number: int
    first: str
    second: str
    meetings: tuple[Meeting, ...]


def members(tournament: Tournament) -> dict[str, list[Entrant]]:
    """Return the players of each team, in the order of its boards and reserves; teams in the order of entry."""
    playing, found = set(tournament.seeds or tournament.players), dict[str, list[Entrant]]()
    for entrant in tournament.entrants.values():
        if entrant.player in playing:
            found.setdefault(entrant.team, []).append(entrant)
    return {team: sorted(players, key=lambda each: each.joined) for team, players in found.items()}


def numbered(tournament: Tournament) -> list[str]:
    """Return the teams in the order of their numbers, without those that were not complete at the start."""
    boards = tournament.spec.boards
    first = {
        team: sum(each.rating for each in players[:boards])
        for team, players in members(tournament).items()
        if sum(each.joined == 1 for each in players) >= boards
    }
    return sorted(first, key=lambda team: -first[team])


def line_up(players: Sequence[Entrant], boards: int) -> list[str]:
    """Return who plays at each board of a team in the next round."""
    line = [each.player for each in players[:boards]]
    for gone in sorted((each for each in players if each.withdrawn), key=lambda each: each.left):
        reserves = (each for each in players if each.player not in line)
        there = [each.player for each in reserves if not each.withdrawn or each.left > gone.left]
        if gone.player in line and there:
            line[line.index(gone.player)] = there[0]
    return line


def match_pairs(first: Sequence[str], second: Sequence[str], *, turn: int = 0, everybody: bool = False) -> list[Pair]:
    """Return the pairs of a round of a match of two teams, by the boards of the first one.

    On odd boards the player of the first team has seat 1, on even boards that of the second one. everybody: each player
    meets all of the other team; in round `turn`, from 0, the opponent is this many boards further, and seats alternate.
    """
    pairs: list[Pair] = []
    for board, player in enumerate(first):
        other = (board + turn) % len(second)
        swapped = (board + other if everybody else board) % 2
        pairs.append(Pair(second[other], player) if swapped else Pair(player, second[other]))
    return pairs


def team_matches(tournament: Tournament) -> list[TeamMatch]:
    """Return the matches of teams that have been paired, in order."""
    length, team = tournament.spec.rounds_a_match, {name: each.team for name, each in tournament.entrants.items()}
    found: dict[tuple[int, frozenset[str]], list[Meeting]] = {}
    for meeting in tournament.meetings:
        teams = frozenset((team[meeting.first], team[meeting.second]))
        found.setdefault(((meeting.round - 1) // length + 1, teams), []).append(meeting)
    return [
        TeamMatch(number, team[played[0].first], team[played[0].second], tuple(played))
        for (number, _), played in found.items()
    ]


def on_boards(tournament: Tournament, match: TeamMatch, team: str) -> Iterator[tuple[int, Meeting, str]]:
    """Yield each meeting of a match with the board of a team, from 1, and its player there."""
    boards = tournament.spec.boards
    for index, meeting in enumerate(match.meetings):
        turn, board = divmod(index, boards)
        player = meeting.first if tournament.entrants[meeting.first].team == team else meeting.second
        yield (board if team == match.first else (board + turn) % boards) + 1, meeting, player
