from __future__ import annotations

import ast
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import arbiter
from arbiter.errors import Reason
from tests.documents import ROOT

PACKAGE = Path(arbiter.__file__).parent
FORBIDDEN = {"utils", "common", "helpers", "manager"}
NAMED_AFTER = {
    "cli": "a command",
    "bench": "a benchmark",
    "service/ports": "what its adapters have",
    "store": "a port",
    "bus": "a port",
    "tournaments/checks": "the format that it checks",
    "testing": "what it stands for in tests, or checks",
    "conformance": "a chapter of clauses",
}
"""Packages whose modules have the name of something else, and of what."""
TWICE = {"codec", "commands", "events", "evolution"}  #: a match has one, and a tournament has one


def test_no_module_has_a_meaningless_name() -> None:
    assert [path for path in PACKAGE.rglob("*.py") if path.stem in FORBIDDEN] == []


def test_the_name_of_a_module_says_which_one_it_is() -> None:
    paths = (path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
    own = [path for path in paths if not any(path.is_relative_to(package) for package in NAMED_AFTER)]
    times = Counter(path.stem for path in own if not path.stem.startswith("__"))
    assert {name for name, number in times.items() if number > 1} == TWICE


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_says_what_it_means(reason: Reason) -> None:
    """Where the name says it, its facts do. Its sentence is compared with `refusal.proto` elsewhere."""
    assert reason.meaning or reason.always


@pytest.mark.long
def test_every_reason_of_the_server_is_used() -> None:
    used = {
        node.attr
        for path in PACKAGE.rglob("*.py")
        if "wire" not in path.parts and "Reason." in path.read_text()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Reason"
    }
    in_wire = {"VERSION_UNSUPPORTED"}
    assert {reason.name for reason in Reason} - used - in_wire == set()


def test_the_top_level_has_no_other_folder() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    folders = {path.split("/")[0] for path in listed.splitlines() if "/" in path}
    assert folders == {"arbiter", "clients", "deploy", "protos", "tests", ".ci"}
