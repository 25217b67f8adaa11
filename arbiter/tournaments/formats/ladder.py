"""Ladder: free players are paired day and night, so that all present players play about as many games.

Bots are not equally fast. Without a rule, a bot that moves at once would play three or four times as many games as a
slow one. So two players do not meet while both are more than AHEAD games ahead of the player with the fewest games
(`Shares`). Nobody waits for that longer than SHARE_WAIT_S, so longer games make the shares less even.

Among the allowed pairs, as many as possible are made. The pairer prefers opponents who have met less often, then games
that give more information: a game's result carries the Fisher information p(1 − p) about the difference of the two
ratings, where p is the first player's chance of winning. So the weight of a pair is ½ + 2p(1 − p), between a half and
one, divided by one plus the number of their past meetings. It is reduced for players who are ahead, and increased for
players who have waited long. (With 4p(1 − p) alone, a few of 400 simulated narrow fields had errors several times the
mean, perhaps because too few games bridged a gap in the field.)
Ratings are uncertain, in the beginning very much so: p is the mean over the difference's normal distribution, by
MacKay's approximation (Neural Computation 4 (1992), "The evidence framework applied to classification networks").
deploy/CHOOSING.md says by how much the ratings are better than with random pairs.

Players in a game will soon be free. Two players who have met n times are not paired yet if one of them has met such a
busy player only m times, and 2(1 + m) < 1 + n. Otherwise bots that move at once would meet the same opponent again and
again, because nobody else is free at that instant. Nobody waits for that longer than HELD_S.

A newcomer first plays against itself (the validation game). It is paired with others once such a game has ended without
its own fault. After three validation games with a fault it is not paired any more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from math import exp, log, pi, sqrt
from typing import Final

from arbiter.tournaments.commands import Arrange
from arbiter.tournaments.formats.matching import FEW, matched, seated
from arbiter.tournaments.formats.pairer import FreePlayers, Merit, Pairer, Rating, Strength, arrange
from arbiter.tournaments.meetings import Pair
from arbiter.tournaments.spec import TieBreak
from arbiter.tournaments.tournament import Tournament
from arbiter.tournaments.unpaired_reasons import Why

UNKNOWN: Final = Strength(0.0, 600.0)  #: the same as the ratings' prior
NATS: Final = log(10) / 400  #: natural logarithm units of one Elo point
WAIT: Final = 0.001  #: weight of a second of waiting; a pair's own weight is at most 1
SHARE: Final = 0.02  #: weight of each game that a player is ahead
AHEAD: Final = 2  #: how many games both of two opponents may be ahead of the player with the fewest
SHARE_WAIT_S: Final = 60  #: maximum wait of two players who are ahead
FAULTS: Final = frozenset({"time", "rule_violation", "absence"})
TRIES: Final = 3
HELD_S: Final = 10  #: maximum wait for opponents whom the players have met less often


class Ladder(Pairer):
    """The pairer of a ladder."""

    title = "Ladder"
    purpose = "Day and night: all who are there play about equally often, and rank by rating."
    late_entry = True
    reentry = True
    least_players = 0  # players join and leave
    pairs_whoever_is_free = True
    pairs_by_strength = True
    sums_do = True
    tie_breaks = (TieBreak.WINS,)

    def sharing(self, tournament: Tournament, present: Sequence[str]) -> Sequence[str]:
        """Return the validated players who may meet at least one other of them."""
        never = tournament.forbidden
        ready = [player for player in present if not tournament.spec.options.validation or valid(tournament, player)]
        if not never:
            return ready
        return [a for a in ready if any(a != b and frozenset((a, b)) not in never for b in ready)]

    def heavy(self, tournament: Tournament, field: FreePlayers) -> bool:
        """Return whether many players are free."""
        return len(field.free) > FEW

    def propose(self, tournament: Tournament, field: FreePlayers) -> Arrange | None:
        """Return pairs of free players; newcomers are paired with themselves."""
        validation = tournament.spec.options.validation
        new = [player for player in field.free if validation and not valid(tournament, player)]
        tried = [player for player in new if _failures(tournament, player) < TRIES]
        ready = sorted(
            (player for player in field.free if player not in new),
            key=lambda player: -field.strengths.get(player, UNKNOWN).rating,
        )
        pairs = [Pair(player, player) for player in tried]
        pairs += [seated(tournament, *pair) for pair in matched(ready, _weighing(tournament, field))]
        return arrange(tournament, tournament.rounds + 1, pairs, free=field.free) if pairs else None

    def waits(self, tournament: Tournament, field: FreePlayers, player: str) -> Why | None:
        """Return whether a player is to be validated, or waits for others than those who are free."""
        validation = tournament.spec.options.validation
        if validation and not valid(tournament, player):
            return Why.VALIDATION if _failures(tournament, player) < TRIES else Why.FAILED_VALIDATION
        weight = _weighing(tournament, field)
        ready = (each for each in field.free if each != player and (not validation or valid(tournament, each)))
        if any(weight(player, other) is not None for other in ready):
            return None
        return Why.AHEAD if field.ahead.get(player, 0) > AHEAD else Why.RARER

    def over(self, tournament: Tournament) -> bool:
        """Return False: only its duration ends a ladder, if it has one."""
        return False

    def merits(
        self, tournament: Tournament, players: Sequence[str], ratings: Mapping[str, Rating]
    ) -> Mapping[str, Merit] | None:
        """Return the order by rating: first players with enough games, then provisional ones, then unrated ones."""
        if not ratings:
            return None
        return {player: Merit(_by_rating(ratings.get(player))) for player in players}


def _by_rating(rating: Rating | None) -> tuple[int, int]:
    if rating is None:
        return (0, 0)
    return (1 if rating.provisional else 2, round(1000 * rating.elo))


def _weighing(tournament: Tournament, field: FreePlayers) -> Callable[[str, str], float | None]:
    """Return the weight of a pair of free players, None if they must not meet, or should wait for others."""
    never = tournament.forbidden
    now = max(field.now, *field.since.values(), 0)
    in_play = sorted(tournament.busy())

    def met(first: str, second: str) -> int:
        return tournament.met.get(frozenset((first, second)), 0)

    def could_do_better(player: str, times: int) -> bool:
        return any(
            2 * (1 + met(player, other)) < 1 + times and frozenset((player, other)) not in never for other in in_play
        )

    def weight(first: str, second: str) -> float | None:
        pair = frozenset((first, second))
        if pair in never:
            return None
        times, waits = met(first, second), [(now - field.since.get(player, now)) / 1000 for player in pair]
        ahead = [field.ahead.get(player, 0) for player in pair]
        if min(ahead) > AHEAD and max(waits) < SHARE_WAIT_S:
            return None
        if max(waits) < HELD_S and any(could_do_better(player, times) for player in pair):
            return None
        chance = _chance(field.strengths.get(first, UNKNOWN), field.strengths.get(second, UNKNOWN))
        return (0.5 + 2 * chance * (1 - chance)) / (1 + times) + WAIT * sum(waits) - SHARE * sum(ahead)

    return weight


def _chance(first: Strength, second: Strength) -> float:
    """Return the first player's chance of winning, as a mean over what the difference may be."""
    variance = (first.deviation**2 + second.deviation**2) * NATS**2
    apart = (first.rating - second.rating) * NATS / sqrt(1 + pi * variance / 8)
    return 1 / (1 + exp(-max(-50.0, min(50.0, apart))))


