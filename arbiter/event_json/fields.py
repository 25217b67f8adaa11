"""Reads records: takes the fields of a JSON object and checks each one.

Other fields are ignored, so that later versions may add fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, NoReturn, TypeVar, cast

from arbiter.event_json.canonical import MalformedRecordError
from arbiter.event_json.numbers import LARGEST_INTEGER
from arbiter.games.contract import Seat

E = TypeVar("E", bound=StrEnum)


class Fields:
    """The fields of an object in a record; `where` names the object in error messages.

    Every method raises MalformedRecordError if the field is missing or has another type.
    """

    __slots__ = ("_values", "_where")

    def __init__(self, values: object, where: str) -> None:
        if not isinstance(values, dict):
            raise MalformedRecordError(f"{where}: expected an object, found {type(values).__name__}")
        self._values: dict[str, Any] = values
        self._where = where

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def text(self, name: str, default: str | None = None) -> str:
        """Return a string; if it is missing, the default, if there is one."""
        value = self._values.get(name, default)
        return value if isinstance(value, str) else self._wrong(name, "a string")

    def integer(self, name: str) -> int:
        """Return an integer that every JSON reader represents exactly."""
        value = self._values.get(name)
        if type(value) is not int or not -LARGEST_INTEGER <= value <= LARGEST_INTEGER:
            return self._wrong(name, "an integer within ±(2^53 − 1)")
        return value

    def optional_integer(self, name: str) -> int | None:
        """Return an integer, or None if the field is missing."""
        return self.integer(name) if name in self._values else None

    def flag(self, name: str) -> bool:
        """Return a boolean."""
        value = self._values.get(name)
        return value if isinstance(value, bool) else self._wrong(name, "true or false")

    def seat(self, name: str) -> Seat:
        """Return a seat."""
        return cast(Seat, self.one_of(name, (1, 2)))

    def one_of(self, name: str, allowed: tuple[int, ...]) -> int:
        """Return one of a few integers."""
        value = self.integer(name)
        return value if value in allowed else self._wrong(name, " or ".join(map(str, allowed)))

    def word(self, name: str, kind: type[E]) -> E:
        """Return a member of a closed list of words."""
        value = self.text(name)
        if value not in kind._value2member_map_:
            self._wrong(name, f"one of {', '.join(kind)}")
        return kind(value)

    def object(self, name: str) -> Fields:
        """Return the fields of a nested object."""
        return Fields(self._values.get(name), f"{self._where}.{name}")

    def mapping(self, name: str) -> Mapping[str, Any]:
        """Return a nested object unchanged."""
        value = self._values.get(name)
        return value if isinstance(value, dict) else self._wrong(name, "an object")

    def texts(self, name: str) -> dict[str, str]:
        """Return a nested object that holds only strings."""
        values = self.mapping(name)
        return dict(values) if all(isinstance(value, str) for value in values.values()) else self._wrong(name, "texts")

    def items(self, name: str, length: int | None = None) -> Fields:
        """Return the items of a list as fields whose names are their places, counted from 0."""
        value = self.sequence(name)
        if length is not None and len(value) != length:
            self._wrong(name, f"a list of {length}")
        return Fields({str(place): item for place, item in enumerate(value)}, f"{self._where}.{name}")

    def sequence(self, name: str) -> list[Any]:
        """Return a list of any length."""
        value = self._values.get(name)
        return value if isinstance(value, list) else self._wrong(name, "a list")

    def pair(self, name: str) -> tuple[Any, Any]:
        """Return the items of a list of two, one for each seat."""
        value = self._values.get(name)
        if not isinstance(value, list) or len(value) != 2:
            self._wrong(name, "a list of two")
        return value[0], value[1]

    def _wrong(self, name: str, expected: str) -> NoReturn:
        found = repr(self._values[name])[:60] if name in self._values else "nothing"
        raise MalformedRecordError(f"{self._where}.{name}: expected {expected}, found {found}")
