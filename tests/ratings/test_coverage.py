"""Intervals have their coverage also where the prior is wrong, and are hardly wider where it is right."""

from __future__ import annotations

import pytest

from tests.studies.coverage import CONDITIONS, covered

BY_NAME = {condition.name: condition for condition in CONDITIONS}

WIDTHS = {
    "normal field, spread 150": 243,
    "normal field, spread 300": 313,
    "normal field, spread 600": 525,
    "normal field, spread 800": 690,
    "normal field, spread 300, 4 players": 622,
    "normal field, spread 300, 20 games a pair": 144,
}
"""Mean widths in Elo of intervals computed with the true prior: a normal field, and pairs that differ by 25 Elo."""


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, condition in BY_NAME.items() if condition.ignorable])
def test_intervals_have_their_coverage_in_each_condition(name: str, seeds: int) -> None:
    """The short form runs a few records for each condition, `make soak` many.

    With an earlier method the worst condition had a coverage of 52 to 91 %.
    """
    records = min(max(6, seeds // 10), 200)
    found = covered(BY_NAME[name], records)
    assert found.share > 0.925 - 3 * max(found.error, 0.1 / records**0.5)
    if name in WIDTHS:
        assert found.width < WIDTHS[name] * (1.1 + 0.5 / records**0.5)


def test_pairing_by_strengths_that_the_record_does_not_show_spoils_the_intervals() -> None:
    """All players meet only neighbours in strength: a fit of the results can't know that, and the page says so."""
    (condition,) = [each for each in CONDITIONS if not each.ignorable]
    assert covered(condition, 2).share < 0.6
