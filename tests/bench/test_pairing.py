"""The benchmark of a ladder's pairings: the rows of its table, and how its figures are computed."""

from __future__ import annotations

import pytest

from arbiter.ratings.counts import RatedGame
from tests.studies import pairing
from tests.studies.__main__ import main


@pytest.mark.long
def test_the_table_has_a_row_for_each_condition(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    conditions = [pairing.FieldKind(4, 300, 9), pairing.FieldKind(6, 600, 1)]
    monkeypatch.setattr(pairing, "CONDITIONS", conditions)
    monkeypatch.setattr(pairing, "ROUNDS", 2)
    assert main(["pairing", "2"]) == 0
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("|")][2:]
    assert [row[:3] for row in rows] == [["| 4", "300", "2"], ["| 6", "600", "1"]]
    assert all(cell.endswith(("%", "% |")) and "±" in cell for row in rows for cell in row[3:])


def test_a_number_of_fields_is_from_1() -> None:
    assert main(["pairing", "0"]) == main(["pairing", "many"]) == main(["pairing", "1", "2"]) == 2


def test_games_of_equal_players_give_more_information_than_those_of_unequal_ones() -> None:
    truth = {f"p{number:03}": strength for number, strength in enumerate((-300.0, -300.0, 300.0, 300.0))}
    field = pairing.Field(1, 300.0, truth)
    near, far = ([RatedGame("p000", other, 1)] * 8 for other in ("p001", "p002"))
    assert pairing.expected_error(field, near) < pairing.expected_error(field, far)
    assert pairing.expected_error(field, far) < pairing.expected_error(field, [])


def test_the_error_of_a_ratio_is_zero_if_all_fields_have_the_same() -> None:
    assert pairing.ratio([2.0, 4.0], [4.0, 8.0]) == pairing.Ratio(0.5, 0.0)
    assert pairing.ratio([2.0, 6.0], [4.0, 8.0]).error > 0
