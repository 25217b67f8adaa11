"""The form for a new tournament: the fields of each format, with the server's own defaults and bounds.

The name of a field is the name of the value in the specification (`options.rounds`), and refusals use the same name.
This module only converts the texts of a form into the shape of a specification; `read_spec` alone checks them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields as fields_of
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from arbiter.errors import Refusal, parameter_invalid
from arbiter.matches import time_control
from arbiter.tournaments.formats import PAIRERS
from arbiter.tournaments.spec import Adjudication, Format, OpeningOrder, Options, Spec, TooFew
from arbiter.tournaments.spec_text import NUMBERS, read_spec

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


_LABELS: Final[Mapping[str, tuple[str, str]]] = {
    "cycles": ("Cycles", "how often each pair meets"),
    "keep_early_leavers": ("Games of who leaves early count", "with less than half of them completed"),
    "heads": ("Heads", "how many of the first to enter run the gauntlet"),
    "same_openings": ("Every opponent plays the same openings", "as Openings says"),
    "rounds": ("Rounds", "about log₂ of the number of players find one leader"),
    "accelerated": ("Baku acceleration", "for large fields"),
    "best_of": ("Best of", "meetings of a tie"),
    "double": ("Double elimination", "out after two lost ties"),
    "third_place": ("Match for third place", ""),
    "duration_ms": ("Duration", "as 90s, 5m, 2h or 1d"),
    "validation": ("Newcomers first play against themselves", ""),
    "elo0": ("Elo 0", "the hypothesis that A is not better by more"),
    "elo1": ("Elo 1", "the hypothesis that A is better by this"),
    "alpha": ("Alpha", "permille: error rate of “better”"),
    "beta": ("Beta", "permille: error rate of “not better”"),
    "most_meetings": ("Most meetings", "then it ends undecided"),
    "plies": ("Draw after plies", "0: never"),
    "material": ("Material ahead", "wins, if held; 0: never"),
    "material_plies": ("… for plies", ""),
    "evaluation": ("Evaluation ahead", "permille above an even 500, by both bots; 0: never"),
    "evaluation_plies": ("… for plies", ""),
    "draw_evaluation": ("Level within", "permille, by both bots"),
    "draw_plies": ("… for plies", "0: never"),
    "draw_from_ply": ("… from ply", ""),
    "plugin": ("Plug-in", "the name of one that is installed"),
}

_KINDS: Final[Mapping[str, str]] = {"int": "number", "bool": "check", "str": "text"}
_PAIRS: Final = re.compile(r"\s*[=:]\s*")
GAME: Final = "game:"  #: the first part of the name of a game's check box
MORE_GAMES: Final = "more_games"

_LISTS: Final = ("tie_breaks", "entry.invited")  #: words
_LINES: Final = ("entry.versions",)  #: one text a line
_ROWS: Final = ("entry.forbidden",)  #: words, one row a line
_TABLES: Final = ("time_odds", "policy")  #: `name = value`, one a line


def sections(format_: Format) -> list[FormSection]:
    """Return the fields for a new tournament of a format. Those for games are in the page itself."""
    pairer = PAIRERS[format_]
    usual = ", ".join(pairer.tie_breaks) or "none"
    return [
        FormSection("Play", _play(format_)),
        FormSection("Who may enter", _entry(), more=True),
        FormSection("Openings", _openings(), more=True),
        FormSection("Ends of games by rule", list(_part("adjudication", Adjudication)), more=True),
        FormSection(
            "Schedule and the rest",
            [
                FormField("schedule.start_ms", "Starts at", "instant", note="UTC; else you start it"),
                FormField(
                    "schedule.too_few",
                    "With too few players then",
                    "choice",
                    TooFew.WAIT,
                    choices=(TooFew.WAIT, TooFew.CANCEL),
                ),
                FormField("schedule.entry_closes_ms", "Entry closes at", "instant", note="UTC; else at the start"),
                FormField("tie_breaks", "Tie-breaks", note=f"in order; else {usual}"),
                FormField("time_odds", "Time odds", "lines", note="player = time, one a line"),
                FormField("policy", "Policy", "lines", note="as illegal_moves = 4, one a line"),
            ],
            more=True,
        ),
    ]


def _play(format_: Format) -> list[FormField]:
    spec = Spec("", format_, (), "")
    return [
        FormField("time", "Time", default="1m+1s", note="as 3m+2s; none for no clock"),
        *_options(format_),
        FormField("at_once", "Games at once", "number", str(spec.at_once), NUMBERS["at_once"], "of one player"),
        FormField(
            "attempts",
            "Attempts",
            "number",
            str(spec.attempts),
            NUMBERS["attempts"],
            "of a game with void matches",
        ),
        FormField("paired", "Each game twice, with seats swapped", "check", "on" if spec.paired else ""),
        FormField("rated", "Rated", "check", "on" if spec.rated else ""),
    ]


def _options(format_: Format) -> Iterable[FormField]:
    """Yield the options of a format. One without a usable default is empty, and required."""
    wanted = PAIRERS[format_].invalid_option(Options())
    for field in _part("options", Options, PAIRERS[format_].options):
        missing = wanted is not None and field.name == f"options.{wanted.field}".removesuffix("_ms")
        yield field._replace(default="", required=True) if missing else field


def _entry() -> list[FormField]:
    return [
        FormField("entry.capacity", "Maximum of players", "number", "0", NUMBERS["entry.capacity"], "0: no limit"),
        FormField("entry.invited", "Only these players", "lines", note="names"),
        FormField("entry.versions", "Only these versions", "lines", note="their beginnings, one a line"),
        FormField("entry.forbidden", "Never paired", "lines", note="two names a line"),
        FormField("entry.badge", "Only bots that have passed the conformance kit", "check"),
    ]


def _openings() -> list[FormField]:
    return [
        FormField(
            "openings.plies", "Random plies", "number", "0", NUMBERS["openings.plies"], "before the clocks start"
        ),
        FormField("openings.seed", "Seed", note="any text; of the random plies, or of a random order"),
        FormField("openings.lines", "Opening lines instead", "lines", note="game: move move …, one a line"),
        FormField(
            "openings.order",
            "Order of the lines",
            "choice",
            OpeningOrder.SEQUENTIAL,
            note="for each pair",
            choices=(OpeningOrder.SEQUENTIAL, OpeningOrder.RANDOM),
        ),
    ]


def _part(part: str, kind: type[Options | Adjudication], names: Iterable[str] | None = None) -> Iterable[FormField]:
    """Yield the fields of a part of the specification, with its defaults; `names`: only these fields."""
    known = {field.name: field for field in fields_of(kind)}
    for name in known if names is None else names:
        label, note = _LABELS.get(name, (name.replace("_", " "), ""))
        place, default = f"{part}.{name}", getattr(kind(), name)
        if name.endswith("_ms"):
            yield FormField(place.removesuffix("_ms"), label, note=note)
        else:
            shown = ("on" if default else "") if isinstance(default, bool) else str(default)
            yield FormField(place, label, _KINDS[str(known[name].type)], shown, NUMBERS.get(place), note)


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
    if field.name in _LINES:
        return [line.strip() for line in text.splitlines() if line.strip()]
    if field.name in _ROWS:
        return [line.split() for line in text.splitlines() if line.strip()]
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
