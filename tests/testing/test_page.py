"""The page of the test kit lists every module, and each of its public functions and classes."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import arbiter.testing
from tests.documents import ROOT

KIT = ROOT / "arbiter/testing"
PAGE = arbiter.testing.__doc__ or ""
ENTRIES = {name: re.findall(r"`(\w+)`", text) for name, text in re.findall(r"^- `(\w+)`: (.*(?:\n  .*)*)", PAGE, re.M)}
OPEN = {"simulation"}  #: whose parts are for the simulation itself


def defined(path: Path) -> set[str]:
    """Return the public functions and classes of a module; of a package, what it exports."""
    if path.is_dir():
        tree = ast.parse((path / "__init__.py").read_text())
        listed = [
            node.value
            for node in tree.body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        ]
        return set(ast.literal_eval(listed[0])) if listed else set()
    return {
        node.name
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_")
    }


def test_every_module_is_on_the_page() -> None:
    found = [*KIT.glob("[!_]*.py"), *(path.parent for path in KIT.glob("*/__init__.py"))]
    modules = {path.stem for path in found}
    assert sorted(ENTRIES) == sorted(modules)


@pytest.mark.parametrize("module", sorted(ENTRIES.keys() - OPEN))
def test_every_public_name_is_on_the_page(module: str) -> None:
    path = KIT / module
    assert defined(path if path.is_dir() else path.with_suffix(".py")) - set(ENTRIES[module]) == set()


@pytest.mark.parametrize("module", sorted(ENTRIES.keys() - OPEN))
def test_every_name_on_the_page_is_there(module: str) -> None:
    imported = __import__(f"arbiter.testing.{module}", fromlist=["_"])
    assert [name for name in ENTRIES[module] if not hasattr(imported, name)] == []
