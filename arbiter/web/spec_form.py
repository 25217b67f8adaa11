"""The form for a new tournament: the fields of each format, with the server's own defaults and bounds.

The name of a field is the name of the value in the specification (`options.rounds`), and refusals use the same name.
This module only converts the texts of a form into the shape of a specification; `read_spec` alone checks them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from arbiter.errors import Refusal, parameter_invalid
from arbiter.matches import time_control
from arbiter.options import Described, Written, options_of
from arbiter.tournaments.formats import PAIRERS
from arbiter.tournaments.spec import PARTS, Format, Options, Spec, options_in
from arbiter.tournaments.spec_text import read_spec

FORMATS: Final[Mapping[Format, tuple[str, str]]] = {
    format_: (pairer.title, pairer.purpose) for format_, pairer in PAIRERS.items()
}
"""The title and the purpose of each format."""


class FormField(NamedTuple):
    """A field of the form.

    kind: text, number, check, lines (one entry a line), choice or instant. bounds: of a number. note: what to enter.
    required: there is no default. choices: of a choice.
    """

    name: str
    label: str
    kind: str = "text"
    default: str = ""
    bounds: tuple[int, int] | None = None
    note: str = ""
    required: bool = False
    choices: tuple[str, ...] = ()


class FormSection(NamedTuple):
    """A group of fields. `more`: most tournaments do not change them."""

    title: str
    fields: Sequence[FormField]
    more: bool = False


_PAIRS: Final = re.compile(r"\s*[=:]\s*")
GAME: Final = "game:"  #: the first part of the name of a game's check box
MORE_GAMES: Final = "more_games"

_LISTS: Final = ("tie_breaks", "entry.invited")  #: words
_NUMBERS: Final = ("series.place_points",)  #: whole numbers
_LINES: Final = ("entry.versions", "league.divisions")  #: one text a line
_ROWS: Final = ("entry.forbidden",)  #: words, one row a line
_GROUPS: Final = ("groups.categories", "groups.authors")  #: `name = player player`, one a line
_TABLES: Final = ("time_odds", "policy")  #: `name = value`, one a line


_WRITTEN: Final[Mapping[str, str]] = {
    "options.duration": "Written as 90s, 5m, 2h or 1d.",
    "entry.versions": "One a line.",
    "entry.forbidden": "Two names a line.",
    "groups.categories": "Written as rust = ann ben, one a line.",
    "groups.authors": "Written as Ada L. = cat dan, one a line.",
    "league.divisions": "One a line.",
    "openings.lines": "Written as game: move move …, one a line.",
    "schedule.start_ms": "In UTC.",
    "schedule.entry_closes_ms": "In UTC.",
    "series.place_points": "Written as 10 7 5 3.",
    "time_odds": "Written as player = time, one a line.",
}
"""How a field of the form is written, where that is not plain."""

_POLICY: Final = FormField(
    "policy",
    "Policy",
    "lines",
    note="What matches do otherwise than the server's policy: illegal_moves = 4, one a line.",
)


def sections(format_: Format) -> list[FormSection]:
    """Return the fields for a new tournament of a format. Those for games are in the page itself."""
    plain = {name: _field(name, each) for name, each in options_of(Spec).items()}
    time, usual = plain["time"], ", ".join(PAIRERS[format_].tie_breaks) or "none"
    tie_breaks = plain["tie_breaks"]
    play = [time._replace(default="1m+1s"), *_options(format_)]
    rest = [tie_breaks._replace(note=f"{tie_breaks.note.removesuffix('.')} ({usual})."), plain["time_odds"], _POLICY]
    return [
        FormSection("Play", play + [plain[name] for name in ("at_once", "attempts", "paired", "rated")]),
        FormSection("Who may enter", _part("entry"), more=True),
        FormSection("Categories and authors", _part("groups"), more=True),
        FormSection("Openings", _part("openings"), more=True),
        FormSection("Ends of games by rule", _part("adjudication"), more=True),
        FormSection("Schedule and the rest", _part("schedule") + rest, more=True),
        FormSection("Table over a series", _part("series"), more=True),
        FormSection("League", _part("league"), more=True),
    ]


def _options(format_: Format) -> Iterable[FormField]:
    """Yield the options of a format. One without a usable default is empty, and required."""
    wanted = PAIRERS[format_].invalid_option(Options())
    for name in options_in(format_):
        field = _field(f"options.{name}", options_of(Options)[name])
        missing = wanted is not None and wanted.field.removesuffix("_ms") == name.removesuffix("_ms")
        yield field._replace(default="", required=True) if missing else field


def _part(part: str) -> list[FormField]:
    return [_field(f"{part}.{name}", each) for name, each in options_of(PARTS[part]).items()]


def _field(place: str, option: Described) -> FormField:
    """Return a field of the form, whose label is the option's name in words."""
    if option.option.written is Written.DURATION:
        place = place.removesuffix("_ms")
    label = option.name.removesuffix("_ms").replace("_", " ").capitalize()
    note = " ".join(filter(None, (option.option.meaning.replace("`", ""), _WRITTEN.get(place))))
    plain = FormField(place, label, "lines", note=note)
    if option.is_choice:
        return plain._replace(kind="choice", default=str(option.default), choices=option.words)
    if option.kind is bool:
        return plain._replace(kind="check", default="on" if option.default else "")
    if option.kind is str or place in (*_LISTS, *_NUMBERS) or option.option.written is Written.DURATION:
        return plain._replace(kind="text")
    if option.option.written is Written.INSTANT:
        return plain._replace(kind="instant")
    if option.kind is int:
        return plain._replace(kind="number", default=str(option.default), bounds=option.range)
    return plain


