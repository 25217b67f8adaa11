"""Credit for the delay of the server and of the network."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.matches.clock import CreditRules, credit, most_credit

RULES = CreditRules()
BANK = 10_000


@pytest.mark.parametrize(
    ("bank", "handed_over", "arrived", "round_trip", "credited", "after"),
    [
        (BANK, None, 5_000, 200, 0, BANK),  # no live stream: no credit
        (5_000, None, 5_000, 200, 0, 5_250),  # but every move refills the bank
        (BANK, 1_040, 5_000, None, 40, BANK),  # the server's delay; no round trip measured yet
        (BANK, 1_700, 5_000, None, 100, BANK),  # at most 100 ms of it
        (BANK, 1_000, 5_000, 200, 200, BANK),  # the network's, within the refill
        (BANK, 1_000, 5_000, 300, 300, 9_950),
        (BANK, 1_000, 5_000, 900, 300, 9_950),  # at most 300 ms of it
        (BANK, 1_040, 5_000, 60, 100, BANK),  # both
        (120, 1_000, 5_000, 300, 120, 250),  # as much as the bank has
        (0, 1_000, 5_000, 300, 0, 250),
        (BANK, 1_010, 1_030, 300, 30, BANK),  # never more than the time that has passed
        (BANK, 1_500, 1_030, 300, 30, BANK),  # a move that arrived before its turn was sent
        (BANK, 900, 1_030, 10, 10, BANK),  # sent before the turn's clock was restarted
        (BANK, 1_000, 900, 300, 0, BANK),  # arrived before the turn began
        (BANK, 1_000, 5_000, -7, 0, BANK),
    ],
)
def test_examples(
    bank: int, handed_over: int | None, arrived: int, round_trip: int | None, credited: int, after: int
) -> None:
    assert credit(RULES, bank, 1_000, handed_over, arrived, round_trip) == (credited, after)


INSTANTS = st.integers(0, 20_000)


@given(
    st.builds(CreditRules, *[st.integers(0, 1_000)] * 4),
    st.floats(0, 1),
    INSTANTS,
    st.none() | INSTANTS,
    INSTANTS,
    st.none() | st.integers(-10, 5_000),
)
def test_properties_of_all_credits(
    rules: CreditRules, full: float, started: int, handed_over: int | None, arrived: int, round_trip: int | None
) -> None:
    bank = int(rules.bank_ms * full)
    credited, after = credit(rules, bank, started, handed_over, arrived, round_trip)
    assert 0 <= credited <= max(0, arrived - started)
    assert credited <= most_credit(rules, bank)
    assert 0 <= after <= rules.bank_ms
    if handed_over is None:
        assert credited == 0


@given(st.lists(st.integers(0, 2_000), min_size=1, max_size=200))
def test_a_bot_that_claims_a_slow_network_gains_at_most_the_bank_and_the_refill(round_trips: list[int]) -> None:
    bank, total = RULES.bank_ms, 0
    for round_trip in round_trips:
        credited, bank = credit(RULES, bank, 0, 0, 60_000, round_trip)
        total += credited
    assert total <= RULES.bank_ms + RULES.refill_ms * (len(round_trips) - 1)


def test_a_steady_network_within_the_refill_is_never_charged() -> None:
    bank = RULES.bank_ms
    for _ in range(1_000):
        credited, bank = credit(RULES, bank, 0, 0, 1_000, 200)
        assert credited == 200
