from __future__ import annotations

from typing import Any

import pytest

from arbiter.event_json.canonical import LARGEST_INTEGER, NotCanonicalError, decode
from arbiter.event_json.numbers import are_integers

WRONG: list[Any] = [0.0, -1.5, 1e300, LARGEST_INTEGER + 1, -LARGEST_INTEGER - 1, 2**64]


@pytest.mark.parametrize("number", WRONG)
def test_a_number_that_is_no_canonical_integer_is_found_at_any_depth(number: Any) -> None:
    for value in (number, [number], {"a": number}, {"a": [1, {"b": ["x", number, None]}]}, [[], {}, number]):
        assert not are_integers(value)


def test_values_with_canonical_integers_are_accepted() -> None:
    value = {"a": [0, -1, LARGEST_INTEGER, -LARGEST_INTEGER, True, False, None], "b": {"c": "1.5", "d": "1e9"}, "e": []}
    assert are_integers(value)


@pytest.mark.parametrize("number", ["1.0", "-0.0", "1e2", "1E-2", "9007199254740992", "-9007199254740992", "1" * 40])
def test_bytes_with_such_a_number_are_refused(number: str) -> None:
    with pytest.raises(NotCanonicalError, match="integer"):
        decode(f'{{"a": [1, {{"b": {number}}}]}}'.encode())


def test_a_string_with_such_a_number_is_accepted() -> None:
    assert decode(b'{"a": ":1.5, [1e9"}') == {"a": ":1.5, [1e9"}
