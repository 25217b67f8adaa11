"""An organiser's decision on an old game of a ladder is the same as if the ladder had never dropped a game."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from arbiter.service.record.snapshots import difference
from arbiter.service.tournaments.own_ratings import results_of
from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments import commands as do
from arbiter.tournaments import engine, series_table
from arbiter.tournaments import events as ev
from arbiter.tournaments.corrections import Correction, Disqualify, Forbid, Reinstate, Replay, Results
from arbiter.tournaments.evolution import apply, replay
from arbiter.tournaments.folding import fold, old_games
from arbiter.tournaments.recalling import Recall, Recalled, put_back, want
from arbiter.tournaments.spec import Format, Options, Spec
from arbiter.tournaments.standings import old_rated_games, rated_games, standings
from arbiter.tournaments.state_copy import copied
from arbiter.tournaments.tournament import Tournament
from tests.tournaments.test_folding import few as few
from tests.tournaments.test_folding import with_moves

DECISIONS = {ev.Ruled, ev.Corrected}


def decided(seed: int, parts: int = 16) -> list[ev.Event]:
    """Return the log of a ladder on which an organiser decides about any games and players."""
    lots = random.Random(seed)
    spec = Spec(
        *("a ladder", Format.LADDER, ("hop-it", "pods")[: 1 + seed % 2], "1s"),
        paired=seed % 3 == 0,
        options=Options(validation=seed % 2 == 0),
    )
    run = TournamentRun(spec, 6, lots)
    for number in range(parts):
        run.play_free((number + 1) * 8_000, lambda game: lots.randint(500, 4_000))
        run.versions[f"p{lots.randrange(6):03}"] = f"{number // 4}"
        for more in range(2):
            run.act(decision(run.tournament, lots, f"d{number}.{more}"))
    return [*with_moves(run.log, lots)]


def decision(tournament: Tournament, lots: random.Random, request: str) -> do.Command:
    """Return a ruling or a correction; it may be one that is refused."""
    game, players = lots.choice(sorted(tournament.results)), lots.sample(sorted(tournament.entrants), 2)
    if lots.random() < 0.4:
        points = lots.choice(((1, 1), (2, 0), (0, 0), (), ()))
        ruled = ev.Decision.POINTS if points else lots.choice((ev.Decision.VOID, ev.Decision.STANDS))
        return do.Rule("organiser", request, game, ruled, points, "ruled")
    out: Correction = lots.choice([Disqualify(players[0]), *(Disqualify(players[0], True, each) for each in Results)])
    back: list[Correction] = [Reinstate(each) for each in tournament.disqualified]
    corrections = [Replay(game), Forbid(players[0], players[1], lots.random() < 0.8), *(back[:1] or [out])]
    return do.Correct("organiser", request, lots.choice(corrections), "why")


def recalled(log: list[ev.Event], tournament: Tournament, games: frozenset[int]) -> Recalled:
    """Return old games of a folded tournament from its log, which is read in portions."""
    recall = Recall(want(tournament, games))
    for first in range(0, len(log), 50):
        recall.read(log[first : first + 50])
    return recall.found()


def check_same(short: Tournament, whole: Tournament) -> None:
    """Assert that a folded tournament stands and rates as the whole one, and is equal to it once that is folded."""
    assert standings(short) == standings(whole)
    assert results_of(rated_games(short), old_rated_games(short)) == results_of(rated_games(whole))
    assert series_table.who_played(short) == series_table.who_played(whole)
    assert difference(copied(short), whole) == ""


def steps(log: list[ev.Event]) -> Iterator[tuple[int, Tournament, frozenset[int]]]:
    """Yield how many events a tournament has applied, itself, and the old games of the next event; then put them back.

    It drops old games all the time.
    """
    tournament = replay(log[:1])
    for place, event in enumerate(log[1:], 1):
        games = old_games(tournament, [event])
        yield place, tournament, games
        if games:
            put_back(tournament, recalled(log[:place], tournament, games))
            assert not old_games(tournament, [event])
        apply(tournament, event)
        fold(tournament)
    yield len(log), tournament, frozenset()


@pytest.mark.long
def test_decisions_on_old_games_are_those_on_the_whole_ladder(seeds: int) -> None:
    for seed in range(max(4, seeds // 10)):
        _check_decisions(seed)


def _check_decisions(seed: int) -> None:
    log, about_old = decided(seed), 0
    for place, tournament, games in steps(log):
        about_old += len(games)
        if place % 100 == 0:
            check_same(copied(tournament), replay(log[:place]))
    check_same(tournament, replay(log))
    if seed < 4:
        assert tournament.old.games > len(tournament.games) // 5
        assert about_old > 2
        assert {type(each.what) for each in tournament.corrections} >= {Disqualify, Reinstate, Replay}


def test_old_games_are_put_back_while_the_ladder_goes_on_unless_somebody_decides() -> None:
    log = decided(1)
    quiet = ((n, each) for n, each, _ in steps(log) if each.old and not {*map(type, log[n : n + 3])} & DECISIONS)
    place, tournament = next(quiet)
    game = next(number for number in range(1, 20) if not tournament.games.has(number - 1))
    found = recalled(log[:place], tournament, frozenset({game}))
    for event in log[place : place + 3]:
        apply(tournament, event)
    later = copied(tournament)
    put_back(tournament, found)
    ruling = do.Rule("organiser", "r", game, ev.Decision.VOID)
    [event] = engine.decide(tournament, ruling, tournament.at).events
    apply(tournament, event)
    check_same(tournament, replay([*log[: place + 3], event]))
    apply(later, ev.Corrected(later.at, Disqualify("p002", True, Results.VOID), "", "organiser", "out"))
    put_back(later, found)
    assert not later.games.has(game - 1), "its result may be another one now"
