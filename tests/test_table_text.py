"""Tables as CSV, JSON and Markdown: no text of a cell leaves it, and a spreadsheet runs none."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.plain_text import plain
from arbiter.table_text import Cell, Columns, TableForm, shown, table_text, without_apostrophe

CELLS = st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
TABLES = st.lists(st.tuples(CELLS, CELLS), max_size=5).map(lambda rows: Columns(("one", "two"), rows))
FORMULAS = ("=1+1", "+1+1", "-1+1", "@SUM(A1)", " =1+1", '=HYPERLINK("http://x","y")', "＝1", "-", "+a")
NUMBERS = ("-12", "+3", "-0.5", "1200")


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text), strict=True))


@given(TABLES)
def test_csv_reads_back(table: Columns) -> None:
    heading, *rows = read(table_text(TableForm.CSV, {"": table}))
    assert heading == ["one", "two"]
    assert [[without_apostrophe(cell) for cell in row] for row in rows] == [
        [without_apostrophe(plain(shown(cell))) for cell in row] for row in table.rows
    ]
    for row in rows:
        assert not any(cell.startswith(("=", "@", "\t", "\r")) for cell in row)


@pytest.mark.parametrize("heading", ["a\nb", "a|b", "=1+1", "\x1b[2J"])
def test_a_heading_may_be_a_text_of_others(heading: str) -> None:
    table = {"": Columns((heading, "two"), [(1, 2)])}
    (first, second), row = read(table_text(TableForm.CSV, table))
    assert (without_apostrophe(first), second, row) == (plain(heading), "two", ["1", "2"])
    assert first.startswith("'") is heading.startswith("=")
    lines = table_text(TableForm.MARKDOWN, table).splitlines()
    assert len(lines) == 3
    assert [line.replace("\\|", "").count("|") for line in lines] == [3, 3, 3]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_text(text: str) -> None:
    table = Columns(("name",), [(text,)])
    assert read(table_text(TableForm.CSV, {"": table}))[1] == [f"'{text}"]
    assert without_apostrophe(f"'{text}") == text
    assert json.loads(table_text(TableForm.JSON, {"": table})) == [{"name": text}], "nobody runs a cell of JSON"


@pytest.mark.parametrize("text", NUMBERS)
def test_a_number_is_a_number(text: str) -> None:
    assert read(table_text(TableForm.CSV, {"": Columns(("elo",), [(text,)])}))[1] == [text]


def test_whole_numbers_have_no_fraction() -> None:
    cells: tuple[Cell, ...] = (3.0, 3.5, 12345678.0, None, 0)
    assert [*map(shown, cells)] == ["3", "3.5", "12345678", "", "0"]


@given(TABLES)
def test_json_keeps_the_values(table: Columns) -> None:
    found = json.loads(table_text(TableForm.JSON, {"": table}))
    assert found == json.loads(json.dumps([{"one": one, "two": two} for one, two in table.rows]))


@given(TABLES)
def test_a_row_of_markdown_is_a_line_with_its_cells(table: Columns) -> None:
    lines = table_text(TableForm.MARKDOWN, {"": table}).splitlines()
    assert lines[:2] == ["| one | two |", "| --- | --- |"]
    assert len(lines) == 2 + len(table.rows)
    for line in lines:
        assert line.replace("\\\\", "").replace("\\|", "").count("|") == 3


def test_markdown_means_nothing_else() -> None:
    text = table_text(TableForm.MARKDOWN, {"": Columns(("name",), [("<b>[a](http://b)</b> *c* `d` | e_f",)])})
    assert text.splitlines()[2] == r"| \<b\>\[a\](http://b)\</b\> \*c\* \`d\` \| e\_f |"


def test_several_tables_are_apart() -> None:
    tables = {"players": Columns(("name",), [("ann",)]), "games": Columns(("game",), [(1,)])}
    assert table_text(TableForm.CSV, tables) == "name\nann\n\ngame\n1\n"
    assert json.loads(table_text(TableForm.JSON, tables)) == {"players": [{"name": "ann"}], "games": [{"game": 1}]}
