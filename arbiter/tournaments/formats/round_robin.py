"""Round robin: everybody meets everybody in each cycle, by the Berger tables.

All rounds are paired at the start, and a game begins as soon as both players are free, so a slow game delays only its
own players. A withdrawn player loses its remaining games by walkover; nobody enters late. The results of one that has
left early do not count for the others (`arbiter.tournaments.early_leavers`).
"""

from __future__ import annotations

from arbiter.tournaments.berger import number_of_rounds, round_robin
from arbiter.tournaments.commands import Arrange
from arbiter.tournaments.formats.pairer import FreePlayers, Pairer, arrange
from arbiter.tournaments.meetings import Pair
from arbiter.tournaments.spec import Options, TieBreak
from arbiter.tournaments.tournament import Tournament


class RoundRobin(Pairer):
    """The pairer of a round robin."""

    title = "Round robin"
    purpose = "Everybody meets everybody. For a small field: scores are comparable."
    by_round = True
    drops_early_leavers = True
    reported = True
    tie_breaks = (TieBreak.DIRECT, TieBreak.SONNEBORN_BERGER, TieBreak.WINS)

    def meetings_to_come(self, options: Options, rounds: int, players: int, present: int) -> int:
        """Return how many meetings are still to be paired. Withdrawn players are paired too, and lose by walkover."""
        return (number_of_rounds(players, options.cycles) - rounds) * (players // 2)

    def planned_meetings(self, options: Options) -> int:
        """Return how often everybody meets everybody."""
        return options.cycles

    def propose(self, tournament: Tournament, field: FreePlayers) -> Arrange | None:
        """Return the next round of the tables."""
        if self.over(tournament):
            return None
        drawn = round_robin(tournament.seeds, tournament.rounds + 1, tournament.spec.options.cycles)
        return arrange(tournament, drawn.number, [Pair(pairing.seat1, pairing.seat2) for pairing in drawn.pairings])

    def over(self, tournament: Tournament) -> bool:
        """Return whether all rounds are paired."""
        return tournament.rounds >= number_of_rounds(len(tournament.seeds), tournament.spec.options.cycles)
