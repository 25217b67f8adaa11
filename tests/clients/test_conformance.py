"""The bots of all languages, and the bridge, pass the conformance kit; the table in clients/README.md says so."""

from __future__ import annotations

import pytest

from arbiter.conformance.kit import Verdict
from tests.clients.languages import BRIDGE, Language, languages
from tests.clients.table import README, column, columns_of, measured
from tests.clients.toolchains import require

ALL = (*languages().values(), BRIDGE)
BAD = (Verdict.FAILED, Verdict.NOT_JUDGED)


@pytest.fixture(params=ALL, ids=lambda language: language.name)
def language(request) -> Language:
    """Return a language that this machine has the tools for."""
    chosen: Language = request.param
    require(*chosen.missing, why=f"the client in {chosen.name} needs it")
    return chosen


@pytest.mark.timeout(1_800)
def test_a_bot_passes_every_clause(language):
    outcomes = measured(language)
    assert [f"{one.clause.id}: {one.why}" for one in outcomes if one.verdict in BAD] == []


@pytest.mark.timeout(1_800)
def test_the_table_says_what_was_measured(language):
    columns = columns_of(README.read_text(encoding="utf-8"))
    assert columns[language.name] == column(measured(language))


def test_the_table_has_every_language():
    assert sorted(columns_of(README.read_text(encoding="utf-8"))) == sorted(language.name for language in ALL)
