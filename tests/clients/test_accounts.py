"""The table of what it takes to follow each README on an empty account."""

from __future__ import annotations

from tests.clients.accounts import BEGIN, END, README, WAYS, Measured, rows_of, title, with_rows
from tests.clients.languages import languages

EMPTY = f"before\n{BEGIN}\n{END}after\n"


def test_every_language_has_a_way_and_a_row() -> None:
    assert WAYS.keys() == languages().keys()
    assert list(rows_of(README.read_text(encoding="utf-8"))) == [title(name) for name in WAYS]


def test_a_row_replaces_its_language_and_leaves_the_others() -> None:
    go = Measured(typed=4, processor_s=12.4, needed=19_000_000, left=1_234_567_890).row("go")
    cpp = Measured(typed=7, processor_s=600.0, needed=900_000, left=2_000_000).row("cpp")
    assert go == "| Go | 4 | 12 | 19 MB | 1,235 MB |\n"
    page = with_rows(with_rows(EMPTY, {"C++": cpp}), {"C++": cpp, "Go": go})
    assert rows_of(page) == {"Go": go, "C++": cpp}
    assert list(rows_of(page)) == ["Go", "C++"]
    assert page.startswith("before\n")
    assert page.endswith("after\n")
