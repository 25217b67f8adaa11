"""Canonical JSON, with the examples of RFC 8785."""

from __future__ import annotations

import json
from enum import IntEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.event_json.canonical import LARGEST_INTEGER, Json, NotCanonicalError, decode, digest, encode, encode_plain

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-LARGEST_INTEGER, LARGEST_INTEGER) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=20,
)

PLAIN_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-LARGEST_INTEGER, LARGEST_INTEGER) | TEXTS,
    lambda inner: (
        st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(st.characters(codec="ascii")), inner)
    ),
    max_leaves=20,
)


def test_keys_are_sorted_by_utf16_code_units() -> None:
    """The example of RFC 8785, section 3.2.3: by code points, the smiley would come last."""
    value = {
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\U0001f600": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis",
    }
    assert list(json.loads(encode(value)).values()) == [
        "Carriage Return",
        "One",
        "Control",
        "Latin Small Letter O With Diaeresis",
        "Euro Sign",
        "Emoji: Grinning Face",
        "Hebrew Letter Dalet With Dagesh",
    ]


def test_keys_within_lists_are_sorted_too() -> None:
    value: Json = {"b": [{"\ufb33": 1, "\U0001f600": [{"z": 1, "a": 2}]}], "a": 0}
    assert encode(value) == '{"a":0,"b":[{"\U0001f600":[{"a":2,"z":1}],"\ufb33":1}]}'.encode()


def test_strings_are_escaped_as_section_3_2_2_2_says() -> None:
    assert encode('\u20ac$\u000f\nA\'B"\\\\"/') == b'"\xe2\x82\xac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'
    assert encode("\b\t\n\f\r\x7f\u2028") == '"\\b\\t\\n\\f\\r\x7f\u2028"'.encode()


def test_literals_and_integers() -> None:
    value = [None, True, False, 0, -5, LARGEST_INTEGER, ()]
    assert encode(value) == b"[null,true,false,0,-5,9007199254740991,[]]"


class Seven(IntEnum):
    SEVEN = 7


@pytest.mark.parametrize("value", [1.0, {"a": [0.5]}, {1: "a"}, b"x", {"a": {2}}, Seven.SEVEN, object()])
def test_values_without_a_canonical_form_are_refused_by_type(value: object) -> None:
    with pytest.raises(TypeError):
        encode(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [2**53, {"a": [-(2**53)]}, "\ud800", {"\udc00": 1}, {"\udc00\U0001f600": 1}])
def test_values_without_a_canonical_form_are_refused_by_value(value: object) -> None:
    with pytest.raises(NotCanonicalError):
        encode(value)  # type: ignore[arg-type]


def test_endless_nesting_is_refused() -> None:
    value: list[object] = []
    value.append(value)
    with pytest.raises(NotCanonicalError, match="deep"):
        encode(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"1.5", b"1e3", b"NaN", b"-Infinity", b"9007199254740992", b'"\xff"', b"1" * 5000, b"[" * 100_000],
)
def test_bytes_that_are_no_such_json_are_refused(data: bytes) -> None:
    with pytest.raises(NotCanonicalError):
        decode(data)


def test_decoding_accepts_json_that_is_not_canonical() -> None:
    assert decode(b' {"b": 1, "a": 2} ') == {"a": 2, "b": 1}


def test_digest_of_nothing() -> None:
    assert digest(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@given(VALUES)
def test_what_is_written_is_read_back(value: object) -> None:
    data = encode(value)  # type: ignore[arg-type]
    assert decode(data) == value
    assert encode(decode(data)) == data


@given(st.dictionaries(TEXTS, st.integers(0, 9), min_size=2))
def test_the_order_of_insertion_makes_no_difference(value: dict[str, int]) -> None:
    assert encode(value) == encode(dict(reversed(value.items())))


@given(PLAIN_VALUES)
def test_plain_values_have_the_same_form_in_the_fast_encoder(value: object) -> None:
    assert encode_plain(value) == encode(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [LARGEST_INTEGER + 1, -LARGEST_INTEGER - 1, 2**80, {"a": ["\ud800"]}])
def test_the_fast_encoder_refuses_the_same_values(value: object) -> None:
    for form in (encode, encode_plain):
        with pytest.raises(NotCanonicalError):
            form(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [{1: 2}, {"a": {1}}, b"bytes"])
def test_the_fast_decoder_refuses_the_same_texts(value: object) -> None:
    for form in (encode, encode_plain):
        with pytest.raises(TypeError):
            form(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "data",
    [
        b"1.5",
        b"-1e3",
        b" 1E3",
        b"[1,2.0]",
        b'{"a": 1.0}',
        b'{"a":[0, -0.5]}',
        b"9007199254740992",
        b'{"a":-9007199254740992}',
    ],
)
def test_every_number_that_is_not_a_canonical_integer_is_found(data: bytes) -> None:
    with pytest.raises(NotCanonicalError):
        decode(data)


@pytest.mark.parametrize("text", ["at 10:1.5", ":1e3", "[12345678901234567890", ",9007199254740993"])
def test_such_a_number_within_a_string_is_ignored(text: str) -> None:
    assert decode(encode({"a": text})) == {"a": text}
