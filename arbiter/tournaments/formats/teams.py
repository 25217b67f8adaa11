"""Formats of teams: a pairing is of two teams, and has a game of players on each board (`tournaments.team_boards`).

Round robin: every team meets every other one, by the Berger tables, with the teams as their players: the team that has
seat 1 there has it on the odd boards, and the other one on the even boards. In the Scheveningen system a match takes as
many rounds as a team has boards, and each player meets every player of the other team; in round r of a match a player
meets the opponent who is r − 1 boards further, and has seat 1 if the sum of their boards is even.

Swiss: in every round teams of about the same score meet. It does not follow FIDE's Swiss Team System (C.04.6). Its
rules are these, in this order, by a matching of maximum weight:

| rule | here |
| --- | --- |
| rematches | none, except after a match without a game that was played; forbidden pairs of teams do not meet either |
| bye | with an odd number of teams, for the lowest score that can have it; no team has two |
| opponents | least sum of the squares of differences in score: match points, or board points if these order the teams |
| board 1 | as few pairs as possible in which both had seat 1 there more often, or both less often |
| within a score | the first half of the teams with this score, by number, meets the second half |
| seats | the team that had seat 1 on board 1 less often has it there; if level, by turns |
| withdrawal | a team without any player who is there is not paired any more |
| no legal pairing | the tournament is over |

A round is paired once the one before it has been played, since reserves take the boards of players who have withdrawn.
Nobody enters late.

| not here | why |
| --- | --- |
| the published tables of the Scheveningen system | they differ from each other; seats alternate in these rounds too |
| pairings by hand, requested byes | they are of players |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from arbiter.tournaments import team_boards
from arbiter.tournaments.berger import number_of_rounds, round_robin
from arbiter.tournaments.commands import Arrange
from arbiter.tournaments.formats.matching import matched
from arbiter.tournaments.formats.pairer import FreePlayers, InvalidOption, Pairer, arrange
from arbiter.tournaments.spec import Options, TieBreak
from arbiter.tournaments.team_standings import scores_of
from arbiter.tournaments.tie_breaks import TEAMS_KNOW
from arbiter.tournaments.tournament import Tournament

LEAST_TEAMS: Final = 2
_SCORE, _SEAT = 1e6, 1e3  #: how much more a unit of these rules of a Swiss weighs than all of the next one


class _OfTeams(Pairer):
    """What all formats of teams have in common."""

    by_round = True
    known_tie_breaks = TEAMS_KNOW

    def needed(self, tournament: Tournament) -> int:
        """Return how many players have the boards of all teams."""
        return tournament.spec.boards * max(LEAST_TEAMS, len(team_boards.members(tournament)))

    def incomplete(self, tournament: Tournament) -> str:
        """Return which team has too few players, or that there are too few teams."""
        boards, there = tournament.spec.boards, team_boards.members(tournament)
        short = next((f"{team} has {len(each)}" for team, each in there.items() if len(each) < boards), "")
        if short:
            return f"each team needs {boards} players, and {short}"
        return f"{LEAST_TEAMS} teams are needed, and {len(there)} there" if len(there) < LEAST_TEAMS else ""

    def invalid_option(self, options: Options) -> InvalidOption | None:
        """Return the points of a drawn match if they are more than those of a won one."""
        if options.match_draw <= options.match_win:
            return None
        return InvalidOption(str(options.match_draw), "match_draw", f"at most match_win, {options.match_win}")


class SwissOfTeams(_OfTeams):
    """The pairer of a Swiss of teams."""

    title = "Swiss of teams"
    purpose = "Rounds in which teams of about the same score meet, with a game on each board."
    tie_breaks = (
        *(TieBreak.MATCH_POINTS, TieBreak.BOARD_POINTS, TieBreak.BUCHHOLZ_CUT_1, TieBreak.BUCHHOLZ),
        *(TieBreak.SONNEBORN_BERGER_BOARDS, TieBreak.BOARD_COUNT),
    )

    def invalid_option(self, options: Options) -> InvalidOption | None:
        """Return the rounds option if it is missing, or the points of a drawn match."""
        missing = InvalidOption("0", "rounds", "the number of rounds, at least 1")
        return super().invalid_option(options) if options.rounds else missing

    def planned_meetings(self, options: Options) -> int:
        """Return 1: no two teams meet twice, except after a match that was not played."""
        return 1

    def heavy(self, tournament: Tournament, field: FreePlayers) -> bool:
        """Return True: the matching of hundreds of teams takes long."""
        return True

    def propose(self, tournament: Tournament, field: FreePlayers) -> Arrange | None:
        """Return the next round once the last one has been played; without pairs if there is no legal pairing."""
        if self.over(tournament) or not tournament.all_decided():
            return None
        boards, there = tournament.spec.boards, team_boards.members(tournament)
        playing = [team for team in team_boards.numbered(tournament) if not all(each.withdrawn for each in there[team])]
        lines = {team: team_boards.line_up(there[team], boards) for team in playing}
        met = pair_teams(tournament, playing)
        pairs = [pair for one, other in met if other for pair in team_boards.match_pairs(lines[one], lines[other])]
        byes = [player for team, other in met if not other for player in lines[team]]
        return arrange(tournament, tournament.rounds + 1, pairs, byes if pairs else ())


def pair_teams(tournament: Tournament, playing: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of teams of the next round, by score; a bye is a pair with ''. [] if there is no legal pairing.

    The first team of a pair has seat 1 on board 1. playing: in the order of their numbers.
    """
    scores, lead = scores_of(tournament), Counter[str]()
    last: dict[str, str] = {}
    never = set(tournament.forbidden)
    for match in team_boards.team_matches(tournament):
        lead[match.first] += 1
        lead[match.second] -= 1
        last |= {match.first: "first", match.second: "second"}
        games = (game.number for meeting in match.meetings for game in meeting.games)
        if any(tournament.results[number].played for number in games):
            never.add(frozenset((match.first, match.second)))
    rested = {tournament.entrants[player].team for players in tournament.byes.values() for player in players}
    level: dict[int, list[str]] = {}
    for team in playing:
        level.setdefault(scores[team], []).append(team)
    order = [team for score in sorted(level, reverse=True) for team in level[score]]

    def weight(one: str, other: str) -> float | None:
        if frozenset((one, other)) in never:
            return None
        same = level[scores[one]]
        apart = abs(same.index(one) - same.index(other)) - len(same) // 2 if other in same else 0
        clash = lead[one] * lead[other] > 0
        return -_SCORE * (scores[one] - scores[other]) ** 2 - _SEAT * clash - (apart / len(playing)) ** 2

    found: list[tuple[str, str]] = []
    resting = [team for team in reversed(order) if team not in rested] if len(order) % 2 else [""]
    for bye in resting:
        met = [team for team in order if team != bye]
        found = matched(met, weight, neighbours=len(met))
        if 2 * len(found) == len(met):
            found += [(bye, "")] if bye else []
            break
    else:
        return []
    pairs: list[tuple[str, str]] = []
    for one, other in found:
        mine, its = ((lead[each], last.get(each, "") == "first") for each in (one, other))
        swapped = bool(other) and (its < mine or (its == mine and len(pairs) % 2 == 1))
        pairs.append((other, one) if swapped else (one, other))
    return pairs


