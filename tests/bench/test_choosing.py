"""One command prints all tables of the two pages for organisers, in the form that they have there."""

from __future__ import annotations

from pathlib import Path

import pytest

from arbiter.tournaments import events as ev
from arbiter.tournaments.meetings import Meeting, ScheduledGame
from tests.studies import arenas, coverage, pairing
from tests.studies.__main__ import main
from tests.studies.choosing import bench_choosing

DEPLOY = Path(__file__).parents[2] / "deploy"
PAGE = [line for name in ("CHOOSING", "RESULTS") for line in (DEPLOY / f"{name}.md").read_text().splitlines()]


def rows(lines: list[str], header: str) -> list[list[str]]:
    """Return the cells of the table that has this first line, row by row."""
    below = lines[lines.index(header) + 2 :]
    end = next((number for number, line in enumerate(below) if not line.startswith("|")), len(below))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in below[:end]]


@pytest.mark.long
def test_a_tiny_run_prints_every_table_in_the_form_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairing, "CONDITIONS", [pairing.FieldKind(4, 300, 9)])
    monkeypatch.setattr(pairing, "ROUNDS", 2)
    monkeypatch.setattr(arenas, "PLAYERS", (2, 3))
    monkeypatch.setattr(arenas, "DURATION_MS", 60_000)
    monkeypatch.setattr(coverage, "CONDITIONS", coverage.CONDITIONS[:1])
    printed: list[str] = []
    bench_choosing(printed.append, 1, differences=(100.0,))
    lines = "".join(printed).splitlines()
    assert sum(line.startswith("## ") for line in lines) == 4
    assert rows(lines, f"| {' | '.join(pairing.COLUMNS)} |")
    header = f"| {' | '.join(coverage.COLUMNS)} |"
    assert len(rows(lines, header)[0]) == len(coverage.COLUMNS) == len(rows(PAGE, header)[0])
    assert [row[:2] for row in rows(lines, f"| {' | '.join(arenas.COLUMNS)} |")] == [
        [number, name] for name in ("equal", "unequal") for number in ("2", "3")
    ]
    for name in ("games", "wrong decisions"):
        wide = next(line for line in PAGE if line.startswith(f"| {name} | 5 Elo |"))
        assert [row[0] for row in rows(lines, f"| {name} | 100 Elo |")] == [row[0] for row in rows(PAGE, wide)]


def test_an_arena_is_measured_by_its_log() -> None:
    """Three meetings in 100 s, of 30 s each: a and b, a and b again, a and c, which still goes on at the end."""
    log: list[ev.Event] = [ev.Started(1_000, ("a", "b", "c"), "", "")]
    for number, other, at in ((1, "b", 1_000), (2, "b", 41_000), (3, "c", 81_000)):
        games = (ScheduledGame(number, number, "a", other, "hop-it"),)
        meeting = Meeting(number, number, "a", other, "", games)
        log += [ev.Paired(at, number, (meeting,)), ev.Begun(at, number, 1, f"m{number}")]
        if number < 3:
            log.append(ev.EndedGame(at + 30_000, number, f"m{number}", 1, "rules", "rules"))
    found = arenas.variety(log, ("a", "b", "c"), 100_000)
    assert found[:5] == (2 / 3, 1, 3, 1, 3)
    assert found.idle == pytest.approx(1 - 2 * 80 / 300)


@pytest.mark.parametrize("name", ["arenas", "choosing", "coverage"])
def test_a_number_is_from_1(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "0"]) == main([name, "many"]) == main([name, "1", "2"]) == 2
    assert "a number from 1" in capsys.readouterr().err
