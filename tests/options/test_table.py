"""The table of options: each one has a row with the test that shows its effect, and each of these tests exists.

Whoever adds an option adds a row; whoever renames a test changes its rows. An option that no test can show to have an
effect is a mistake: it is accepted, and nobody learns that it does nothing.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.options.enumerated import (
    COMMANDS,
    calls,
    client,
    connection_options,
    options_of,
    settings,
    specification,
    table_options,
)

ROOT: Final = Path(__file__).parent.parent.parent
TABLE: Final[Mapping[str, Mapping[str, str | list[str]]]] = tomllib.loads(
    Path(__file__).with_name("table.toml").read_text()
)
ENUMERATING: Final = {
    "test_each_option_of_a_benchmark_changes_its_plan",
    "test_each_argument_of_a_call_is_sent",
}
"""Tests that find out by themselves which options there are: one row is enough for all of these."""


def rows_of(option: str, among: Mapping[str, str | list[str]]) -> str:
    """Return the row of an option: its own, or that of a test that goes through all options of a command."""
    return next((row for row in (option, f"{option.rpartition(' ')[0]} *") if row in among), "")


def command_rows() -> Iterator[str]:
    """Yield the row of each option of each command; '' for one without a row."""
    for command in COMMANDS:
        if connection_options(command):
            yield "connection"
        if table_options(command):
            yield "table"
        for option in options_of(command):
            name = f"{command} {option.name}"
            yield rows_of(name, TABLE["commands"]) or f"{name} has no row"


def client_rows() -> Iterator[str]:
    """Yield the row of each argument of the client."""
    for option in client():
        yield "calls.*" if option.partition(".")[0] in calls() else option


OPTIONS: Final[Mapping[str, Callable[[], Iterator[str]]]] = {
    "settings": settings,
    "specification": specification,
    "commands": command_rows,
    "client": client_rows,
}
"""The rows that there must be, by part of the table."""


@pytest.mark.long
@pytest.mark.parametrize("part", OPTIONS)
def test_every_option_has_a_row_and_every_row_an_option(part: str) -> None:
    options = set(OPTIONS[part]())
    assert options - TABLE[part].keys() == set(), "write a test that shows its effect, and a row for it"
    assert TABLE[part].keys() - options == set(), "there is no such option any more"


def named_by(row: str | Iterable[str]) -> list[str]:
    """Return the tests of a row."""
    return [row] if isinstance(row, str) else [*row]


@cache
def names_in(file: str) -> frozenset[str]:
    """Return the tests of a file: `test`, or `Class::test`."""
    if not (ROOT / file).is_file():
        return frozenset()
    found: set[str] = set()
    for node in ast.parse((ROOT / file).read_text("utf-8")).body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        before = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        found |= {before + each.name for each in inner if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
    return frozenset(found)


@pytest.mark.long
@pytest.mark.parametrize("part", OPTIONS)
def test_every_test_of_the_table_exists(part: str) -> None:
    named = {test for row in TABLE[part].values() for test in named_by(row)}
    assert [test for test in sorted(named) if test.partition("::")[2] not in names_in(test.partition("::")[0])] == []


@pytest.mark.parametrize("part", ["settings", "specification"])
def test_a_test_is_in_a_file_that_names_the_option(part: str) -> None:
    """A test that never mentions an option can't show its effect; some go through all fields of a class."""
    for option, row in TABLE[part].items():
        files = [(ROOT / test.partition("::")[0]).read_text("utf-8") for test in named_by(row)]
        name = option.rpartition(".")[2]
        every = "model_fields" if part == "settings" else "options"
        assert any(name in text for text in files) or any(every in text for text in files), option


def test_only_tests_that_enumerate_have_rows_for_several_options() -> None:
    for part in TABLE.values():
        for option, row in part.items():
            if option.endswith("*"):
                assert named_by(row)[0].rpartition("::")[2] in ENUMERATING, option