class RoundRobinOfTeams(_OfTeams):
    """The pairer of a round robin of teams, and of the Scheveningen system."""

    title = "Round robin of teams"
    purpose = "Every team meets every other team, with a game on each board."
    tie_breaks = (
        *(TieBreak.MATCH_POINTS, TieBreak.BOARD_POINTS, TieBreak.DIRECT),
        *(TieBreak.SONNEBORN_BERGER_BOARDS, TieBreak.BOARD_COUNT),
    )

    def planned_meetings(self, options: Options) -> int:
        """Return how often two players meet who keep their boards."""
        return options.cycles

    def propose(self, tournament: Tournament, field: FreePlayers) -> Arrange | None:
        """Return the next round of the tables, of a match that takes several rounds the next one of the match."""
        if self.over(tournament) or not tournament.all_decided():
            return None
        spec, there = tournament.spec, team_boards.members(tournament)
        lines = {team: team_boards.line_up(players, spec.boards) for team, players in there.items()}
        match, turn = divmod(tournament.rounds, spec.rounds_a_match)
        drawn = round_robin(team_boards.numbered(tournament), match + 1, spec.options.cycles)
        pairs = [
            pair
            for each in drawn.pairings
            for pair in team_boards.match_pairs(
                lines[each.seat1], lines[each.seat2], turn=turn, everybody=spec.rounds_a_match > 1
            )
        ]
        return arrange(tournament, tournament.rounds + 1, pairs)

    def over(self, tournament: Tournament) -> bool:
        """Return whether all rounds are paired."""
        spec, there = tournament.spec, len(team_boards.numbered(tournament))
        return tournament.rounds >= spec.rounds_a_match * number_of_rounds(there, spec.options.cycles)
