"""Opening lines in a file of their own."""

from __future__ import annotations

from pathlib import Path

import arbiter_client as arb
import pytest

from arbiter.cli.failure import Failure
from arbiter.cli.tournament_spec import read_all

SPEC = """
name = "cup"
format = "round_robin"
games = ["pods", "hop-it"]
time = "1m"
[openings]
file = "lines.txt"
"""


def write(folder: Path, spec: str, lines: str | None) -> Path:
    """Write a specification and its openings; return the specification."""
    if lines is not None:
        (folder / "lines.txt").write_text(lines)
    (folder / "cup.toml").write_text(spec)
    return folder / "cup.toml"


def test_lines_come_from_a_file_beside_the_specification(tmp_path: Path) -> None:
    lines = "# two games\npods a1 b2  # a corner\n\nhop-it a2xc3\npods c3\n"
    assert read_all(write(tmp_path, SPEC, lines)).tournament.openings.lines == (
        arb.OpeningLine("pods", ("a1", "b2")),
        arb.OpeningLine("pods", ("c3",)),
        arb.OpeningLine("hop-it", ("a2xc3",)),
    )


@pytest.mark.parametrize(
    ("spec", "lines", "complaint"),
    [
        (SPEC, None, "can't read the openings in .*lines.txt: No such file"),
        (SPEC, "# nothing\n", "holds no openings"),
        (SPEC, "pods a1\nhop-it\n", "lines.txt, line 2: expected a variant and its moves"),
        (SPEC, "pods nonsense\n", r"openings\.lines.*'nonsense'.*legal moves"),
        (SPEC, "ludo e4\n", "ludo"),
        (SPEC + "lines = { pods = ['a1'] }\n", "pods a1\n", r"openings\.file.*no lines beside it"),
        (SPEC.replace('"lines.txt"', "7"), "pods a1\n", r"openings\.file.*the path of a file"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, spec: str, lines: str | None, complaint: str) -> None:
    with pytest.raises(Failure, match=complaint):
        read_all(write(tmp_path, spec, lines))
