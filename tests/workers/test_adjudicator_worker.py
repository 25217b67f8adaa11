"""Installed plug-ins that adjudicate in a process of their own: one works, one raises, one never answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from arbiter.service.tournaments import adjudicators
from arbiter.service.tournaments.adjudicators import AdjudicatedEnd, AdjudicatorFailed, Case
from arbiter.workers.adjudicator_worker import AdjudicatorProcess
from tests.documents import install

PLUGIN = """
from arbiter.games import registry
from arbiter.service.tournaments.adjudicators import AdjudicatedEnd, Case

def three_ahead(case: Case) -> AdjudicatedEnd | None:
    game = registry.game(case.game)
    first, second = game.material(game.parse(case.position))
    if abs(first - second) < 3:
        return None
    return AdjudicatedEnd(1 if first > second else 2, f"{first} to {second}")

def raises(case):
    raise LookupError("no such opening")

def hangs(case):
    while True:
        pass

def babbles(case):
    print("thinking aloud")
    return "seat 1 wins"
"""
ENTRIES = """
[arbiter.adjudicators]
three-ahead = example_adjudicator:three_ahead
raises = example_adjudicator:raises
hangs = example_adjudicator:hangs
babbles = example_adjudicator:babbles
missing = example_adjudicator:missing
"""


@pytest.fixture
async def judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[AdjudicatorProcess]:
    """Install a package with plug-ins, and start the process that calls them."""
    (tmp_path / "example_adjudicator.py").write_text(PLUGIN)
    info = tmp_path / "example_adjudicator-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: example-adjudicator\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    process = AdjudicatorProcess(longest_s=2.0)
    try:
        yield process
    finally:
        await process.close()


def case(position: str) -> Case:
    return Case("m1", "elevation", ("ann", "ben"), position, 1, ("a",), 0, (1,), (None,), (1, 1))


def elevation(taken: int) -> str:
    """Return a position of Elevation without this many pieces of seat 2."""
    from arbiter.games.registry import game

    rules = game("elevation")
    text = rules.text(rules.initial())
    for letter in "fdssdf"[:taken]:
        text = text.replace(f"3{letter}", "3", 1)
    return text


@pytest.mark.long
async def test_a_plug_in_that_works(judges: AdjudicatorProcess) -> None:
    assert judges.names == {"three-ahead", "raises", "hangs", "babbles", "missing"}
    assert await judges.judge("three-ahead", case(elevation(2))) is None
    assert await judges.judge("three-ahead", case(elevation(3))) == AdjudicatedEnd(1, "6 to 3")


@pytest.mark.long
async def test_a_package_adds_a_plug_in_as_its_docstring_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example = [line[4:] for line in (adjudicators.__doc__ or "").splitlines() if line.startswith("    ")]
    module = "\n".join(["from __future__ import annotations", *example[2:]])
    install(tmp_path, "\n".join(example[:2]), [("my_package.py", module)])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    process = AdjudicatorProcess(longest_s=20.0)
    try:
        assert await process.judge("first-to-ten", case(elevation(3))) is None
    finally:
        await process.close()


@pytest.mark.long
async def test_plug_ins_that_fail(judges: AdjudicatorProcess) -> None:
    position = elevation(3)
    for name, why in (("raises", "no such opening"), ("babbles", "expected an AdjudicatedEnd"), ("missing", "missing")):
        with pytest.raises(AdjudicatorFailed, match=why):
            await judges.judge(name, case(position))
    with pytest.raises(AdjudicatorFailed, match="gave no answer"):
        await judges.judge("hangs", case(position))
    assert await judges.judge("three-ahead", case(position)) == AdjudicatedEnd(1, "6 to 3"), "a new process answers"
