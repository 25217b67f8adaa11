"""Arena: for a limited time, each free player is paired again at once, with a free player of about the same score.

As many pairs as possible are made; among those solutions, the one with the smallest differences of score. Nobody meets
the same opponent twice in a row while another one is free: a rematch weighs more than any difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from arbiter.tournaments.commands import Arrange
from arbiter.tournaments.formats.matching import FEW, forbidden, last_opponent, matched, seated
from arbiter.tournaments.formats.pairer import FreePlayers, InvalidOption, Merit, Pairer, Rating, arrange
from arbiter.tournaments.spec import Options, TieBreak
from arbiter.tournaments.tournament import Tournament

REMATCH = 1_000_000.0


class Arena(Pairer):
    """The pairer of an arena."""

    title = "Arena"
    purpose = "Whoever is free plays again, for a limited time; wins in a row count double."
    options = ("duration_ms",)
    late_entry = True
    reentry = True
    least_players = 0  # players join and leave
    pairs_whoever_is_free = True
    tie_breaks = (TieBreak.WINS,)

    def invalid_option(self, options: Options) -> InvalidOption | None:
        """Return the duration option if it is missing."""
        return None if options.duration_ms else InvalidOption("0", "duration", "how long the arena lasts")

    def heavy(self, tournament: Tournament, field: FreePlayers) -> bool:
        """Return whether many players are free."""
        return len(field.free) > FEW

    def propose(self, tournament: Tournament, field: FreePlayers) -> Arrange | None:
        """Return pairs of free players."""
        scores = arena_scores(tournament)
        free = sorted(field.free, key=lambda player: -scores.get(player, 0))
        never = forbidden(tournament)

        def weight(first: str, second: str) -> float | None:
            if frozenset((first, second)) in never:
                return None
            again = last_opponent(tournament, first) == second or last_opponent(tournament, second) == first
            return -abs(scores.get(first, 0) - scores.get(second, 0)) - (REMATCH if again else 0.0)

        pairs = [seated(tournament, *pair) for pair in matched(free, weight)]
        return arrange(tournament, tournament.rounds + 1, pairs, free=field.free) if pairs else None

    def over(self, tournament: Tournament) -> bool:
        """Return False: only its duration ends an arena."""
        return False

    def merits(
        self, tournament: Tournament, players: Sequence[str], ratings: Mapping[str, Rating]
    ) -> Mapping[str, Merit]:
        """Return the players' arena points."""
        scores = arena_scores(tournament)
        return {player: Merit((scores.get(player, 0),), arena_points=scores.get(player, 0)) for player in players}


def arena_scores(tournament: Tournament) -> dict[str, int]:
    """Return the players' arena points: 2 for a win, 1 for a draw, doubled from the third win in a row on.

    A player's games count in the order of their numbers. A streak ends with a game that is not won.
    """
    streaks: dict[str, int] = {}
    scores: dict[str, int] = {}
    for number in sorted(tournament.results):
        game, played = tournament.games[number - 1], tournament.results[number]
        if game.seat1 == game.seat2:
            continue
        for seat, player in enumerate((game.seat1, game.seat2), start=1):
            points = played.half_points(seat)
            scores[player] = scores.get(player, 0) + (2 * points if streaks.get(player, 0) >= 2 else points)
            streaks[player] = streaks.get(player, 0) + 1 if points == 2 else 0
    return scores
