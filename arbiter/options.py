"""The options of a file: what each may hold and what it does, said once, beside its type and its default.

A part of a file is a dataclass or a NamedTuple. A field of it that a person writes is annotated with an `Option`:

    rounds: Annotated[int, Option("How many rounds.", (0, 100))] = 0

Readers, their messages, forms and reference pages are made from what `options_of` returns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass
from enum import Enum, StrEnum
from functools import cache
from typing import Any, Final, NamedTuple, get_args, get_origin, get_type_hints


class Written(Enum):
    """How a whole number may be written besides: as a duration ("90s"), or as an instant (a date and time)."""

    NUMBER = "number"
    DURATION = "duration"
    INSTANT = "instant"


UNSET: Final = object()


@dataclass(frozen=True, slots=True)
class Option:
    """What a field may hold, and what it does.

    meaning: a sentence for people who write the file. bounds: the least and the largest number; of a list, how many
    entries it has. formats: the formats of tournaments that have this option; empty: all. choices: the words that may
    be written, if not all of the type. allowed: what may be written, in words, where the type does not say it. example:
    how it is written in a file, where that is not plain. stored: what an old record means that lacks the field, if not
    the default.
    """

    meaning: str
    bounds: tuple[int, int] | None = None
    formats: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    allowed: str = ""
    example: str = ""
    stored: object = UNSET
    written: Written = Written.NUMBER


class Described(NamedTuple):
    """A field with its option. kind: its type without the option. default: UNSET if it has to be written."""

    name: str
    kind: Any
    default: Any
    option: Option

    @property
    def range(self) -> tuple[int, int]:
        """The bounds of a number, or of the length of a list."""
        assert self.option.bounds is not None, f"{self.name} has no bounds"
        return self.option.bounds

    @property
    def words(self) -> tuple[str, ...]:
        """The words of a choice."""
        return self.option.choices or tuple(self.kind)

    @property
    def is_choice(self) -> bool:
        """Whether it is one of some words."""
        return isinstance(self.kind, type) and issubclass(self.kind, StrEnum)

    @property
    def allowed(self) -> str:
        """What may be written, as the reference says it; '' for any text, and for true or false."""
        if self.option.allowed:
            return self.option.allowed
        if self.is_choice:
            return ", ".join(f"`{word}`" for word in self.words)
        if self.kind is int:
            least, most = self.range
            return f"{least}–{most}" if least >= 0 else f"{least} to {most}"
        return f"up to {self.range[1]} texts" if get_origin(self.kind) is tuple else ""

    @property
    def shown_default(self) -> str:
        """The default as it is written in a file; '' if there is none, or none that can be written."""
        return str(self.default).lower() if isinstance(self.default, StrEnum | bool | int) else ""


@cache
def options_of(part: type) -> Mapping[str, Described]:
    """Return the options of a part of a file, by name and in order."""
    fields: Mapping[str, Field[Any]] = getattr(part, "__dataclass_fields__", {})
    defaults: Mapping[str, Any] = getattr(part, "_field_defaults", {})
    found: dict[str, Described] = {}
    for name, hint in get_type_hints(part, include_extras=True).items():
        kind, *notes = get_args(hint) if hasattr(hint, "__metadata__") else (hint,)
        for option in notes:
            if isinstance(option, Option):
                found[name] = Described(name, kind, _default(fields.get(name)) if fields else defaults[name], option)
    return found


def _default(field: Field[Any] | None) -> Any:
    assert field is not None
    if field.default_factory is not MISSING:
        return field.default_factory()
    return UNSET if field.default is MISSING else field.default


def bounds_of(part: type) -> dict[str, tuple[int, int]]:
    """Return the bounds of the numbers of a part of a file, by name."""
    return {name: each.range for name, each in options_of(part).items() if each.kind is int}
