"""A ladder of thousands of players is paired within a second."""

from __future__ import annotations

import random
from time import process_time

import pytest

from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments import formats
from arbiter.tournaments.formats import FreePlayers, Strength
from arbiter.tournaments.formats.matching import matched
from arbiter.tournaments.spec import Format, Options, Spec

pytestmark = pytest.mark.long

PLAYERS = 2_000


def test_a_ladder_of_two_thousand_is_paired_within_a_second() -> None:
    options = Options(validation=False, duration_ms=1_000_000_000)
    spec = Spec("test", Format.LADDER, ("hop-it",), "1s", paired=False, options=options)
    lots = random.Random(1)
    tournament = TournamentRun(spec, PLAYERS, lots).tournament
    players = list(tournament.players)
    strengths = {player: Strength(lots.gauss(0, 300), 50) for player in players}
    pairer = formats.of(tournament.spec)
    pairer.propose(tournament, FreePlayers(players[:30], {}, strengths))  # imports its modules
    began = process_time()
    proposal = pairer.propose(tournament, FreePlayers(players, {}, strengths))
    took = process_time() - began
    assert proposal is not None
    assert len({player for pair in proposal.pairs for player in (pair.first, pair.second)}) == PLAYERS
    apart = [abs(strengths[pair.first].rating - strengths[pair.second].rating) for pair in proposal.pairs]
    assert sum(apart) / len(apart) < 5, "neighbours by rating meet"
    assert took < 2, "0.3 s on a quiet machine"


def test_a_player_without_an_opponent_in_one_part_gets_one_in_the_next() -> None:
    """Players 390 to 399 never meet each other, and no part has a partner for all of them."""
    players = [f"p{number:03}" for number in range(800)]

    def weight(first: str, second: str) -> float | None:
        return None if "p390" <= first < second < "p400" else 1.0

    pairs = matched(players, weight)
    assert len(pairs) == 400
    assert all(weight(*pair) for pair in pairs)
