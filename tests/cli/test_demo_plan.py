"""What a demo plays, where it keeps it, and how it counts it: all without a process."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import arbiter_client as arb
import pytest

from arbiter.cli.demo import folder as folders
from arbiter.cli.demo.folder import Terms
from arbiter.cli.demo.plan import PLAYERS, Fixture, canonical, plan
from arbiter.cli.demo.progress import Progress
from arbiter.cli.demo.report import ratings
from arbiter.cli.demo.screen import elapsed, end, state
from arbiter.cli.failure import Failure
from arbiter.errors import OperatorError, Refusal
from arbiter.games.registry import BUNDLED
from arbiter.matches.time_control import parse


def ended(winner: int, reason: str = "extinction", cause: arb.Cause = arb.Cause.RULES) -> arb.Result:
    kind = arb.ResultKind.WIN if winner else arb.ResultKind.DRAW
    return arb.Result(kind, winner, reason, cause, arb.Party.PLAYERS, 0, "")


VOID = arb.Result(arb.ResultKind.VOID, 0, "arbiter_fault", arb.Cause.ARBITER, arb.Party.ARBITER, 0, "")


def test_everybody_meets_everybody_twice_in_every_game_once_in_each_seat():
    fixtures = plan(canonical(()), 2)
    assert {fixture.game for fixture in fixtures} == set(BUNDLED)
    meetings = Counter((fixture.game, fixture.seat1, fixture.seat2) for fixture in fixtures)
    assert set(meetings.values()) == {1}
    assert len(meetings) == len(BUNDLED) * len(PLAYERS) * (len(PLAYERS) - 1)


def test_a_plan_is_the_same_every_time_and_its_request_ids_are_unique():
    fixtures = plan(canonical(()), 2)
    assert fixtures == plan(canonical(()), 2)
    ids = [fixture.request_id(attempt) for fixture in fixtures for attempt in (1, 2, 3)]
    assert len(set(ids)) == len(ids)
    assert fixtures[0].request_id(1) == f"demo/{fixtures[0].game}/1/1"


def test_a_long_variant_still_has_request_ids_of_its_own():
    first, second = (Fixture("pods(" + "x" * 100 + end + ")", 1, 1, "a", "b", "1s") for end in "yz")
    assert first.request_id(1) != second.request_id(1)
    assert len(first.request_id(1000)) <= 100


def test_rounds_come_in_order_and_all_games_begin_early():
    fixtures = plan(canonical(()), 2)
    assert {fixture.game for fixture in fixtures[: len(BUNDLED)]} == set(BUNDLED)
    for game in BUNDLED:
        rounds = [fixture.round for fixture in fixtures if fixture.game == game]
        assert rounds == sorted(rounds)


def test_every_game_has_a_time_control_and_one_may_be_given_for_all():
    assert all(str(parse(fixture.time)) == fixture.time for fixture in plan(canonical(()), 1))
    assert {fixture.time for fixture in plan(canonical(()), 1, "60s")} == {"1m"}


def test_variants_are_named_canonically_and_once():
    assert canonical(["pods(size=5)", "pods( size=5)".replace(" ", ""), "hop-it"]) == ("pods(size=5)", "hop-it")


@pytest.mark.parametrize(("games", "cycles", "time"), [(("pods",), 0, ""), (("pods",), 2, "soon")])
def test_what_can_not_be_played_is_refused(games, cycles, time):
    with pytest.raises(Refusal):
        plan(games, cycles, time)


def test_too_many_cycles_are_refused():
    with pytest.raises(OperatorError, match="at most 100"):
        plan(("pods",), 101)


def test_runs_are_numbered_and_none_is_used_again(tmp_path: Path):
    terms = Terms(("hop-it",), 1, "")
    first, second = folders.begin(tmp_path, terms), folders.begin(tmp_path, terms)
    assert (first.name, second.name) == ("run-1", "run-2")
    assert folders.newest(tmp_path) == second
    assert second.terms() == terms
    assert second.terms().fixtures() == plan(("hop-it",), 1)


def test_a_run_is_played_by_one_process_at_a_time(tmp_path: Path):
    folder = folders.begin(tmp_path, Terms(("hop-it",), 1, ""))
    with folder.held(), pytest.raises(Failure, match="being played"), folder.held():
        pass
    with folder.held():
        pass  # it is free again


def test_without_a_run_there_is_nothing_to_go_on_with(tmp_path: Path):
    for directory in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(Failure, match="no run in"):
            folders.newest(directory)


def test_a_plan_that_is_none_is_named(tmp_path: Path):
    folder = folders.begin(tmp_path, Terms(("hop-it",), 1, ""))
    (folder.path / "plan.json").write_text("{}")
    with pytest.raises(Failure, match="does not say what to play"):
        folder.terms()


def test_transcripts_of_variants_have_folders_that_any_shell_takes(tmp_path: Path):
    fixture = Fixture("pods(size=5,shape=hex)", 1, 2, "mcts", "wire", "1s")
    file = folders.Folder(tmp_path).transcript(fixture)
    assert file == tmp_path / "transcripts" / "pods-size-5-shape-hex" / "round-1-board-2-mcts-wire.jsonl"


def test_progress_counts_what_the_record_says():
    fixtures = plan(("hop-it",), 1)
    progress = Progress(fixtures, "run-1", began_ms=10_000)
    first, second = fixtures[:2]
    progress.begin(first, "m1")
    progress.begin(second, "m2")
    for ply, at_ms in ((1, 9_000), (2, 10_500), (3, 11_000)):
        progress.moved("m1", ply, at_ms)
    assert (progress.moves, progress.moves_now) == (3, 2)
    assert progress.moves_a_second(12_000) == 1.0
    assert progress.moves_a_second(20_000) == 0.0
    played = progress.end(first, "m1", ended(1))
    assert played is not None
    assert end(played) == f"hop-it: {first.seat1} 1–0 {first.seat2}, extinction, 3 plies"
    assert progress.end(second, "m2", VOID) is None
    assert (len(progress.played), progress.void, progress.under_way) == (1, 1, {})
    assert state(progress, 20_000) == "1 of 6 games ended, 0 under way, 3 moves, 0 a second"
    assert elapsed(progress, 75_500) == "1:05"


def test_a_flag_that_fell_is_worth_a_word():
    fixtures = plan(("hop-it",), 1)
    progress = Progress(fixtures, "run-1", began_ms=0)
    for number, fixture in enumerate(fixtures):
        progress.begin(fixture, str(number))
        progress.end(fixture, str(number), ended(2, "time", arb.Cause.TIME) if number == 4 else ended(0))
    assert [each.match_id for each in progress.not_by_play()] == ["4"]


def test_standings_and_ratings_are_of_the_games_that_count():
    fixtures = plan(("hop-it", "pods"), 2)
    progress = Progress(fixtures, "run-1", began_ms=0)
    for number, fixture in enumerate(fixtures):
        winner = min((fixture.seat1, fixture.seat2), key=PLAYERS.index)
        progress.begin(fixture, str(number))
        progress.end(fixture, str(number), ended(1 if winner == fixture.seat1 else 2))
    assert [row.player for row in progress.table("pods").rows] == list(PLAYERS)
    assert [row.points for row in progress.table().rows] == [24, 16, 8, 0]
    rated = ratings(progress.of("hop-it")).rated
    assert [player.player for player in rated] == list(PLAYERS)
    assert all(player.low < player.rating < player.high and player.games == 6 for player in rated)
