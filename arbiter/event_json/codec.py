"""The codec of events: their JSON follows from the fields of their classes, which are dataclasses.

| type of a field | its JSON |
| --- | --- |
| `str`, `int`, `bool` | the value |
| an enumeration of words, a `Literal` of integers | the value |
| `tuple[X, ...]`, `tuple[X, X]` | a list |
| a dataclass | an object with its fields |
| `X or None` | the JSON of X; the field is omitted if it is None |
| `Sparse[X]` | the JSON of X; the field is omitted if it is empty (`""`, `()`) |

Other types have a `Form` of their own. A field that is missing has the default of its class; one that is unknown is
ignored, so that later versions may add fields.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Generic,
    Literal,
    Protocol,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from arbiter.event_json.canonical import Json, MalformedRecordError, UnknownKindError
from arbiter.event_json.fields import Fields

T = TypeVar("T")
E = TypeVar("E")

_OMITTED: Final = "omitted while it is empty"
Sparse = Annotated[T, _OMITTED]
"""The type of a field that is omitted while it is empty."""


class Form(Protocol):
    """How the values of one type stand in an object."""

    def write(self, values: dict[str, Json], name: str, value: Any) -> None:
        """Add the field `name` to the values of an object."""

    def read(self, fields: Fields, name: str) -> Any:
        """Return the value of the field `name`. Raises MalformedRecordError."""


Forms = Mapping[Any, Form]
"""The forms of types that are not in the table above."""


@dataclasses.dataclass(frozen=True, slots=True)
class ValueForm:
    """The form of values that are one field. json: returns the JSON of a value; read: as in `Form`."""

    json: Callable[[Any], Json]
    read: Callable[[Fields, str], Any]

    def write(self, values: dict[str, Json], name: str, value: Any) -> None:
        """Add the field `name` to the values of an object."""
        values[name] = self.json(value)


_PLAIN: Final[Forms] = {
    str: ValueForm(str, lambda fields, name: fields.text(name)),
    int: ValueForm(int, lambda fields, name: fields.integer(name)),
    bool: ValueForm(bool, lambda fields, name: fields.flag(name)),
}


class _List:
    """A list of values of one type; length: how many there are, None for any number."""

    def __init__(self, item: Form, length: int | None) -> None:
        self._item = item
        self._length = length

    def write(self, values: dict[str, Json], name: str, value: Iterable[Any]) -> None:
        items: dict[str, Json] = {}
        for place, item in enumerate(value):
            self._item.write(items, str(place), item)
        values[name] = list(items.values())

    def read(self, fields: Fields, name: str) -> tuple[Any, ...]:
        items = fields.items(name, self._length)
        return tuple(self._item.read(items, place) for place in items)


class Layout(Generic[T]):
    """The JSON of a class: an object with its fields, in their order. forms: those of other types."""

    def __init__(self, kind: type[T], forms: Forms) -> None:
        self._kind = kind
        hints, own = get_type_hints(kind, include_extras=True), dataclasses.fields(cast(Any, kind))
        self._rows = [_row(field.name, hints[field.name], field.default, forms) for field in own]

    def written(self, value: T) -> dict[str, Json]:
        """Return the object of a value."""
        values: dict[str, Json] = {}
        for row in self._rows:
            item = getattr(value, row.name)
            if item is not None and (item or not row.sparse):
                row.form.write(values, row.name, item)
        return values

    def value(self, fields: Fields) -> T:
        """Return the value of an object. Raises MalformedRecordError."""
        return self._kind(
            **{
                row.name: row.default
                if row.default is not dataclasses.MISSING and row.name not in fields
                else row.form.read(fields, row.name)
                for row in self._rows
            }
        )

    def write(self, values: dict[str, Json], name: str, value: T) -> None:
        """Add the object of a value as the field `name`: a Layout is a Form."""
        values[name] = self.written(value)

    def read(self, fields: Fields, name: str) -> T:
        """Return the value of the object in the field `name`. Raises MalformedRecordError."""
        return self.value(fields.object(name))


class Codec(Generic[E]):
    """The codec of a closed list of events, each with a class variable `kind`.

    The first of `kinds` begins a record, and holds the version of its format.
    """

    def __init__(self, kinds: Iterable[type[E]], forms: Forms, version: int) -> None:
        self._layouts: dict[str, Layout[E]] = {}
        for kind in kinds:
            self._layouts[_kind_of(kind)] = Layout(kind, forms)
        self._first = next(iter(self._layouts))
        self._version = version

    def write(self, event: E) -> dict[str, Json]:
        """Return the JSON of an event, with its kind."""
        kind = _kind_of(event)
        values: dict[str, Json] = {"kind": kind, **self._layouts[kind].written(event)}
        return values | {"format": self._version} if kind == self._first else values

    def read(self, fields: Fields) -> E:
        """Return the event of an object. Raises MalformedRecordError, UnknownKindError."""
        kind = fields.text("kind")
        if kind not in self._layouts:
            raise UnknownKindError(f"record.kind: {kind[:60]!r} is not known here")
        if kind == self._first and fields.integer("format") != self._version:
            message = f"format {fields.integer('format')} is not known here: expected {self._version}"
            raise MalformedRecordError(message)
        return self._layouts[kind].value(fields)


@dataclasses.dataclass(frozen=True, slots=True)
class _Row:
    """A field of a class. default: its value if it is missing; MISSING if it must be there."""

    name: str
    form: Form
    sparse: bool
    default: Any


def _kind_of(event: Any) -> str:
    kind: StrEnum = event.kind
    return kind.value


def _row(name: str, hint: Any, default: Any, forms: Forms) -> _Row:
    sparse = get_origin(hint) is Annotated and _OMITTED in hint.__metadata__
    bare = get_args(hint)[0] if sparse else hint
    if sparse and default is dataclasses.MISSING:
        default = (get_origin(bare) or bare)()
    inner = [each for each in get_args(bare) if each is not NoneType]
    if get_origin(bare) in (Union, UnionType) and len(inner) == 1 and bare not in forms:
        default = None if default is dataclasses.MISSING else default
        bare = inner[0]
    return _Row(name, _form(bare, forms), sparse, default)


def _form(hint: Any, forms: Forms) -> Form:
    """Return the form of a type. Raises TypeError if it has none."""
    found = forms.get(hint) or _PLAIN.get(hint)
    if found is not None:
        return found
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return ValueForm(int, lambda fields, name: fields.one_of(name, inner))
    if origin is tuple and len({*inner} - {...}) == 1:
        return _List(_form(inner[0], forms), None if ... in inner else len(inner))
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return ValueForm(lambda word: word.value, lambda fields, name: fields.word(name, hint))
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return Layout(hint, forms)
    raise TypeError(f"{hint} has no JSON form")
