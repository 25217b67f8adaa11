"""The table of minutes in tests/README.md."""

from __future__ import annotations

import re

import pytest

from tests.minutes import HEAD, PAGE, PARTS, ROOT, place, written

NOTED = "tests 600.0 540.0 60.0\ndemo 90.0 60.0 6.0\ntests 660.0 900.0 60.0\n/bin/bash: line 1: 7 Killed\n"


def test_the_last_time_of_each_part_counts() -> None:
    page = f"before\n\n{HEAD}| of no part | 3.0 | 4.0 |\n\nafter\n"
    rows = f"| {PARTS['demo']} | 1.5 | 1.1 |\n| {PARTS['tests']} | 11.0 | 16.0 |\n"
    assert written(page, NOTED) == f"before\n\n{HEAD}{rows}\nafter\n"
    with pytest.raises(ValueError, match="substring not found"):
        written("no table", "")


def test_the_row_of_a_part_that_was_not_run_stays() -> None:
    old, checked = f"| {PARTS['tests']} | 1.0 | 2.0 |\n", f"| {PARTS['check']} | 0.1 | 0.2 |\n"
    page = f"{HEAD}{checked}{old}\n"
    demo, tests = f"| {PARTS['demo']} | 1.5 | 1.1 |\n", f"| {PARTS['tests']} | 11.0 | 16.0 |\n"
    assert written(page, NOTED) == f"{HEAD}{demo}{checked}{tests}\n"


def test_every_part_is_timed_by_the_makefile_and_every_row_is_a_part() -> None:
    makefile = (ROOT / "Makefile").read_text()
    soaked = [f"soak-{part}" for part in re.findall(r"\$\(call soaked,([a-z-]+),", makefile)]
    assert sorted(re.findall(r"\$\(call timed,([a-z-]+),", makefile) + soaked) == sorted(PARTS)
    rows = [row.split(" | ")[0] for row in PAGE.read_text()[place(PAGE.read_text())].splitlines()]
    assert rows == [row for name in PARTS.values() if (row := f"| {name}") in rows], "in their order, and no others"