# The form as it was sent


def spec_of(sent: Mapping[str, str]) -> Spec:
    """Return the specification of a form. Raises Refusal, and may take long, like `read_spec`."""
    return read_spec(values_of(sent), time_control.parse)


def values_of(sent: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of a form, shaped as a specification; empty fields are absent. Raises PARAMETER_INVALID."""
    values: dict[str, Any] = {name: sent.get(name, "").strip() for name in ("name", "format")}
    chosen = [name.removeprefix(GAME) for name in sent if name.startswith(GAME)]
    values["games"] = [*chosen, *sent.get(MORE_GAMES, "").split()]
    if values["format"] not in tuple(Format):
        return values  # the refusal of read_spec names the formats
    for section in sections(Format(values["format"])):
        for field in section.fields:
            text = sent.get(field.name, "").strip()
            if field.kind != "check" and not text:
                continue
            part, _, name = field.name.rpartition(".")
            (values.setdefault(part, {}) if part else values)[name] = _value(field, text)
    return values


def _value(field: FormField, text: str) -> Any:
    match field.kind:
        case "check":
            return bool(text)
        case "number":
            return _whole(text)
        case "instant":
            return _instant(field.name, text)
    if field.name in _LISTS:
        return text.replace(",", " ").split()
    if field.name in _NUMBERS:
        return [_whole(word) for word in text.replace(",", " ").split()]
    if field.name in _LINES:
        return [line.strip() for line in text.splitlines() if line.strip()]
    if field.name in _ROWS:
        return [line.split() for line in text.splitlines() if line.strip()]
    if field.name in _GROUPS:
        return {name: players.split() for name, players in _pairs(field.name, text)}
    if field.name in _TABLES:
        return {name: _whole(value) for name, value in _pairs(field.name, text)}
    if field.name == "openings.lines":
        lines: dict[str, list[str]] = {}
        for game, line in _pairs(field.name, text):
            lines.setdefault(game, []).append(line)
        return lines
    return text


def _pairs(where: str, text: str) -> Iterable[tuple[str, str]]:
    for line in filter(None, map(str.strip, text.splitlines())):
        parts = _split(line)
        if len(parts) != 2 or not all(parts):
            raise parameter_invalid(line, where, "a name, = or :, and what it is set to", of="a tournament")
        yield parts[0], parts[1]


def _split(line: str) -> list[str]:
    """Split at the first = or : outside the brackets of a game's parameters."""
    head, bracket, rest = line.partition("(")
    if bracket and not _PAIRS.search(head):
        inside, closing, rest = rest.partition(")")
        return [f"{head}({inside}{closing}", _PAIRS.sub("", rest, count=1).strip()]
    return _PAIRS.split(line, maxsplit=1)


def _whole(text: str) -> int | str:
    """Return a whole number. Other text is returned unchanged, and the specification refuses it with an explanation."""
    return int(text) if re.fullmatch(r"-?[0-9]{1,15}", text, re.ASCII) else text


def _instant(where: str, text: str) -> int:
    try:
        return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1_000)
    except (ValueError, OverflowError):
        raise parameter_invalid(text, where, "an instant in UTC, as 2030-12-24T18:00", of="a tournament") from None


def place_of(refusal: Refusal, format_: Format) -> str:
    """Return the name of the field that a refusal concerns, '' if it is not in the form."""
    if refusal.reason == "GAME_UNKNOWN":
        return MORE_GAMES
    where = refusal.facts.get("where", "").removesuffix("_ms")
    names = {field.name.removesuffix("_ms"): field.name for part in sections(format_) for field in part.fields}
    names |= {"name": "name", "games": MORE_GAMES}
    if where and where != "format" and where.partition(".")[0] not in {name.partition(".")[0] for name in names}:
        return MORE_GAMES  # a parameter of a game
    while where and where not in names:  # for an entry of a table: its table
        where = where.rpartition(".")[0]
    return names.get(where, "")
