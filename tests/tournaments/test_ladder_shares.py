"""A ladder gives all who are there a fair share of the games, and its pairs tell more than random ones."""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from math import exp

import pytest

from arbiter.ratings.counts import Counts
from arbiter.ratings.counts import Game as Played
from arbiter.ratings.fit import fit
from arbiter.testing.tournaments import TournamentRun
from arbiter.tournaments import commands as do
from arbiter.tournaments import formats
from arbiter.tournaments.meetings import Winner
from arbiter.tournaments.spec import Format, Options, Spec

SPEEDS = (1, 1, 2, 2, 4, 4, 8, 8)  #: seconds that each of eight bots takes for a game; a game takes both


def ladder(players: int, seed: int) -> TournamentRun:
    options = Options(validation=False, duration_ms=1_000_000_000)
    spec = Spec("test", Format.LADDER, ("hop-it",), "1s", paired=False, options=options)
    return TournamentRun(spec, players, random.Random(seed))


def evening(seed: int, seconds: int, late: bool = False) -> Counter[str]:
    """Let bots of unequal speed play for so long; return how many games each had, with a latecomer's apart."""
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


def test_bots_of_unequal_speed_play_about_as_often(seeds: int) -> None:
    for seed in range(max(2, seeds // 10)):
        games = evening(seed, 1_200)
        assert min(games.values()) > 50
        assert max(games.values()) <= 1.25 * min(games.values()), games


def test_nobody_waits_until_a_newcomer_has_caught_up() -> None:
    games, alone = evening(1, 1_200, late=True), evening(1, 600)
    newcomer = games.pop("p008")
    assert newcomer >= 0.8 * (min(games.values()) - max(alone.values())), "it has its share from then on"
    assert min(games.values()) >= 1.5 * max(alone.values()), "and so have the others"


def error(pairs_of: str, spread: float, seed: int, rounds: int = 16, players: int = 12) -> float:
    """Return the mean error of the ratings, in Elo, after so many rounds of one game a player."""
    lots = random.Random(seed)
    names = [f"p{number:03}" for number in range(players)]
    truth = {name: lots.gauss(0, spread) for name in names}
    tournament_run, played = ladder(players, seed), []
    strengths: Mapping[str, formats.Strength] = {}
    for number in range(rounds):
        for game in _round(tournament_run, pairs_of, strengths, lots):
            chance = 1 / (1 + exp(-(truth[game[0]] - truth[game[1]]) / 173.7))
            played.append(Played(*game, 1 if lots.random() < chance else 2))
        if pairs_of == "ladder" and number % 4 == 3 and number < rounds - 1:
            rated = fit(Counts.of(played, names)).rated
            strengths = {each.player: formats.Strength(each.rating, 100.0) for each in rated}
    mean = sum(truth.values()) / players
    return sum(abs(each.rating - truth[each.player] + mean) for each in fit(Counts.of(played, names)).rated) / players


def _round(
    tournament_run: TournamentRun, pairs_of: str, strengths: Mapping[str, formats.Strength], lots: random.Random
) -> Sequence[tuple[str, str]]:
    tournament = tournament_run.tournament
    if pairs_of == "lot":
        order = lots.sample(tournament.players, len(tournament.players))
        return list(zip(order[::2], order[1::2], strict=True))
    free = tournament.players
    field = formats.FreePlayers(free, dict.fromkeys(free, tournament_run.now), strengths, tournament_run.now)
    proposal = formats.of(tournament.spec).propose(tournament, field)
    assert proposal is not None
    assert len(proposal.pairs) == len(free) // 2
    tournament_run.act(proposal)
    for game in tournament.ready():
        tournament_run.act(do.Begin(game.number, 1, f"m{game.number}"))
        tournament_run.act(do.ReportResult(game.number, f"m{game.number}", 0, "by lot", "rules"))
    return [(pair.first, pair.second) for pair in proposal.pairs]


@pytest.mark.long
def test_its_pairs_rate_better_than_random_ones_at_equal_games(seeds: int) -> None:
    """Few fields only show that the rule is no worse; `make soak` draws enough to show that it is better."""
    fields, ratios = max(3, seeds // 8), []
    for spread in (300.0, 600.0):
        by_lot = sum(error("lot", spread, seed) for seed in range(fields))
        by_rule = sum(error("ladder", spread, seed) for seed in range(fields))
        ratios.append(by_rule / by_lot)
    assert max(ratios) < 1.1, "of the error of random pairs"
    assert fields < 100 or sum(ratios) / 2 < 1
