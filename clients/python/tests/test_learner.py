"""The sample that teaches itself Connect Four: it beats random."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from arbiter_client import cli
from arbiter_client.bots.random import RandomBot
from arbiter_client.local_match import local_match

SAMPLE = Path(__file__).parents[1] / "samples" / "connect_four.py"
GAMES = 2_000  #: in place of the sample's own number, which takes a minute
MATCHES = 40


@pytest.fixture(scope="module")
def sample() -> ModuleType:
    spec = importlib.util.spec_from_file_location("connect_four_sample", SAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.long
def test_it_learns_to_beat_random(sample: ModuleType) -> None:
    learner, scored = sample.Learner(sample.taught(GAMES)), 0.0
    for number in range(MATCHES):
        bots = (learner, RandomBot(number))[:: 1 if number % 2 else -1]
        score = local_match(bots[0], bots[1], sample.GAME).score
        assert score is not None
        scored += score if number % 2 else 1 - score
    assert scored >= 0.9 * MATCHES


def test_the_contents_of_lines_are_those_after_the_moves(sample: ModuleType) -> None:
    env = sample.Environment(sample.GAME, moves="dde")
    lines = sample.contents(env.cells(), env.legal_moves)
    for move, found in zip(env.legal_moves, lines, strict=True):
        after = sample.Environment(sample.GAME, moves=[*env.moves, move])
        owners = after.cells(2)[:, 0]  # of seat 2, which has moved
        assert found.tolist() == [int(owners[cells] @ np.array([1, 3, 9, 27])) for cells in sample.LINES]
    assert sample.LINES.shape == (69, 4)


def test_it_learns_once_its_arguments_are_read_and_keeps_what_it_has_learned(
    sample: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sample, "GAMES", 3)
    with pytest.raises(SystemExit):
        cli.main(sample.learner, argv=["--help"])
    assert "against itself" not in capsys.readouterr().out
    first = sample.learner(1)
    assert capsys.readouterr().out == "playing 3 games against itself: about a minute …\n"
    assert first.tables.weights.any()
    assert (sample.learner(2).tables.weights == first.tables.weights).all()
    assert capsys.readouterr().out == ""
