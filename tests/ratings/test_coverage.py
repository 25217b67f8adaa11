"""Intervals hold where the world is not as the prior says, and are hardly wider where it is."""

from __future__ import annotations

import pytest

from arbiter.bench.coverage import CONDITIONS, covered

BY_NAME = {condition.name: condition for condition in CONDITIONS}

WIDTHS = {
    "normal field, spread 150": 243,
    "normal field, spread 300": 313,
    "normal field, spread 600": 525,
    "normal field, spread 800": 690,
    "normal field, spread 300, 4 players": 622,
    "normal field, spread 300, 20 games a pair": 144,
}
"""Mean widths in Elo of intervals that know that the field is normal, and that pairs differ by 25 Elo."""


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, condition in BY_NAME.items() if condition.ignorable])
def test_intervals_hold_by_condition(name: str, seeds: int) -> None:
    """The short form runs few records of each condition, `make soak` many; before, the worst had 52 to 91 %."""
    records = max(6, min(seeds // 2, 200))
    found = covered(BY_NAME[name], records)
    assert found.share > 0.925 - 3 * max(found.error, 0.1 / records**0.5)
    if name in WIDTHS:
        assert found.width < WIDTHS[name] * (1.1 + 0.5 / records**0.5)


def test_a_schedule_that_knows_more_than_the_record_spoils_the_intervals() -> None:
    """Everybody meets only neighbours in strength: no fit of the results can know that, and the page says so."""
    (condition,) = [each for each in CONDITIONS if not each.ignorable]
    assert covered(condition, 2).share < 0.6
