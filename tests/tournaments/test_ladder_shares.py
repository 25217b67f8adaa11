"""A ladder gives all connected players a fair share of games, and its pairs give more information than random ones."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments.meetings import ScheduledGame
from arbiter.tournaments.spec import Format, Options, Spec
from tests.studies import pairing

pytestmark = pytest.mark.long

SPEEDS = (1, 1, 2, 2, 4, 4, 8, 8)  #: seconds that each of eight bots needs for a game; a game takes the sum of both


def ladder(players: int, seed: int) -> TournamentRun:
    options = Options(validation=False, duration_ms=1_000_000_000)
    spec = Spec("test", Format.LADDER, ("hop-it",), "1s", paired=False, options=options)
    lots = random.Random(seed)
    return TournamentRun(spec, players, lots, result=lambda game: lots.choice((0, 1, 2)))


def evening(seed: int, seconds: int, late: bool = False) -> Counter[str]:
    """Let bots of unequal speed play for this long; return each bot's number of games, and a latecomer's separately."""
    tournament_run, lots = ladder(len(SPEEDS), seed), random.Random(seed)

    def length_ms(game: ScheduledGame) -> int:
        speed = sum(([*SPEEDS, 1])[int(player[1:])] for player in (game.seat1, game.seat2))
        return int(speed * lots.uniform(500, 1_500))

    tournament_run.play_free(seconds * 500, length_ms)
    if late:
        tournament_run.enter("p008")
    tournament_run.play_free(seconds * 1_000, length_ms)
    tournament = tournament_run.tournament
    return Counter({player: len(tournament.meetings_of[player]) for player in tournament.entrants})


def test_bots_of_unequal_speed_play_about_equally_often(seeds: int) -> None:
    for seed in range(max(2, seeds // 10)):
        games = evening(seed, 1_200)
        assert min(games.values()) > 50
        assert max(games.values()) <= 1.25 * min(games.values()), games


def test_nobody_waits_until_a_newcomer_has_as_many_games() -> None:
    games, alone = evening(1, 1_200, late=True), evening(1, 600)
    newcomer = games.pop("p008")
    assert newcomer >= 0.8 * (min(games.values()) - max(alone.values())), "the newcomer has its share from then on"
    assert min(games.values()) >= 1.5 * max(alone.values()), "the others have theirs"


@pytest.mark.long
@pytest.mark.parametrize("condition", [each for each in pairing.CONDITIONS if each.players == 12])
def test_its_pairs_give_more_information_than_random_ones_and_those_without_ratings(
    condition: pairing.FieldKind,
) -> None:
    """A few fields suffice: the information of a schedule depends on who meets, and hardly on chance."""
    fields = [pairing.drawn(number, condition) for number in range(5)]
    mine, even, by_lot = (
        [pairing.expected_error(field, pairing.played(field, rule, look_every=5)) for field in fields]
        for rule in (pairing.Rule.LADDER, pairing.Rule.EVEN, pairing.Rule.LOT)
    )
    for other in (even, by_lot):
        found = pairing.ratio(mine, other)
        assert found.value + 2.5 * found.error < 1


@pytest.mark.soak
@pytest.mark.parametrize("condition", pairing.CONDITIONS)
def test_its_pairs_give_better_ratings_than_random_ones_with_equal_games(condition: pairing.FieldKind) -> None:
    """A dozen players all meet each other in any schedule; so there random pairs may be as good."""
    fields = [pairing.drawn(number, condition) for number in range(condition.fields)]
    mine, by_lot = (
        [pairing.error(field, pairing.played(field, rule)) for field in fields]
        for rule in (pairing.Rule.LADDER, pairing.Rule.LOT)
    )
    found = pairing.ratio(mine, by_lot)
    if condition.players == 12:
        assert found.value - 2 * found.error < 1, "no worse"
    else:
        assert found.value + 2 * found.error < 1, "better"
