"""tests/README.md names the module of each test with a long form, and `make soak` runs the long form."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import SCALES
from tests.documents import ROOT

HEAD = "| test | module | in `make test` | in `make soak` |\n"
FOLDERS = ("tests", "clients/python/tests")


def has_long_form(text: str) -> bool:
    """Return whether a module has a test that is marked `soak`, or one or a fixture that takes a fixture of SCALES."""
    if "mark.soak" in text:
        return True
    if not re.search(rf"\b({'|'.join(SCALES)}): int", text):
        return False
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            marks = " ".join(map(ast.unparse, node.decorator_list))
            taken = {each.arg for each in node.args.args if f"'{each.arg}'" not in marks} & {*SCALES}
            if taken and (node.name.startswith("test_") or "fixture" in marks):
                return True
    return False


@cache
def with_long_form() -> set[str]:
    """Return the modules with such a test, as paths in the tree."""
    paths = (path for folder in FOLDERS for path in (ROOT / folder).rglob("test_*.py"))
    others = (path for path in paths if path != Path(__file__))
    return {str(path.relative_to(ROOT)) for path in others if has_long_form(path.read_text(encoding="utf-8"))}


def named() -> set[str]:
    """Return the modules that the table names."""
    page = (ROOT / "tests" / "README.md").read_text(encoding="utf-8")
    start = page.index(HEAD)
    rows = page[start : page.index("\n\n", start)].splitlines()[2:]
    return {name for row in rows for name in re.findall(r"`([\w/]+/test_\w+\.py)`", row.split(" | ")[1])}


@pytest.mark.long
def test_the_table_names_each_module_with_a_long_form_and_no_other() -> None:
    assert with_long_form() - named() == set(), "say in tests/README.md, What runs where, what runs in which command"
    assert named() - with_long_form() == set(), "these modules have no long form"


def test_the_long_form_of_each_scale_is_run() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for scale in SCALES:
        run = f"$(call soaked,{scale},$(BIN)/pytest --soak -m {scale} --{scale} $({scale.upper()}) "
        assert run in makefile


@pytest.mark.parametrize(
    ("text", "has"),
    [
        ("@pytest.mark.soak\ndef test_it(): ...", True),
        ("P = [pytest.param(1, marks=pytest.mark.soak)]", True),
        ("async def test_it(tmp_path: Path, seeds: int): ...", True),
        ("@pytest.fixture\ndef runs(kills: int): ...", True),
        ("@pytest.mark.parametrize('players', [1])\ndef test_it(players: int): ...", False),
        ("def drawn(seeds: int): ...", False),
    ],
)
def test_long_forms_are_found(text: str, has: bool) -> None:
    assert has_long_form(text) is has


@pytest.mark.long
def test_a_test_that_takes_seeds_is_marked() -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-n", "0", "-m", "seeds"]
    files = [
        "tests/ratings/test_comparison.py",
        "tests/ratings/test_difference.py",
        "tests/tournaments/test_standings.py",
    ]
    said = subprocess.run([*command, *files], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    one_each, the_fixture = said.split()[1:4:2], said.split()[-1]
    assert one_each == ["1", "1"], said
    assert int(the_fixture) > 1, said
