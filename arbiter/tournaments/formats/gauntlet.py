"""Gauntlet: the first entrants (the heads) meet all others; two heads or two others never meet.

All rounds are paired at the start. In round r head number i meets the other number r + i, counted modulo the number of
others, so no two heads get the same opponent. If there are more heads than others, the roles in this rule are swapped.

Head number i has seat 1 against the other number j if i + j + cycle is even. So every player alternates seats from
opponent to opponent, and over all cycles has one seat at most once more than the other.
"""

from __future__ import annotations

from arbiter.tournaments.commands import Arrange
from arbiter.tournaments.formats.pairer import FreePlayers, Pairer, arrange
from arbiter.tournaments.meetings import Pair
from arbiter.tournaments.spec import Options, TieBreak
from arbiter.tournaments.tournament import Tournament


class Gauntlet(Pairer):
    """The pairer of a gauntlet. The heads are the first entrants, whatever their ratings."""

    title = "Gauntlet"
    purpose = "The first to enter meet everybody else. It shows how strong these few are."
    by_round = True
    tie_breaks = (TieBreak.SONNEBORN_BERGER, TieBreak.WINS)

    def meetings_to_come(self, options: Options, rounds: int, players: int, present: int) -> int:
        """Return how many meetings are still to be paired. Withdrawn players are paired too, and lose by walkover."""
        heads = min(options.heads, players - 1)
        others = players - heads
        return (options.cycles * max(heads, others) - rounds) * min(heads, others)

    def planned_meetings(self, options: Options) -> int:
        """Return how often a head meets each of the others."""
        return options.cycles

    def same_openings(self, options: Options) -> bool:
        """Return whether every opponent gets the same openings, as the specification says."""
        return options.same_openings

    def propose(self, tournament: Tournament, field: FreePlayers) -> Arrange | None:
        """Return the next round."""
        if self.over(tournament):
            return None
        heads, others = self._sides(tournament)
        number = tournament.rounds
        cycle, turn = divmod(number, max(len(heads), len(others)))
        pairs: list[Pair] = []
        if len(heads) <= len(others):
            met = [(i, (turn + i) % len(others)) for i in range(len(heads))]
        else:
            met = [((turn + j) % len(heads), j) for j in range(len(others))]
        for i, j in met:
            head, other = heads[i], others[j]
            pairs.append(Pair(other, head) if (i + j + cycle) % 2 else Pair(head, other))
        return arrange(tournament, number + 1, pairs)

    def over(self, tournament: Tournament) -> bool:
        """Return whether all rounds are paired."""
        heads, others = self._sides(tournament)
        return tournament.rounds >= tournament.spec.options.cycles * max(len(heads), len(others))

    def _sides(self, tournament: Tournament) -> tuple[list[str], list[str]]:
        playing = set(tournament.seeds)
        entered = [player for player in tournament.entrants if player in playing]
        heads = min(tournament.spec.options.heads, len(entered) - 1)
        return entered[:heads], entered[heads:]
