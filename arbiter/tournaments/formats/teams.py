"""Formats of teams: a pairing is of two teams, and has a game of players on each board (`arbiter.tournaments.teams`).

Round robin: every team meets every other one, by the Berger tables, with the teams as their players: the team that has
seat 1 there has it on the odd boards, and the other one on the even boards. In the Scheveningen system a match takes as
many rounds as a team has boards, and each player meets every player of the other team; in round r of a match a player
meets the opponent who is r − 1 boards further, and has seat 1 if the sum of their boards is even.

A round is paired once the one before it has been played, since reserves take the boards of players who have withdrawn.
Nobody enters late.

| not here | why |
| --- | --- |
| the published tables of the Scheveningen system | they differ from each other; seats alternate in these rounds too |
| pairings by hand, requested byes | they are of players |
"""

from __future__ import annotations

from arbiter.tournaments import teams
from arbiter.tournaments.berger import round_robin
from arbiter.tournaments.commands import Arrange
from arbiter.tournaments.formats.pairer import FreePlayers, InvalidOption, Pairer, arrange
from arbiter.tournaments.spec import Options, TieBreak
from arbiter.tournaments.tie_breaks import TEAMS_KNOW
from arbiter.tournaments.tournament import Tournament

LEAST_TEAMS = 2


class _OfTeams(Pairer):
    """What all formats of teams have in common."""

    by_round = True
    known_tie_breaks = TEAMS_KNOW

    def needed(self, tournament: Tournament) -> int:
        """Return how many players have the boards of all teams."""
        return tournament.spec.boards * max(LEAST_TEAMS, len(teams.members(tournament)))

    def incomplete(self, tournament: Tournament) -> str:
        """Return which team has too few players, or that there are too few teams."""
        boards, there = tournament.spec.boards, teams.members(tournament)
        short = next((f"{team} has {len(each)}" for team, each in there.items() if len(each) < boards), "")
        if short:
            return f"each team needs {boards} players, and {short}"
        return f"{LEAST_TEAMS} teams are needed, and {len(there)} there" if len(there) < LEAST_TEAMS else ""

    def invalid_option(self, options: Options) -> InvalidOption | None:
        """Return the points of a drawn match if they are more than those of a won one."""
        if options.match_draw <= options.match_win:
            return None
        return InvalidOption(str(options.match_draw), "match_draw", f"at most match_win, {options.match_win}")


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
        spec, there = tournament.spec, teams.members(tournament)
        lines = {team: teams.line_up(players, spec.boards) for team, players in there.items()}
        match, turn = divmod(tournament.rounds, teams.rounds_a_match(spec))
        drawn = round_robin(teams.numbered(tournament), spec.options.cycles)[match]
        pairs = [
            pair
            for each in drawn.pairings
            for pair in teams.match_pairs(
                lines[each.seat1], lines[each.seat2], turn=turn, everybody=spec.options.scheveningen
            )
        ]
        return arrange(tournament, tournament.rounds + 1, pairs)

    def over(self, tournament: Tournament) -> bool:
        """Return whether all rounds are paired."""
        spec, there = tournament.spec, len(teams.numbered(tournament))
        return tournament.rounds >= teams.rounds_a_match(spec) * spec.options.cycles * (there - 1 + there % 2)
