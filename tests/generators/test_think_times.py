"""A bot that thinks as long as the clients say never loses by time."""

from __future__ import annotations

import pytest

from tests.generators.vectors.think_times import CONTROLS, EXPECTED, MOVES, simulated


@pytest.mark.parametrize("expected_plies", EXPECTED)
@pytest.mark.parametrize("notation", CONTROLS)
def test_the_flag_never_falls(notation: str, expected_plies: int) -> None:
    thoughts = list(simulated(notation, expected_plies))
    assert len(thoughts) == MOVES
    assert sum(thought.think_ms for thought in thoughts) >= 1_000
