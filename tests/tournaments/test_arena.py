"""An arena lets everybody meet everybody: no pair plays again and again while others are there."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterable, Mapping, Sequence

import pytest

from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments import events as ev
from arbiter.tournaments.checker import violations
from arbiter.tournaments.commands import Arrange
from arbiter.tournaments.evolution import replay
from arbiter.tournaments.formats import FreePlayers, arena, of
from arbiter.tournaments.meetings import ScheduledGame
from arbiter.tournaments.spec import EntryRules, Format, Options, Spec
from arbiter.tournaments.tournament import Tournament

SECOND = 1_000
SPEEDS = (1, 1, 2, 2, 4, 4, 8, 8)  #: a game takes the sum of both, in seconds, half of that to half more


def arena_of(players: int, *never: tuple[str, str], duration_s: int = 300, paired: bool = False) -> TournamentRun:
    options = Options(duration_ms=duration_s * SECOND)
    entry = EntryRules(forbidden=never)
    spec = Spec("test", Format.ARENA, ("hop-it",), "1s", paired=paired, options=options, entry=entry)
    return TournamentRun(spec, players, random.Random(players))


def lasting(seed: int, speeds: Sequence[float]) -> Callable[[ScheduledGame], int]:
    lots = random.Random(seed)

    def length(game: ScheduledGame) -> int:
        both = sum(speeds[int(player[1:]) % len(speeds)] for player in (game.seat1, game.seat2))
        return int(both * lots.uniform(500, 1_500))

    return length


def rematches(tournament: Tournament) -> int:
    last: dict[str, str] = {}
    found = 0
    for meeting in tournament.meetings:
        found += last.get(meeting.first) == meeting.second or last.get(meeting.second) == meeting.first
        last |= {meeting.first: meeting.second, meeting.second: meeting.first}
    return found


@pytest.mark.parametrize("paired", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize("speeds", [(2.5,), SPEEDS])
@pytest.mark.parametrize("players", [3, 4, 5, 6, 8])
def test_everybody_meets_everybody_and_nobody_twice_in_a_row(
    players: int, speeds: tuple[float, ...], paired: bool
) -> None:
    seconds = 600 if paired else 300
    run = arena_of(players, paired=paired, duration_s=seconds)
    run.play_free(seconds * SECOND, lasting(1, speeds))
    assert len(run.tournament.met) >= players * (players - 1) / 2 - (players > 6), "two slow ones may miss each other"
    assert rematches(run.tournament) <= 1
    assert violations(run.log) == []
    assert replay(run.log).ends == run.tournament.ends


def test_two_players_alone_meet_again_at_once() -> None:
    run = arena_of(2)
    run.play_free(100 * SECOND, lambda game: 5 * SECOND)
    assert len(run.tournament.meetings) == 20
    assert violations(run.log) == []


def test_two_players_do_not_wait_for_a_very_long_game_of_others() -> None:
    """Nobody's meetings took long until theirs ended: so they wait ten seconds, and later twice five seconds."""
    run = arena_of(4)
    run.play_free(100 * SECOND, lambda game: (5 if game.number != 2 else 1_000) * SECOND)
    assert [event.at for event in run.log if isinstance(event, ev.Paired)] == [n * 15 * SECOND for n in range(7)]
    assert violations(run.log) == []


def test_they_wait_longer_where_meetings_take_longer() -> None:
    run = arena_of(4, duration_s=400)
    run.play_free(400 * SECOND, lambda game: (60 if game.number != 2 else 1_000) * SECOND)
    assert [event.at for event in run.log if isinstance(event, ev.Paired)] == [0, 180 * SECOND, 360 * SECOND]


