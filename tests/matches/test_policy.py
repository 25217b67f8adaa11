"""The policy of a match, which is public."""

from __future__ import annotations

import pytest

from arbiter.errors import Reason
from arbiter.event_json.canonical import decode, encode
from arbiter.matches.clock import CreditRules
from arbiter.matches.policy import BOUNDS, ClockStart, NoShow, Policy, read_policy
from tests.refusals import refusing


def test_the_default_forgives_three_illegal_moves() -> None:
    assert Policy().illegal_moves == 4


def test_every_value_is_recorded() -> None:
    policy = Policy(7, 8, 1, 0, 2, 3, ClockStart.AT_ONCE, NoShow.VOID, CreditRules(1, 2, 3, 4), 9)
    values = decode(encode(policy.json()))
    assert read_policy(values) == policy
    assert values["credit"]["refill_ms"] == 4


def test_a_record_of_a_match_that_waits_for_nobody_to_be_ready_is_as_before() -> None:
    assert "ready_ms" not in Policy().json()
    assert Policy(ready_ms=1).json()["ready_ms"] == 1


def test_values_that_a_request_leaves_out_are_the_defaults() -> None:
    assert read_policy({"no_show_ms": 5, "of_tomorrow": 1}) == Policy(no_show_ms=5)


@pytest.mark.parametrize(
    "values",
    [
        *({name: value} for name, (low, high) in BOUNDS.items() for value in (low - 1, high + 1, "5", None, True, 1.0)),
        {"start": "soon"},
        {"no_show": 1},
        {"credit": 5},
        {"credit": {"bank_ms": -1}},
        {"credit": {"refill_ms": "250"}},
    ],
)
def test_values_out_of_bounds_are_refused(values: dict[str, object]) -> None:
    with refusing(Reason.PARAMETER_INVALID) as caught:
        read_policy(values)
    assert caught.value.facts["where"].startswith("policy.")
