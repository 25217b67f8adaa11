"""The life of a match, from its creation to each of its ends."""

from __future__ import annotations

from arbiter.matches import Phase
from tests.matches.table import receipt, started


def test_a_match_to_its_last_stone() -> None:
    table = started("heap(stones=4)")
    assert table.match.phase is Phase.ACTIVE
    first = receipt(table.play("1", after_ms=1_000))
    assert (first.ply, first.result) == (1, None)
    decision = table.play("3", after_ms=500)
    assert [event.kind.value for event in decision.events] == ["moved", "ended"]
    result = receipt(decision).result
    assert result is not None
    assert (result.winner, result.reason, result.cause.value, result.seat) == (2, "last_stone", "rules", 2)
    assert [clock.remaining_ms for clock in table.match.clocks] == [59_000, 59_500]
    table.check()
