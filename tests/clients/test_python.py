"""The bot of the Python client in the conformance kit; the client's own tests are in clients/python/tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.table import README, check, columns_of, everything


@pytest.mark.timeout(3_600)
def test_its_bot_passes_its_part_of_the_clauses() -> None:
    check("python", whole=False)


@pytest.mark.soak
def test_its_bot_passes_every_clause_and_the_table_says_so() -> None:
    check("python", whole=True)


def test_the_table_has_every_language_and_each_has_its_module() -> None:
    names = sorted(everything())
    assert sorted(columns_of(README.read_text(encoding="utf-8"))) == names
    assert all((Path(__file__).parent / f"test_{name}.py").exists() for name in names)
