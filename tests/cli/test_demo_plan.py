"""Which games a demo plays, and how it counts the results: without any process."""

from __future__ import annotations

from pathlib import Path

import arbiter_client as arb
import pytest

from arbiter.cli.bundled_bot import names
from arbiter.cli.demo.plan import BOTS, LADDER_GAMES, DemoSettings, bots, canonical, terms_in
from arbiter.cli.demo.report import rated_games
from arbiter.cli.failure import Failure
from arbiter.errors import Refusal
from arbiter.games.registry import SEED
from arbiter.ratings.counts import RatedGame
from tests.cli.tournament_events import created, ended, progress_of


def test_the_swiss_is_played_in_every_game_and_the_ladder_in_short_ones() -> None:
    terms = DemoSettings(canonical(()))
    swiss, ladder = terms.swiss(), terms.ladder_spec()
    assert (swiss.format, ladder.format) == (arb.TournamentFormat.SWISS, arb.TournamentFormat.LADDER)
    assert set(swiss.games) == set(SEED)
    assert swiss.at_once == len(SEED)
    assert set(ladder.games) == set(LADDER_GAMES)
    assert ladder.options.duration_ms == 10_000
    assert not ladder.options.validation, "a slow bot would spend half of the time in games against itself"
    assert swiss.rated
    assert ladder.rated


def test_one_game_is_played_in_both() -> None:
    terms = DemoSettings(canonical(["pods(size=5)"]), 1, "5s", "1m")
    assert (terms.swiss().games, terms.ladder_spec().games) == (("pods(size=5)",), ("pods(size=5)",))
    assert (terms.swiss().time, terms.ladder_spec().time) == ("1m", "1m")


def test_the_bots_are_bundled() -> None:
    assert [bot.name for bot in bots()] == list(BOTS)
    assert {bot.bundled for bot in bots()} == set(names())


def test_variants_are_named_canonically_and_once() -> None:
    assert canonical(["pods(size=5)", "pods", "pods(size=5)"]) == ("pods(size=5)", "pods")


@pytest.mark.parametrize("more", [{"rounds": 0}, {"rounds": 1000}, {"time": "soon"}, {"ladder": "soon"}])
def test_games_that_no_demo_can_play_are_refused(more: dict[str, object]) -> None:
    terms = DemoSettings(("hop-it",))._replace(**more)  # type: ignore[arg-type]
    with pytest.raises(Refusal):
        (terms.swiss(), terms.ladder_spec())


def test_settings_are_stored_and_a_file_without_them_is_refused(tmp_path: Path) -> None:
    file, terms = tmp_path / "plan.json", DemoSettings(("hop-it", "pods"), 2, "5s", "1s")
    file.write_text(terms.text())
    assert terms_in(file) == terms
    file.write_text("{}")
    with pytest.raises(Failure, match="does not say what to play"):
        terms_in(file)


def test_void_games_and_games_of_a_player_against_itself_are_not_rated() -> None:
    progress = progress_of(
        *(created("m1", "a", "b"), ended("m1", 2)),
        *(created("m2", "a", "a"), ended("m2", 1)),
        *(created("m3", "b", "a"), ended("m3", 0)),
        *(created("m4", "b", "a"), ended("m4", 0, arb.Cause.ABSENCE, arb.ResultKind.VOID, reason="no_show")),
        *(created("m5", "b", "a"), ended("m5", 0, arb.Cause.ABSENCE, arb.ResultKind.VOID, reason="abandonment")),
    )
    assert len(progress.played) == 4
    assert rated_games([progress]) == [RatedGame("a", "b", 2), RatedGame("b", "a", 0)]
