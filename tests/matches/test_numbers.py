from __future__ import annotations

from typing import Any

import pytest

from arbiter.matches.canonical import LARGEST_INTEGER, NotCanonicalError, decode
from arbiter.matches.numbers import are_integers

WRONG: list[Any] = [0.0, -1.5, 1e300, LARGEST_INTEGER + 1, -LARGEST_INTEGER - 1, 2**64]


@pytest.mark.parametrize("number", WRONG)
def test_a_number_that_is_none_of_a_record_is_found_wherever_it_stands(number: Any) -> None:
    for value in (number, [number], {"a": number}, {"a": [1, {"b": ["x", number, None]}]}, [[], {}, number]):
        assert not are_integers(value)


def test_all_else_has_integers_only() -> None:
    value = {"a": [0, -1, LARGEST_INTEGER, -LARGEST_INTEGER, True, False, None], "b": {"c": "1.5", "d": "1e9"}, "e": []}
    assert are_integers(value)


@pytest.mark.parametrize("number", ["1.0", "-0.0", "1e2", "1E-2", "9007199254740992", "-9007199254740992", "1" * 40])
def test_bytes_with_such_a_number_are_refused(number: str) -> None:
    with pytest.raises(NotCanonicalError, match="integer"):
        decode(f'{{"a": [1, {{"b": {number}}}]}}'.encode())


def test_text_that_looks_like_such_a_number_is_text() -> None:
    assert decode(b'{"a": ":1.5, [1e9"}') == {"a": ":1.5, [1e9"}
