"""The codec of events: the JSON of a class follows from its fields."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Literal

import pytest

from arbiter.event_json.canonical import MalformedRecordError, UnknownKindError
from arbiter.event_json.codec import Codec, Layout, Sparse, ValueForm
from arbiter.event_json.fields import Fields


class Kind(StrEnum):
    MADE = "made"
    HEARD = "heard"


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Inner:
    number: int
    name: Sparse[str] = ""


@dataclass(frozen=True)
class Made:
    kind: ClassVar[Kind] = Kind.MADE
    at: int
    text: str
    flag: bool
    colour: Colour
    side: Literal[1, 2]
    pair: tuple[int, int]
    words: Sparse[tuple[str, ...]]
    inner: tuple[Inner, ...]
    maybe: Inner | None
    length: complex
    count: int = 7


@dataclass(frozen=True)
class Heard:
    kind: ClassVar[Kind] = Kind.HEARD
    at: int


FORMS = {complex: ValueForm(lambda value: int(value.real), lambda fields, name: complex(fields.integer(name)))}
CODEC: Codec[Any] = Codec((Made, Heard), FORMS, version=3)
FULL = Made(1, "x", True, Colour.BLUE, 2, (3, 4), ("a", "b"), (Inner(5, "n"), Inner(6)), Inner(8), 9 + 0j, 10)
BARE = Made(1, "", False, Colour.RED, 1, (3, 4), (), (), None, 0j)
FULL_JSON = {
    "kind": "made",
    "format": 3,
    "at": 1,
    "text": "x",
    "flag": True,
    "colour": "blue",
    "side": 2,
    "pair": [3, 4],
    "words": ["a", "b"],
    "inner": [{"number": 5, "name": "n"}, {"number": 6}],
    "maybe": {"number": 8},
    "length": 9,
    "count": 10,
}


def read(values: object) -> Any:
    return CODEC.read(Fields(values, "record"))


def test_each_type_has_its_form() -> None:
    assert CODEC.write(FULL) == FULL_JSON
    assert read(FULL_JSON) == FULL


def test_what_is_empty_is_omitted_only_where_its_type_says_so() -> None:
    written = CODEC.write(BARE)
    assert {*FULL_JSON} - {*written} == {"words", "maybe"}
    assert (written["text"], written["inner"], written["count"]) == ("", [], 7)
    assert read(written) == BARE


def test_a_field_with_a_default_may_be_missing_and_others_are_ignored() -> None:
    values = {name: value for name, value in CODEC.write(BARE).items() if name != "count"}
    assert read({**values, "later": [1.5]}) == BARE


def test_only_the_first_kind_holds_the_version_of_the_format() -> None:
    assert CODEC.write(Heard(4)) == {"kind": "heard", "at": 4}
    with pytest.raises(MalformedRecordError, match="format 2 is not known here: expected 3"):
        read({**FULL_JSON, "format": 2})
    with pytest.raises(UnknownKindError, match="'said' is not known here"):
        read({"kind": "said", "at": 4})


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("text", 5, "record.text: expected a string, found 5"),
        ("at", True, r"record.at: expected an integer within ±\(2\^53 − 1\), found True"),
        ("at", 2**53, "record.at: expected an integer"),
        ("flag", 1, "record.flag: expected true or false, found 1"),
        ("colour", "green", "record.colour: expected one of red, blue, found 'green'"),
        ("side", 3, "record.side: expected 1 or 2, found 3"),
        ("pair", [3], r"record.pair: expected a list of 2, found \[3\]"),
        ("pair", [3, "4"], "record.pair.1: expected an integer"),
        ("words", "ab", "record.words: expected a list, found 'ab'"),
        ("words", [1], "record.words.0: expected a string, found 1"),
        ("inner", [{"number": 5}, {}], "record.inner.1.number: expected an integer .*, found nothing"),
        ("inner", [7], "record.inner.0: expected an object, found int"),
        ("maybe", None, "record.maybe: expected an object, found NoneType"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(name: str, value: object, complaint: str) -> None:
    with pytest.raises(MalformedRecordError, match=complaint):
        read({**FULL_JSON, name: value})


@pytest.mark.parametrize("name", sorted({*FULL_JSON} - {"words", "maybe", "count"}))
def test_a_missing_field_is_named(name: str) -> None:
    with pytest.raises(MalformedRecordError, match=f"record.{name}: expected .*, found nothing"):
        read({key: value for key, value in FULL_JSON.items() if key != name})


def test_a_type_without_a_form_is_an_error_of_the_program() -> None:
    @dataclass
    class Odd:
        field: float

    with pytest.raises(TypeError, match="float"):
        Layout(Odd, {})
