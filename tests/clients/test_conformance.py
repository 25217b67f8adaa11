"""The bots of all languages, and the bridge, pass the conformance kit; the table in clients/README.md says so."""

from __future__ import annotations

import pytest

from arbiter.conformance.kit import Verdict
from tests.clients.languages import BRIDGE, Language, languages
from tests.clients.table import README, column, columns_of, measured
from tests.clients.toolchains import require

ALL = (*languages().values(), BRIDGE)
pytestmark = pytest.mark.toolchain
BAD = (Verdict.FAILED, Verdict.NOT_JUDGED)


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize(
    "language", [pytest.param(one, marks=pytest.mark.xdist_group(one.name)) for one in ALL], ids=lambda one: one.name
)
def test_a_bot_passes_every_clause_and_the_table_says_so(language: Language) -> None:
    require(*language.missing, why=f"the client in {language.name} needs it")
    outcomes = measured(language)
    assert [f"{one.clause.id}: {one.why}" for one in outcomes if one.verdict in BAD] == []
    assert columns_of(README.read_text(encoding="utf-8"))[language.name] == column(outcomes)


def test_the_table_has_every_language():
    assert sorted(columns_of(README.read_text(encoding="utf-8"))) == sorted(language.name for language in ALL)
