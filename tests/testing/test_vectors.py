"""The shared vectors are those that the arbiter's own code writes, and cover what they should."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from arbiter.errors import Reason
from arbiter.games import registry
from tests.generators.vectors import files, meals
from tests.generators.vectors.__main__ import main
from tests.generators.vectors.layout import laid_out

ROOT = Path(__file__).parent.parent.parent
VECTORS = ROOT / "clients" / "vectors"
GOLDEN = ROOT / "tests" / "golden"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder to which the command wrote the vectors."""
    folder = tmp_path_factory.mktemp("vectors")
    (folder / files.KEPT).write_text("by hand")
    (folder / "old.json").write_text("{}")
    (folder / "lines.json").write_bytes((VECTORS / "lines.json").read_bytes())
    assert main([str(folder), str(GOLDEN)]) == 0
    return folder


def load(name: str) -> Any:
    return json.loads((VECTORS / name).read_text("utf-8"))


@pytest.mark.long
def test_the_vectors_are_up_to_date(made: Path) -> None:
    found, kept = ({path.relative_to(top) for path in top.rglob("*.json*")} for top in (made, VECTORS))
    assert found == kept, "the list of files changed: run make golden, and review the difference"
    for path in found:
        assert (made / path).read_bytes() == (VECTORS / path).read_bytes(), (
            f"{path} changed: run make golden, and review the difference"
        )


@pytest.mark.long
def test_stale_files_are_removed_and_handwritten_ones_kept(made: Path) -> None:
    assert not (made / "old.json").exists()
    assert (made / files.KEPT).read_text() == "by hand"


@pytest.mark.parametrize("arguments", [[], ["no such folder"], ["clients", "tests", "more"]])
def test_wrong_arguments_print_the_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert "usage: " in capsys.readouterr().err


def test_every_reason_is_among_the_refusals() -> None:
    refusals = load("refusals.json")
    for key in ("messages", "statuses"):
        assert {row["expected"].get("reason") for row in refusals[key]} >= {*Reason, "UNKNOWN"}


def test_every_kind_of_item_is_among_the_items() -> None:
    kinds = {item["kind"] for row in load("items.json") for item in row["expected"]}
    assert kinds == {
        *("hello", "match", "turn", "answer", "ended", "draw_offered", "challenge", "challenge_closed"),
        *("ping", "notice", "seek", "tournament"),
    }


@pytest.mark.parametrize("game", registry.SEED)
def test_every_kind_of_end_is_in_a_line_of_the_game(game: str) -> None:
    vectors = load(f"positions/{game}.json")
    facts = registry.classes()[game].facts
    ends = {ply["outcome"]["reason"] for line in vectors["lines"] for ply in line["plies"] if ply["outcome"]}
    claims = {ply["draw_claim"] for line in vectors["lines"] for ply in line["plies"]} - {""}
    assert ends == {reason.name for reason in facts.reasons} - (claims - ends)
    assert {row["reason"] for row in vectors["refused_moves"]} == {"MOVE_MALFORMED", "MOVE_ILLEGAL"}
    assert {row["reason"] for row in vectors["positions"]} == {"", "POSITION_MALFORMED"}
    assert {row["reason"] for row in vectors["variants"]} == {"", "GAME_UNKNOWN", "PARAMETER_INVALID"}
    assert len(vectors["lines"]) == len({line["name"] for line in vectors["lines"]})


def test_each_species_meets_each_other() -> None:
    turns = load("positions/circle-of-life.json")["turns"]
    assert len({turn["name"] for turn in turns}) == len(turns) == 144
    assert sum(turn["after"].split()[2:] != ["0", "0"] for turn in turns) == 12
    assert len(list(meals.meals())) == 144


def test_long_values_are_split_over_lines() -> None:
    value = {"b": [{"x": "é" * 60, "y": None}, {"x": "z" * 60}], "a": [1, 2]}
    assert laid_out(value).splitlines()[:3] == ["{", ' "a": [1, 2],', ' "b": [']
    assert json.loads(laid_out(value)) == value
