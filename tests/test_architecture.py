from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

import arbiter
from arbiter.errors import Reason
from tests.documents import ROOT

PACKAGE = Path(arbiter.__file__).parent
FORBIDDEN = {"utils", "common", "helpers", "manager"}


def test_no_module_has_a_meaningless_name() -> None:
    assert [path for path in PACKAGE.rglob("*.py") if path.stem in FORBIDDEN] == []


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_says_what_it_means(reason: Reason) -> None:
    """Where the name says it, its facts do. Its sentence is compared with `refusal.proto` elsewhere."""
    assert reason.meaning or reason.always


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
