"""`python -m tests.studies capacity`: what the model says of measurements that were kept."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from arbiter.bench.cluster import new_report
from arbiter.bench.plans import ClusterPlan
from tests.documents import ROOT
from tests.studies import capacity_page
from tests.studies.__main__ import main
from tests.studies.capacity import DESIGNS
from tests.studies.capacity_page import PARTS

PAGE = "deploy/FIGURES.md"
KEPT = ROOT / "deploy" / "cluster.json"


def kept(**spent: tuple[float, float]) -> dict[str, Any]:
    """Return what `arbiter bench cluster` would keep: by number of replicas, their time and PostgreSQL's."""
    figures = []
    for size, pair in spent.items():
        for part, us in zip(("replicas", "postgres"), pair, strict=True):
            figures.append({"key": f"{size}_{part}_us", "value": us})
    return {"bench": "cluster", "figures": figures}


FRESH = "run make capacity"
MEASURED = kept(replicas_1=(600, 250), replicas_2=(800, 300), replicas_4=(1_300, 380))


Study = Callable[..., tuple[int, str, str]]


@pytest.fixture
def study(capsys: pytest.CaptureFixture[str]) -> Study:
    """Run the study; return its exit code and what it writes."""

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["capacity", *arguments])
        return code, *capsys.readouterr()

    return run


@pytest.mark.long
def test_the_command_shows_the_answers_and_what_was_predicted(study: Study, tmp_path: Path) -> None:
    file, picture = tmp_path / "cluster.json", tmp_path / "capacity.svg"
    file.write_text(json.dumps(MEASURED))
    code, out, err = study(str(file), "--cores", "8,64", "--svg", str(picture))
    assert code == 0, err
    lines = [line.split("\t") for line in out.splitlines()]
    assert lines[0] == [
        "A move: 600 µs of a replica, 200 µs of each other one, 250 + 50 µs of PostgreSQL. "
        "Wanted: 10,000 moves/s in 100,000 matches."
    ]
    assert [(line[0], line[1]) for line in lines[2:10]] == [
        (cores, design.name) for cores in ("8", "64") for design in DESIGNS
    ]
    assert [line[0] for line in lines[11:15]] == [design.name for design in DESIGNS]
    assert lines[11][1].startswith("none: at most ")
    assert int(lines[14][1]) >= int(lines[14][2]) > 0, "cores and replicas"
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
def test_another_file_is_refused(study: Study, tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(content)
    code, _, err = study(str(file))
    assert (code, said in err) == (1, True), err


@pytest.mark.long
@pytest.mark.parametrize(
    ("option", "value"), [("--cores", "7"), ("--matches", "70"), ("--observers", "70"), ("--pace", "0.7")]
)
def test_an_option_changes_what_machines_have_to_carry(study: Study, option: str, value: str) -> None:
    assert study(str(KEPT))[1] != study(str(KEPT), option, value)[1]


@pytest.mark.long
def test_the_study_reads_what_is_kept_for_the_page(study: Study) -> None:
    code, out, err = study(str(KEPT))
    assert code == 0, err
    rows = [line for line in out.splitlines() if "\t" in line]
    assert len(rows) == 3 + 3 * len(DESIGNS) + 5


def test_all_tables_of_the_page_come_from_the_file() -> None:
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    assert re.findall(r"<!-- (\w+), from cluster\.json -->", text) == list(PARTS)
    assert capacity_page.page(text, json.loads(KEPT.read_bytes())) == text, FRESH


def test_new_figures_change_the_tables_and_nothing_else(tmp_path: Path) -> None:
    for name in (capacity_page.PAGE, capacity_page.KEPT):
        shutil.copy(ROOT / "deploy" / name, tmp_path / name)
    new = json.loads(KEPT.read_bytes()) | {"date": "2099-12-01"}
    new["plan"] = new_report(ClusterPlan(pairs=7, seconds=2.5)).json()["plan"]
    new["machine"] |= {"processors": 2, "compiled": True, "stolen": 1.5}
    values = {"single_moves_per_s": 1_787, "replicas_1_moves_per_s": 91.3}
    for figure in new["figures"]:
        figure["value"], figure["rounds"] = values.get(figure["key"], figure["value"] / 2), [0.75, 0.998]
    (tmp_path / capacity_page.KEPT).write_text(json.dumps(new))
    assert capacity_page.main([str(tmp_path)]) == 0
    before, after = (
        (folder / capacity_page.PAGE).read_text(encoding="utf-8") for folder in (ROOT / "deploy", tmp_path)
    )
    changed = [[line for line in text.splitlines() if not line.startswith("|")] for text in (before, after)]
    assert changed[0] == changed[1]
    assert "\n| 2099-12-01 | 7 | 2 | 2.5 | 2 | compiled | 1.5 % |\n" in after
    assert "\n| moves a second, players answer at once | 1,787 | 91.3 |" in after


def test_the_file_is_of_as_many_pairs_as_the_command_plays() -> None:
    """A file from before the command kept the plan has none; its page says how many there were."""
    plan = json.loads(KEPT.read_bytes()).get("plan", {})
    assert plan.get("pairs", ClusterPlan().pairs) == ClusterPlan().pairs, "measure again, then run make capacity"


def test_a_report_keeps_the_size_of_its_measurement() -> None:
    kept = new_report(ClusterPlan(pairs=5, rounds=2, seconds=1.5, offered=100, loaded=900)).json()
    assert kept["plan"] == {"pairs": 5, "rounds": 2, "seconds": 1.5, "offered": 100, "loaded": 900}
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", kept["date"])
