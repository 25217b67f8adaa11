"""A ladder that has dropped its old games stands, rates and pairs like one that has all of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import pytest

from arbiter.service.tournaments.own_ratings import results_of
from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments import events as ev
from arbiter.tournaments import folding, formats, series_table
from arbiter.tournaments.evolution import apply, replay
from arbiter.tournaments.folding import fold
from arbiter.tournaments.formats import FreePlayers
from arbiter.tournaments.spec import Format, Options, Spec, TieBreak
from arbiter.tournaments.standings import old_rated_games, rated_games, standings
from arbiter.tournaments.state_copy import copied
from arbiter.tournaments.tournament import Tournament, TournamentPhase
from arbiter.web.tournament_tables import crosstable

ORDERS = ((), (TieBreak.DIRECT, TieBreak.BUCHHOLZ_CUT_1), (TieBreak.SONNEBORN_BERGER, TieBreak.WINS_SEAT_2))


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ladders keep few games."""
    monkeypatch.setattr(folding, "KEPT", 12)
    monkeypatch.setattr(folding, "AT_ONCE", 3)


def ladder(seed: int, order: tuple[TieBreak, ...] = (), parts: int = 12) -> list[ev.Event]:
    """Return the log of a ladder on which players come, go, change their versions and repeat games."""
    lots = random.Random(seed)
    spec = Spec(
        *("a ladder", Format.LADDER, ("hop-it", "pods")[: 1 + seed % 2], "1s"),
        paired=seed % 3 == 0,
        tie_breaks=order,
        options=Options(validation=seed % 2 == 0),
    )
    run = TournamentRun(spec, 6, lots)
    for number in count(1):
        run.play_free(number * 10_000, lambda game: lots.randint(500, 4_000))
        if number == parts:
            break
        run.versions[f"p{lots.randrange(6):03}"] = f"{number // 4}"
        if number == parts // 3:
            run.withdraw("p001")
        if number == parts // 2:
            run.enter("p001")
            run.enter("late")
    return [*with_moves(run.log, lots)]


def with_moves(log: list[ev.Event], lots: random.Random) -> Iterator[ev.Event]:
    """Yield events in which many games go the same way."""
    for event in log:
        if isinstance(event, ev.EndedGame) and event.match and lots.random() < 0.9:
            yield replace(event, moves=f"{lots.randrange(40):016x}")
        else:
            yield event


def folded(events: list[ev.Event]) -> Tournament:
    """Return the tournament of a log that has dropped old games all the time."""
    tournament = replay(events[:1])
    for event in events[1:]:
        apply(tournament, event)
        fold(tournament)
    return tournament


def proposal(tournament: Tournament) -> object:
    """Return whom the ladder would pair if all were free whom no game keeps."""
    field = [player for player in tournament.players if player not in tournament.busy()]
    return formats.of(tournament.spec).propose(tournament, FreePlayers(field, dict.fromkeys(field, 0), {}, 99_000))


@pytest.mark.parametrize(("seed", "order"), [*enumerate(ORDERS * 2)])
def test_a_ladder_without_its_old_games_is_the_same(seed: int, order: tuple[TieBreak, ...]) -> None:
    events = ladder(seed, order)
    whole, short = replay(events), folded(events)
    assert short.old.games > len(whole.games) // 2
    assert short.games.left < folding.KEPT * 2 * len(whole.spec.games) * 2 + 40
    assert standings(short) == standings(whole)
    assert results_of(rated_games(short), old_rated_games(short)) == results_of(rated_games(whole))
    assert series_table.results_of(short, standings(short)) == series_table.results_of(whole, standings(whole))
    names = [*whole.entrants]
    assert crosstable(short, names) == crosstable(whole, names)
    assert proposal(short) == proposal(whole)
    assert (len(short.games), short.games_ended) == (len(whole.games), whole.games_ended)
    assert (short.running, [*short.waiting], [*short.ready()]) == (whole.running, [*whole.waiting], [*whole.ready()])
    for player in names:
        assert short.meetings_played(player) == whole.meetings_played(player)


@pytest.mark.long
def test_what_is_left_of_an_old_ladder_does_not_grow() -> None:
    early, late = (folded(ladder(1, parts=parts)) for parts in (12, 30))
    assert late.games_ended > 2 * early.games_ended
    for name in ("results", "as_played", "changed", "attempts", "ends"):
        assert len(vars(late)[name]) < len(vars(early)[name]) + 10, name
    assert late.meetings.left < early.meetings.left + 10


def test_the_original_keeps_what_its_copy_drops() -> None:
    whole = replay(ladder(2))
    games, twin = whole.games.left, copied(whole)
    fold(twin)
    assert twin.old.games
    assert (whole.games.left, whole.old.games) == (games, 0)


def test_what_an_organiser_has_ruled_on_stays_and_an_old_game_needs_the_whole_ladder() -> None:
    events = ladder(1)
    ended = [event.game for event in events if isinstance(event, ev.EndedGame)]
    ruling = ev.Ruled(events[-1].at, ended[3], ev.Decision.POINTS, (1, 1), "", "organiser", "r")
    whole = replay([*events, ruling])
    fold(whole)
    assert whole.results[ended[3]].ruling
    assert ended[4] not in whole.results
    assert whole.has_result(ended[4])
    short = folded(events)
    with pytest.raises(LookupError):
        apply(short, ruling)


@pytest.mark.parametrize(
    "spec",
    [
        Spec("rounds", Format.ROUND_ROBIN, ("hop-it",), "1s", options=Options(cycles=4)),
        Spec("arena", Format.ARENA, ("hop-it",), "1s", options=Options(duration_ms=20_000)),
        Spec("progress", Format.LADDER, ("hop-it",), "1s", tie_breaks=(TieBreak.PROGRESSIVE,)),
    ],
)
def test_others_keep_every_game(spec: Spec) -> None:
    run = TournamentRun(spec, 6, random.Random(1))
    for _ in range(200):
        run.step()
        fold(run.tournament)
    assert run.tournament.phase in (TournamentPhase.RUNNING, TournamentPhase.ENDED)
    assert len(run.tournament.games) > folding.KEPT + folding.AT_ONCE
    assert not run.tournament.old