def test_nobody_waits_who_could_meet_no_other() -> None:
    """Two bots of one author each: the first two and the last two must not meet, nor may p000 meet p003."""
    alone = arena_of(4, ("p000", "p001"), ("p000", "p003"), ("p001", "p002"), ("p002", "p003"))
    alone.play_free(100 * SECOND, lambda game: (5 if "p000" in (game.seat1, game.seat2) else 9) * SECOND)
    assert len(alone.tournament.meetings_of["p000"]) == 20
    assert violations(alone.log) == []


def test_nobody_waits_for_a_player_who_has_withdrawn_and_plays_its_last_game() -> None:
    run = arena_of(4)
    run.play_free(SECOND, lambda game: 5 * SECOND)
    pairer = of(run.tournament.spec)
    (first, second), others = run.tournament.meetings[0][2:4], run.tournament.meetings[1][2:4]
    run.now = 5 * SECOND
    run.finish(1)
    free = FreePlayers((first, second), now=run.now)
    assert pairer.propose(run.tournament, free) is None
    for player in others:
        run.withdraw(player)
    assert pairer.propose(run.tournament, free) is not None


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 1, pytest.param(2, marks=pytest.mark.soak)])
def test_arenas_in_which_players_come_and_go_are_paired_by_the_rules(seed: int) -> None:
    lots = random.Random(seed)
    run = arena_of(6 + seed, ("p000", "p001"), ("p002", "p003"), duration_s=900)
    for minute in range(1, 16):
        run.play_free(minute * 60 * SECOND, lasting(minute, SPEEDS))
        if lots.random() < 0.5:
            run.withdraw(lots.choice(run.tournament.players))
        run.enter(f"p{10 + minute:03}")
    assert violations(run.log) == []
    assert len(run.tournament.meetings) > 200


def _at_once(tournament: Tournament, field: FreePlayers) -> frozenset[frozenset[str]]:
    return frozenset()


def test_the_checker_finds_an_arena_that_pairs_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it was before the rules: whoever is free is paired at once. With six players, it is always the same three."""
    monkeypatch.setattr(arena, "_too_soon", _at_once)
    run = arena_of(6)
    run.play_free(60 * SECOND, lasting(1, SPEEDS))
    assert len(run.tournament.met) == 3
    again = [text for text in violations(run.log) if "too soon" in text]
    assert len(again) == rematches(run.tournament) > 10
    old = [dataclasses.replace(each, rules="") if isinstance(each, ev.Started) else each for each in run.log]
    assert violations(old) == [], "an arena that was played before these rules is legal by the earlier ones"


@pytest.mark.parametrize("weight", [0.0, -1_000_000.0])
def test_the_checker_finds_pairs_that_have_met_too_often(monkeypatch: pytest.MonkeyPatch, weight: float) -> None:
    monkeypatch.setattr(arena, "MET", weight)
    run = arena_of(7)
    run.play_free(300 * SECOND, lasting(1, SPEEDS))
    assert any("would have been better" in text for text in violations(run.log))


def test_the_checker_finds_players_of_other_scores_than_others_have(monkeypatch: pytest.MonkeyPatch) -> None:
    def turned(tournament: Tournament, players: Iterable[str]) -> Mapping[str, int]:
        return {player: -7 * score * score for player, score in scores(tournament, players).items()}

    scores = arena.arena_scores
    monkeypatch.setattr(arena, "arena_scores", turned)
    run = arena_of(7)
    run.play_free(300 * SECOND, lasting(1, SPEEDS))
    found = violations(run.log)
    assert found
    assert all("would have been better" in text for text in found)


def test_the_checker_finds_players_who_were_left_over(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = arena.Arena.propose

    def first_pair(self: arena.Arena, tournament: Tournament, field: FreePlayers) -> Arrange | None:
        found = whole(self, tournament, field)
        return None if found is None else dataclasses.replace(found, pairs=found.pairs[:1])

    monkeypatch.setattr(arena.Arena, "propose", first_pair)
    run = arena_of(6)
    run.play_free(20 * SECOND, lasting(1, SPEEDS))
    assert any("were free, and were not paired" in text for text in violations(run.log))
