"""Arena: for a limited time, each free player is paired again with another one whom it has met less often than others.

1. Nobody meets the same opponent twice in a row while one of the two could meet somebody else: a player who is free, or
   who will be, since its meeting goes on. Without this rule the two players of a game, who become free together, would
   meet again and again. The two wait for that at most PATIENCE times as long as a meeting took on average until theirs
   ended, or LEAST_WAIT_MS if that is longer. So if other games last very long, they play again.
2. Of the pairs that are allowed, as many as possible are made.
3. Of these solutions, one is chosen in which the pairs have met least often, in sum.
4. Of these, one with the smallest differences of score.

It is a rule of our own. Lichess has the first part of it, without a limit: nobody meets its last opponent again unless
no more than two players are there (`modules/tournament/src/main/arena/PairingSystem.scala`). deploy/CHOOSING.md says
how many pairs meet by these rules, and how long players wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from arbiter.tournaments.commands import Arrange
from arbiter.tournaments.formats.matching import FEW, matched, seated
from arbiter.tournaments.formats.pairer import FreePlayers, InvalidOption, Merit, Pairer, Rating, arrange
from arbiter.tournaments.game_ends import WIN
from arbiter.tournaments.spec import Options, TieBreak
from arbiter.tournaments.tournament import Tournament
from arbiter.tournaments.unpaired_reasons import Why

MET: Final = 1_000_000.0  #: weight of each earlier meeting of a pair: more than any difference of score
PATIENCE: Final = 2  #: how many meetings of usual length two players wait for other opponents
LEAST_WAIT_MS: Final = 10_000  #: how long they wait at least, as in the beginning no meeting has ended that took long


class Arena(Pairer):
    """The pairer of an arena."""

    title = "Arena"
    purpose = "Whoever is free plays again, for a limited time; wins in a row count double."
    late_entry = True
    reentry = True
    least_players = 0  # players join and leave
    pairs_whoever_is_free = True
    own_points = True
    rules = "the arbiter's rules for arenas of November 2026"
    tie_breaks = (TieBreak.WINS,)

    def invalid_option(self, options: Options) -> InvalidOption | None:
        """Return the duration option if it is missing."""
        return None if options.duration_ms else InvalidOption("0", "duration", "how long the arena lasts")

    def heavy(self, tournament: Tournament, field: FreePlayers) -> bool:
        """Return whether many players are free."""
        return len(field.free) > FEW

    def propose(self, tournament: Tournament, field: FreePlayers) -> Arrange | None:
        """Return pairs of free players."""
        scores = arena_scores(tournament, field.free)
        free = sorted(field.free, key=lambda player: -scores[player])
        not_now = tournament.forbidden | _too_soon(tournament, field)

        def weight(first: str, second: str) -> float | None:
            pair = frozenset((first, second))
            if pair in not_now:
                return None
            apart = abs(scores[first] - scores[second])
            return -apart - MET * tournament.met.get(pair, 0)

        pairs = [seated(tournament, *pair) for pair in matched(free, weight)]
        return arrange(tournament, tournament.rounds + 1, pairs, free=field.free) if pairs else None

    def waits(self, tournament: Tournament, field: FreePlayers, player: str) -> Why | None:
        """Return JUST_MET if a player waits for others than the free players, else None."""
        not_now = tournament.forbidden | _too_soon(tournament, field)
        others = (other for other in field.free if other != player)
        return Why.JUST_MET if all(frozenset((player, other)) in not_now for other in others) else None

    def over(self, tournament: Tournament) -> bool:
        """Return False: only its duration ends an arena."""
        return False

    def merits(
        self, tournament: Tournament, players: Sequence[str], ratings: Mapping[str, Rating]
    ) -> Mapping[str, Merit]:
        """Return the players' arena points."""
        scores = arena_scores(tournament, players)
        totals = {player: scores[player] + tournament.awarded.get(player, 0) for player in players}
        return {player: Merit((points,), arena_points=points) for player, points in totals.items()}


def _too_soon(tournament: Tournament, field: FreePlayers) -> frozenset[frozenset[str]]:
    """Return the pairs of free players who wait for other opponents, as one of them met the other in its last meeting.

    Nobody waits if neither could meet anybody else: a player who is free, or who has not withdrawn and still plays.
    """
    never, found = tournament.forbidden, set[frozenset[str]]()
    around = {*field.free, *(player for player in tournament.busy() if not tournament.entrants[player].withdrawn)}
    for player in field.free:
        if not tournament.meetings_of[player]:
            continue
        last = tournament.meetings_of[player][-1]
        pair, end = frozenset((last.first, last.second)), tournament.ends[last.number]
        others = any(frozenset((one, other)) not in never for one in pair for other in around - pair)
        if others and field.now < end.at + max(LEAST_WAIT_MS, PATIENCE * end.usual_ms):
            found.add(pair)
    return frozenset(found)


def arena_scores(tournament: Tournament, players: Iterable[str]) -> dict[str, int]:
    """Return the arena points of some players: 2 for a win, 1 for a draw, doubled from the third win in a row on.

    A player's games count in the order of their numbers. A streak ends with a game that counts and is not won.
    """
    return {player: _score(tournament, player) for player in players}


def _score(tournament: Tournament, player: str) -> int:
    score = streak = 0
    for meeting in tournament.meetings_of.get(player, ()):
        for game in meeting.games if meeting.first != meeting.second else ():
            result = tournament.results.get(game.number)
            if result is not None and not result.void:
                points = result.half_points(1 if game.seat1 == player else 2)
                score += 2 * points if streak >= 2 else points
                streak = streak + 1 if points == WIN else 0
    return score
