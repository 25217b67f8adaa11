"""`arbiter bench capacity`: what the model says of measurements that were kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from arbiter.bench.capacity import DESIGNS
from tests.cli.command import Arbiter
from tests.documents import ROOT, block

PAGE = "deploy/CAPACITY.md"
KEPT = ROOT / "deploy" / "cluster.json"


def kept(**spent: tuple[float, float]) -> dict[str, Any]:
    """Return what `arbiter bench cluster` would keep: by number of replicas, their time and PostgreSQL's."""
    figures = []
    for size, pair in spent.items():
        for part, us in zip(("replicas", "postgres"), pair, strict=True):
            figures.append({"key": f"{size}_{part}_us", "value": us})
    return {"bench": "cluster", "figures": figures}


MEASURED = kept(replicas_1=(600, 250), replicas_2=(800, 300), replicas_4=(1_300, 380))


def test_the_command_shows_the_answers_and_what_was_predicted(arbiter: Arbiter, tmp_path: Path) -> None:
    file, picture = tmp_path / "cluster.json", tmp_path / "capacity.svg"
    file.write_text(json.dumps(MEASURED))
    ran = arbiter("bench", "capacity", str(file), "--cores", "8,64", "--svg", str(picture))
    assert ran.code == 0, ran.err
    lines = [line.split("\t") for line in ran.out.splitlines()]
    assert lines[0] == [
        "A move: 600 µs of a replica, 200 µs of each other one, 250 + 50 µs of PostgreSQL. "
        "Wanted: 10,000 moves/s in 100,000 matches."
    ]
    assert [(line[0], line[1]) for line in lines[2:10]] == [
        (cores, design.name) for cores in ("8", "64") for design in DESIGNS
    ]
    assert [line[1:] for line in lines[-2:]] == [["1,200", "1,300", "0.92"], ["400", "380", "1.05"]]
    title = ElementTree.fromstring(picture.read_text()).find("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert title.text == "Moves a second that cores carry, by design"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[1]", "is not what `arbiter bench … --json FILE` keeps"),
        ("{", "is not what `arbiter bench … --json FILE` keeps"),
        ('{"bench": "moves", "figures": []}', "this is not what `arbiter bench cluster --json FILE` keeps"),
        ('{"bench": "cluster", "figures": []}', "has no processor time of 1 replica(s) and PostgreSQL"),
        ('{"bench": "cluster", "figures": [3]}', "is not what `arbiter bench … --json FILE` keeps"),
    ],
)
def test_another_file_is_refused(arbiter: Arbiter, tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(content)
    ran = arbiter("bench", "capacity", str(file))
    assert ran.code == 1
    assert said in ran.err


def test_the_page_has_what_the_command_says_and_its_picture(arbiter: Arbiter, tmp_path: Path) -> None:
    text, picture = (ROOT / PAGE).read_text(encoding="utf-8"), tmp_path / "capacity.svg"
    program, *words = block(PAGE, "arbiter bench capacity").replace("cluster.json", str(KEPT)).split()
    assert program == "arbiter"
    ran = arbiter(*words, "--svg", str(picture))
    assert ran.code == 0, ran.err
    rows = [line.split("\t") for line in ran.out.splitlines() if "\t" in line]
    assert len(rows) == 2 + 2 * len(DESIGNS) + 5
    shown = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")
    ]
    assert [row for row in rows if row not in shown] == []
    fresh = "run arbiter bench capacity deploy/cluster.json --svg deploy/pictures/capacity.svg"
    assert fresh.removeprefix("run ") in text
    assert (ROOT / "deploy/pictures/capacity.svg").read_text(encoding="utf-8") == picture.read_text(), fresh
