"""Formats own their traits: no other module asks which format a tournament has.

The table of the options says which formats have each of them.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import arbiter
from arbiter.tournaments import checks, formats
from arbiter.tournaments.spec import Format

PACKAGE = Path(arbiter.__file__).parent
TABLES = {"tournaments/formats/__init__.py", "tournaments/checks/__init__.py", "tournaments/spec.py"}


def _named(path: Path) -> set[str]:
    """Return the members of `Format` that a module names."""
    text = path.read_text()
    return {
        node.attr
        for node in (ast.walk(ast.parse(text)) if "Format." in text else ())
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "Format"
        and node.attr in Format.__members__
    }


def test_only_tables_name_a_format() -> None:
    naming = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if _named(path)}
    assert naming == TABLES


@pytest.mark.parametrize("format_", list(Format))
def test_every_format_has_a_pairer_and_a_check_in_modules_of_its_own(format_: Format) -> None:
    assert set(formats.PAIRERS) == set(checks.CHECKS) == set(Format)
    assert type(formats.PAIRERS[format_]).__module__ == f"arbiter.tournaments.formats.{format_.value}"
    assert type(checks.CHECKS[format_]).__module__ == f"arbiter.tournaments.checks.{format_.value}"
