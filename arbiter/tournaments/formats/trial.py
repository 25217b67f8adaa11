"""A against B: the first two entrants meet until a sequential test, which the arbiter asks, knows which is better.

Some meetings are paired ahead, so that as many games run at once as the specification allows.
"""

from __future__ import annotations

from arbiter.tournaments.commands import Arrange
from arbiter.tournaments.formats.pairer import Field, InvalidOption, Pairer, arrange
from arbiter.tournaments.meetings import Pair
from arbiter.tournaments.spec import Options, TieBreak
from arbiter.tournaments.tournament import Tournament


class Trial(Pairer):
    """The pairer of a trial. A is the first entrant, B the second."""

    most_players = 2
    ends_by_test = True
    tie_breaks = (TieBreak.WINS,)

    def invalid_option(self, options: Options) -> InvalidOption | None:
        """Return elo0 if it is not below elo1."""
        if options.elo0 < options.elo1:
            return None
        return InvalidOption(str(options.elo0), "elo0", f"less than options.elo1, which is {options.elo1}")

    def propose(self, tournament: Tournament, field: Field) -> Arrange | None:
        """Return another meeting if fewer games are waiting or under way than can be played at once."""
        if self.over(tournament):
            return None
        pending = len(tournament.games) - len(tournament.results)
        if pending >= tournament.spec.at_once:
            return None
        number = len(tournament.meetings)
        a, b = sides(tournament)
        return arrange(tournament, number + 1, [Pair(b, a) if number % 2 else Pair(a, b)])

    def over(self, tournament: Tournament) -> bool:
        """Return whether the test is to end undecided, or a side has withdrawn."""
        return len(tournament.meetings) >= tournament.spec.options.most_meetings or any(
            tournament.entrants[player].withdrawn for player in sides(tournament)
        )


def sides(tournament: Tournament) -> tuple[str, str]:
    """Return A and B."""
    playing = set(tournament.seeds)
    a, b = [player for player in tournament.entrants if player in playing][:2]
    return a, b
