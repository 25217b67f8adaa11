"""The table of minutes in CONTRIBUTING.md."""

from __future__ import annotations

import pytest

from tests.minutes import HEAD, PAGE, PARTS, table, written


def test_the_last_time_of_each_part_counts() -> None:
    noted = "tests 600.0 540.0 60.0\ndemo 90.0 60.0 6.0\ntests 660.0 900.0 60.0\n/bin/bash: line 1: 7 Killed\n"
    assert table(noted).splitlines()[2:] == [
        f"| {PARTS['demo']} | 1.5 | 1.1 |",
        f"| {PARTS['tests']} | 11.0 | 16.0 |",
    ]


def test_the_table_is_replaced_and_the_rest_stays() -> None:
    page = f"before\n\n{HEAD}\n| -- | -- | -- |\n| old | 1 | 2 |\n\nafter\n"
    assert written(page, f"{HEAD}\nnew") == f"before\n\n{HEAD}\nnew\n\nafter\n"
    with pytest.raises(ValueError, match="substring not found"):
        written("no table", "")


def test_every_part_of_the_page_is_timed_by_the_makefile() -> None:
    makefile = (PAGE.parent / "Makefile").read_text()
    assert [part for part in PARTS if f"$(call timed,{part}," not in makefile] == []
    assert HEAD in PAGE.read_text()
