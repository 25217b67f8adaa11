"""The reference of the tournament file lists every field, its page is fresh, and its ranges are those that are
enforced."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from arbiter.cli import tournament_reference as reference
from arbiter.cli.failure import Failure
from arbiter.cli.tournament_spec import read_all
from tests.cli.command import Arbiter

PAGE = Path(__file__).parents[2] / "deploy" / "TOURNAMENT-FILE.md"
FILE = 'name = "Cup"\nformat = "{format}"\ngames = ["pods"]\ntime = "1m"\n'


def test_it_lists_every_field_that_is_read_and_no_other() -> None:
    assert set(reference.MEANINGS) == set(reference.known_places())
    assert set(reference.ALLOWED) <= set(reference.MEANINGS)


def test_the_page_is_the_output_of_the_command(arbiter: Arbiter) -> None:
    """After a change: `arbiter tournament reference > deploy/TOURNAMENT-FILE.md`."""
    assert arbiter("tournament", "reference").out == PAGE.read_text(encoding="utf-8")


RANGES = [
    (place, int(found[1]), int(found[2]))
    for place in reference.MEANINGS
    if (found := re.fullmatch(r"(-?\d+) to (\d+)", reference.allowed(place))) and not place.startswith("bots.")
]


@pytest.mark.parametrize(("place", "low", "high"), RANGES, ids=[place for place, *_ in RANGES])
def test_a_value_out_of_range_is_refused_with_its_line(tmp_path: Path, place: str, low: int, high: int) -> None:
    section, _, name = place.rpartition(".")
    file = tmp_path / "cup.toml"
    for value in (low - 1, high + 1):
        header = f"[{section}]\n" if section else ""
        file.write_text(f"{FILE.format(format='round_robin')}{header}{name} = {value}\n")
        with pytest.raises(Failure, match=rf"cup\.toml, line {6 if section else 5} \({re.escape(place)}\)"):
            read_all(file)


def test_an_unknown_key_is_refused_with_its_name_and_line(tmp_path: Path) -> None:
    file = tmp_path / "cup.toml"
    for section in ("", *reference.SECTIONS, "policy", "sandbox"):
        header = f"[{section}]\n" if section else ""
        file.write_text(f"{FILE.format(format='round_robin')}{header}nonsense = 1\n")
        place = f"{section}.nonsense" if section else "nonsense"
        with pytest.raises(Failure, match=rf"cup\.toml, line {6 if section else 5} \({re.escape(place)}\)"):
            read_all(file)
