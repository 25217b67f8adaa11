"""A ladder gives all connected players a fair share of games, and its pairs give more information than random ones."""

from __future__ import annotations

import heapq
import random
from collections import Counter

import pytest

from arbiter.bench import pairing
from arbiter.testing.tournaments import TournamentRun
from arbiter.tournaments import commands as do
from arbiter.tournaments import formats
from arbiter.tournaments.game_ends import Winner
from arbiter.tournaments.spec import Format, Options, Spec

pytestmark = pytest.mark.long

SPEEDS = (1, 1, 2, 2, 4, 4, 8, 8)  #: seconds that each of eight bots needs for a game; a game takes the sum of both


def ladder(players: int, seed: int) -> TournamentRun:
    options = Options(validation=False, duration_ms=1_000_000_000)
    spec = Spec("test", Format.LADDER, ("hop-it",), "1s", paired=False, options=options)
    return TournamentRun(spec, players, random.Random(seed))


def evening(seed: int, seconds: int, late: bool = False) -> Counter[str]:
    """Let bots of unequal speed play for this long; return each bot's number of games, and a latecomer's separately."""
    tournament_run, lots, shares = ladder(len(SPEEDS), seed), random.Random(seed), formats.Shares()
    tournament, pairer = tournament_run.tournament, formats.of(tournament_run.tournament.spec)
    since: dict[str, int] = {}
    under_way: list[tuple[int, int]] = []
    while tournament_run.now < seconds * 1_000:
        if late and "p008" not in tournament.entrants and tournament_run.now > seconds * 500:
            tournament_run.enter("p008")
        busy, present = tournament.busy(), tournament.players
        since = {player: since.get(player, tournament_run.now) for player in present if player not in busy}
        games = {player: len(tournament.meetings_of[player]) for player in present}
        ahead = shares.ahead(pairer.sharing(tournament, present), games)
        proposal = pairer.propose(tournament, formats.FreePlayers(list(since), since, {}, tournament_run.now, ahead))
        if proposal is not None:
            tournament_run.act(proposal)
        for game in tournament.ready():
            tournament_run.act(do.Begin(game.number, 1, f"m{game.number}"))
            speed = sum(([*SPEEDS, 1])[int(player[1:])] for player in (game.seat1, game.seat2))
            heapq.heappush(under_way, (tournament_run.now + int(speed * lots.uniform(500, 1_500)), game.number))
        due = tournament_run.now + 1_000
        while under_way and under_way[0][0] <= due:
            tournament_run.now, number = heapq.heappop(under_way)
            winner: Winner = lots.choice((0, 1, 2))
            tournament_run.act(do.ReportResult(number, f"m{number}", winner, "by lot", "rules"))
            due = tournament_run.now
        tournament_run.now = max(tournament_run.now, due)
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
