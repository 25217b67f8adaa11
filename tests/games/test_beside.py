"""Random games have the same moves and ends by the rules of others: see `tests.games.beside`."""

from __future__ import annotations

from pathlib import Path
from random import Random
from time import monotonic

import pytest

from tests.games import beside
from tests.games.beside import BESIDE, Beside, Notes, go_on, played


@pytest.mark.long
@pytest.mark.parametrize("name", BESIDE)
def test_random_games_are_those_of_another_implementation(name: str, seeds: int) -> None:
    compared = BESIDE[name]
    happened: set[str] = set()
    for seed in range(compared.of_a_seed * seeds if seeds > 20 else compared.few):
        happened |= played(name, seed)
    assert happened >= compared.happens


def test_parts_add_up_and_a_difference_is_named_by_its_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rolled = list[float]()

    def play(dice: Random) -> set[str]:
        rolled.append(dice.random())
        assert len(rolled) != 8, "a move"
        return {"won"}

    monkeypatch.setitem(beside.BESIDE, "hex", Beside("another", play, 1, frozenset()))
    path, later = tmp_path / "beside.json", monotonic() + 1_000_000
    assert "seeds 0 to 4 agree with another (won 5); 5 of them now" in go_on("hex", 5, later, Notes(path))
    assert "seeds 0 to 6 agree with another (won 7); 2 of them now" in go_on("hex", 7, later, Notes(path))
    assert len({*rolled}) == 7
    assert "0 of them now" in go_on("hex", 9, monotonic() - 1, Notes(path))
    with pytest.raises(SystemExit, match="hex: seed 7 differs: a move"):
        go_on("hex", 9, later, Notes(path))
    assert Notes(path).of("hex") == {"games": 7, "won": 7}
