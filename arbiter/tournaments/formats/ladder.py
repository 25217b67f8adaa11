"""Ladder: day and night, whoever is free is paired so that the game tells most about the ratings.

What a game of two players tells is the entropy that it takes from the belief about the difference of their ratings: if
that difference is normal with variance v, and the game's Fisher information about it is i, then ½ ln(1 + i·v)
(Lindley 1956, "On a measure of the information provided by an experiment"; for a normal belief, to first order). With
strengths in nats, i = p(1 − p), where p is the first player's chance. The weight of a pair is that, divided by one plus
the number of times that the two have met, and more for everybody who has waited long.

Players who are in play will soon be free. Two are not paired yet if a game of one of them against such a player would
tell more than twice as much as theirs, by that weight: else bots that move at once would meet the same opponent for
ever, because nobody else is free at that instant. But nobody waits for others longer than HELD_S.

A newcomer first plays against itself (the validation game). It is paired with others once such a game has ended in
any way but by a fault of its own; after three that did not it is not paired any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import exp, log, log1p
from typing import Final

from arbiter.tournaments.commands import Arrange
from arbiter.tournaments.formats.matching import FEW, forbidden, matched, seated
from arbiter.tournaments.formats.pairer import Field, Merit, Pairer, Rating, Strength, arrange
from arbiter.tournaments.meetings import Pair
from arbiter.tournaments.spec import TieBreak
from arbiter.tournaments.tournament import Tournament

UNKNOWN: Final = Strength(0.0, 600.0)  #: as the ratings' prior has it
NATS: Final = log(10) / 400  #: of one Elo point
WAIT: Final = 0.001  #: weight of a second of waiting; what a game tells is seldom more than 1
FAULTS: Final = frozenset({"time", "rule_violation", "absence"})
TRIES: Final = 3
HELD_S: Final = 10  #: the longest that two who could play wait for others
BETTER: Final = 2  #: how many times as much a game against one of the others must tell


class Ladder(Pairer):
    """The pairer of a ladder."""

    late_entry = True
    reentry = True
    least_players = 0  # players come and go
    pairs_whoever_is_free = True
    pairs_by_strength = True
    tie_breaks = (TieBreak.WINS,)

    def heavy(self, tournament: Tournament, field: Field) -> bool:
        """Return whether many are free."""
        return len(field.free) > FEW

    def propose(self, tournament: Tournament, field: Field) -> Arrange | None:
        """Return pairs of those who are free, newcomers with themselves."""
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

    def over(self, tournament: Tournament) -> bool:
        """Return False: a ladder ends by its duration, or never."""
        return False

    def merits(
        self, tournament: Tournament, players: Sequence[str], ratings: Mapping[str, Rating]
    ) -> Mapping[str, Merit] | None:
        """Return the ratings: first of those of whom enough is known, then of the others, then who has none."""
        if not ratings:
            return None
        return {player: Merit(_by_rating(ratings.get(player))) for player in players}


def _by_rating(rating: Rating | None) -> tuple[int, int]:
    if rating is None:
        return (0, 0)
    return (1 if rating.provisional else 2, round(1000 * rating.elo))


def _weighing(tournament: Tournament, field: Field) -> Callable[[str, str], float | None]:
    """Return the weight of two free players, None if they must not meet, or had better wait for others."""
    never = forbidden(tournament)
    now = max(field.now, *field.since.values(), 0)
    in_play = sorted(tournament.busy())

    def met(first: str, second: str) -> int:
        return tournament.met.get(frozenset((first, second)), 0)

    def told(first: str, second: str) -> float:
        learnt = information(field.strengths.get(first, UNKNOWN), field.strengths.get(second, UNKNOWN))
        return learnt / (1 + met(first, second))

    def could_do_better(player: str, than: float, times: int) -> bool:
        return any(
            met(player, other) < times  # most have met as often: they need not be looked at closer
            and frozenset((player, other)) not in never
            and told(player, other) > BETTER * than
            for other in in_play
        )

    def weight(first: str, second: str) -> float | None:
        pair = frozenset((first, second))
        if pair in never:
            return None
        learnt, waits = told(first, second), [(now - field.since.get(player, now)) / 1000 for player in pair]
        if max(waits) < HELD_S and any(could_do_better(player, learnt, met(first, second)) for player in pair):
            return None
        return learnt + WAIT * sum(waits)

    return weight


def information(first: Strength, second: Strength) -> float:
    """Return what a game of two players tells about the difference of their ratings, in nats of entropy."""
    chance = 1 / (1 + exp(-max(-50.0, min(50.0, (first.rating - second.rating) * NATS))))
    variance = (first.deviation**2 + second.deviation**2) * NATS**2
    return log1p(chance * (1 - chance) * variance) / 2


def valid(tournament: Tournament, player: str) -> bool:
    """Return whether a player has ended a game against itself without a fault of its own."""
    return any(cause not in FAULTS for cause in _causes(tournament, player))


def _failures(tournament: Tournament, player: str) -> int:
    return sum(cause in FAULTS for cause in _causes(tournament, player))


def _causes(tournament: Tournament, player: str) -> Iterator[str]:
    """Yield how a player's games against itself ended, the first one first: mostly nobody asks for a second."""
    for meeting in tournament.meetings_of[player]:
        if meeting.first == meeting.second:
            for game in meeting.games:
                if game.number in tournament.results:
                    yield tournament.results[game.number].cause