def valid(tournament: Tournament, player: str) -> bool:
    """Return whether a player has finished a game against itself without a fault of its own."""
    return any(_validations(tournament, player))


def _failures(tournament: Tournament, player: str) -> int:
    return sum(not valid for valid in _validations(tournament, player))


def _validations(tournament: Tournament, player: str) -> Iterator[bool]:
    """Yield whether a player's games against itself were played without a fault, first game first.

    It is lazy: mostly one is enough.
    """
    for meeting in tournament.meetings_of[player]:
        if meeting.first == meeting.second:
            for game in meeting.games:
                if game.number in tournament.results:
                    result = tournament.results[game.number]
                    yield result.played and result.cause not in FAULTS


class Shares:
    """Counts games from the moment at which players are present together.

    A player that comes, or comes back, starts level with the one that has the fewest games, so nobody waits until it
    has caught up. The counts are in memory only; after a restart all players start level.

    In a simulation of 20 minutes with eight bots whose speeds differ by a factor of 8, the most games of a bot were
    1.04 times the fewest, without this rule 1.78. The price is a third of all games: fast bots wait for slow ones
    (tests/tournaments/test_ladder_shares.py).
    """

    def __init__(self) -> None:
        self._base: dict[str, int] = {}  # of each present player: games that do not count

    def ahead(self, present: Collection[str], games: Mapping[str, int]) -> dict[str, int]:
        """Return how many games each present player is ahead of the one with the fewest, given all games so far."""
        staying = {player: games.get(player, 0) - self._base[player] for player in present if player in self._base}
        least = min(staying.values(), default=0)
        self._base = {
            player: self._base[player] if player in staying else games.get(player, 0) - least for player in present
        }
        return {player: games.get(player, 0) - self._base[player] - least for player in present}
