"""The benchmark of bots gives points to the right player; its command line refuses impossible values."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from arbiter.games import registry
from arbiter.games.contract import AnyGame
from tests.studies.strength import PLAYERS, Choose, Score, StrengthPlan, bench_strength, contest, settings


def first_win(game: AnyGame, dice: Random, move_s: float) -> Choose:
    """Play a winning move if there is one, else any move."""

    def choose(line: tuple[str, ...], position: Any) -> str:
        moves = game.moves(position)
        for move in moves:
            outcome = game.play(position, move).outcome
            if outcome is not None and outcome.winner == position.turn:
                return move
        return dice.choice(moves)

    return choose


def test_the_points_are_those_of_the_first_player() -> None:
    game = registry.game("circle-of-life(target=1)")
    there = contest(game, first_win, PLAYERS["random"], 20, 0.0)
    back = contest(game, PLAYERS["random"], first_win, 20, 0.0)
    assert there.games == back.games == 20
    assert there.share > 0.7
    assert back.share < 0.3


def test_the_interval_is_wilsons() -> None:
    assert Score(8, 0, 2, 1.0).interval == pytest.approx((0.490, 0.943), abs=0.001)  # 8 of 10, as in published tables
    assert Score(40, 0, 0, 1.0).interval == pytest.approx((0.912, 1.0), abs=0.001)
    assert Score(1, 2, 1, 1.0).share == 0.5


def test_a_row_for_each_variant() -> None:
    written: list[str] = []
    bench_strength(written.append, StrengthPlan("mcts", "greedy", 2, 1, ("circle-of-life(target=1)", "pods(size=3)")))
    text = "".join(written)
    assert text.startswith("mcts against greedy: 2 games, 1 ms a move")
    assert [line.split()[0] for line in text.splitlines()[4:]] == ["circle-of-life(target=1)", "pods(size=3)"]


def test_the_command_line_says_what_is_played(capsys: pytest.CaptureFixture[str]) -> None:
    assert settings([]).variants == tuple(registry.SEED)
    assert settings(["--second", "random", "--games", "4", "pods(size=5)"]) == StrengthPlan(
        "mcts", "random", 4, 50, ("pods(size=5)",)
    )
    for wrong in (["ludo"], ["--games", "0"], ["--first", "nobody"]):
        with pytest.raises(SystemExit) as done:
            settings(wrong)
        assert done.value.code == 2
    assert "there is no game 'ludo'" in capsys.readouterr().err
