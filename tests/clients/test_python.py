"""The bot of the Python client in the conformance kit; the client's own tests are in clients/python/tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.languages import BRIDGE, languages
from tests.clients.table import README, check, columns_of


@pytest.mark.timeout(3_600)
def test_its_bot_passes_every_clause_and_the_table_says_so() -> None:
    check("python")


def test_the_table_has_every_language_and_each_has_its_module() -> None:
    names = sorted(language.name for language in (*languages().values(), BRIDGE))
    assert sorted(columns_of(README.read_text(encoding="utf-8"))) == names
    assert all((Path(__file__).parent / f"test_{name}.py").exists() for name in names)
