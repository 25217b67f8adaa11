"""Specifications as mappings: read from TOML or JSON, written as JSON. Errors name the field.

A file names the parts of `arbiter.tournaments.spec` by their fields; times may be written like "90s" or "2h".
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Mapping, Sequence, Sized
from enum import StrEnum
from functools import partial
from typing import Any, Final, TypeVar, get_args, get_origin

from arbiter.errors import Reason, Refusal, parameter_invalid
from arbiter.games import registry
from arbiter.options import UNSET, Described, Written, options_of
from arbiter.plain_text import is_plain
from arbiter.tournaments.groups import Named
from arbiter.tournaments.league_rules import LeagueSeason
from arbiter.tournaments.schedule import DATE
from arbiter.tournaments.spec import LONGEST_MS, PARTS, OpeningOrder, Spec
from arbiter.tournaments.spec_checks import check, check_drawn_start, drawn_start

_invalid: Final = partial(parameter_invalid, of="a tournament")

E = TypeVar("E", bound=StrEnum)

LONGEST_NAME: Final = 100  #: maximum characters of names and of other single words
MOST_POLICY: Final = 50  #: maximum fields of a policy
MOST_LINES: Final = 1_000  #: maximum opening lines of a tournament
MOST_LINE_MOVES: Final = 100  #: maximum moves of an opening line
MOST_OPENING_MOVES: Final = 5_000  #: maximum moves of all opening lines together
LARGEST_LISTED: Final = 10_000  #: maximum of a whole number in a list
MOST_NAMES: Final = 2_000  #: maximum players of a group
MOST_TABLE: Final = 100  #: maximum fields of a part of the specification
#: an instant before it, in March 1973, can only have been meant in seconds (in these it is in the year 5138)
EARLIEST_MS: Final = 100_000_000_000

_UNITS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def read_spec(
    values: Mapping[str, Any],
    time: Callable[[str], object],
    *,
    stored: bool = False,
    elsewhere: set[str] | None = None,
) -> Spec:
    """Return the specification of a mapping that comes from TOML or JSON.

    The bounds on its lists keep each use of it in the server below ten milliseconds. Only this reading takes longer: it
    plays the opening lines by the rules. What is `stored` has been read in this way before, and is not bounded or
    played again: its games need not be installed any more.

    `time` validates a time control. elsewhere: takes the games that are unknown here; what depends on their rules is
    left to the server that has them. Without it they are refused.

    Raises Refusal: PARAMETER_INVALID (facts what, where, allowed) for a field that is unknown, missing or out of range;
    GAME_UNKNOWN; whatever `time` raises.
    """
    reader = _Reader(values, "", stored, elsewhere)
    reader.knows([field.name for field in dataclasses.fields(Spec)])  # first: a name that is mistyped is missing too
    of_all = options_of(Spec)
    special = {
        "name": reader.word("name", least=1),
        "format": reader.option(of_all["format"]),
        "games": tuple(map(reader.variant, reader.words(of_all["games"]))),
        "time": str(time(reader.word("time", least=1))),
        "policy": {name: _policy_value(value, name) for name, value in reader.table("policy", MOST_POLICY).items()},
        "time_odds": {
            player: str(time(str(control)))
            for player, control in reader.table("time_odds", of_all["time_odds"].range[1]).items()
        },
    }
    parts: dict[str, Any] = {"season": _season(reader)}
    for name, kind in PARTS.items():
        section = reader.section(name)
        reads = {"lines": _lines, "forbidden": _forbidden}
        parts[name] = section.part(
            kind, {field: read(section) for field, read in reads.items() if field in options_of(kind)}
        )
    spec: Spec = reader.part(Spec, special | parts)
    check(spec)
    if stored or elsewhere:
        return spec
    check_drawn_start(spec)
    needless = not spec.openings.plies and spec.openings.order is not OpeningOrder.RANDOM and not drawn_start(spec)
    if spec.openings.seed and needless:
        allowed = "left out: only random plies (openings.plies) and a random order of lines are drawn from it, and the "
        allowed += "start positions of games that have several"
        raise _invalid(spec.openings.seed, "openings.seed", allowed)
    return spec


def write_spec(spec: Spec) -> dict[str, Any]:
    """Return a specification as JSON values, from which `read_spec` restores it."""
    return _fields(spec)


def duration_ms(text: str, where: str) -> int:
    """Return a duration like "90s", "5m", "2h" or "1d" in milliseconds. Raises Refusal PARAMETER_INVALID."""
    found = re.fullmatch(r"([0-9]{1,9})(ms|s|m|h|d)", text, re.ASCII)
    value = int(found[1]) * _UNITS[found[2]] if found else -1
    if not 0 <= value <= LONGEST_MS:
        raise _invalid(text, where, "a duration like 90s, 5m, 2h or 1d, at most 3650d")
    return value


class _Reader:
    """Reads the fields of a mapping by name and kind, and detects unknown fields."""

    def __init__(self, values: Mapping[str, Any], where: str, stored: bool, elsewhere: set[str] | None) -> None:
        self._values = values
        self.stored = stored
        self.elsewhere = elsewhere
        self._where = where
        self._asked: set[str] = set()

    def place(self, name: str) -> str:
        return f"{self._where}.{name}" if self._where else name

    def take(self, name: str, default: Any) -> Any:
        self._asked.add(name)
        return self._values.get(name, default)

    def variant(self, name: str) -> str:
        """Return the canonical name of a variant: what is stored has it. One of a game elsewhere stays as it is."""
        try:
            return name if self.stored else registry.game(name).variant
        except Refusal as refusal:
            if self.elsewhere is None or refusal.reason is not Reason.GAME_UNKNOWN:
                raise
            self.elsewhere.add(name)
            return name

    def part(self, kind: type, special: Mapping[str, Any]) -> Any:
        """Return a part of a specification whose fields are read by their options, except those that are given."""
        plain = {name: self.option(each) for name, each in options_of(kind).items() if name not in special}
        self._asked.update(special)
        self.done()
        return kind(**special, **plain)

    def option(self, field: Described) -> Any:
        """Return the value of a field. Raises Refusal PARAMETER_INVALID for one that the option does not allow."""
        default: Any = field.option.stored if self.stored and field.option.stored is not UNSET else field.default
        if field.kind is bool:
            return self.flag(field.name, default)
        if field.kind is int:
            return self.number(field, default)
        if field.kind is str:
            return self.word(field.name, default)
        if field.kind == tuple[int, ...]:
            return self.numbers(field)
        if field.kind == Named:
            return self.groups(field)
        if get_origin(field.kind) is tuple:
            words, kind = self.words(field), get_args(field.kind)[0]
            return words if kind is str else tuple(_choice(word, self.place(field.name), kind) for word in words)
        return self.choice(field, default)

    def number(self, field: Described, default: int) -> int:
        """Return a whole number, which may also be written as a duration. Instants can only be in milliseconds."""
        low, high = field.range
        place, value = self.place(field.name), self.take(field.name, default)
        if field.option.written is Written.DURATION:
            short = field.name.removesuffix("_ms")
            written = self.take(short, None)
            if written is not None:
                return duration_ms(str(written), self.place(short))
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise _invalid(str(value), place, f"a whole number from {low} to {high}")
        if field.option.written is Written.INSTANT and 0 < value < EARLIEST_MS and not self.stored:
            short = field.name.removesuffix("_ms")
            allowed = f"milliseconds since 1970, not seconds: {value}000, or in a file {short} = {DATE}"
            raise _invalid(str(value), place, allowed)
        return value

    def numbers(self, field: Described) -> tuple[int, ...]:
        """Return a list of whole numbers. Raises Refusal PARAMETER_INVALID."""
        values = self.take(field.name, ())
        if not isinstance(values, Sequence) or isinstance(values, str) or len(values) > field.range[1]:
            raise _invalid(_shown(values), self.place(field.name), field.allowed)
        for value in values:
            if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= LARGEST_LISTED:
                raise _invalid(_shown(value), self.place(field.name), field.allowed)
        return tuple(values)

    def flag(self, name: str, default: bool) -> bool:
        value = self.take(name, default)
        if not isinstance(value, bool):
            shown = f'"{value}"' if isinstance(value, str) else value
            raise _invalid(shown, self.place(name), "true or false, without quotes")
        return value

    def word(self, name: str, default: str = "", least: int = 0) -> str:
        return _word(self.take(name, default), self.place(name), least)

    def words(self, field: Described) -> tuple[str, ...]:
        name, (least, most) = field.name, field.range
        values = self.take(name, ())
        if not isinstance(values, Sequence) or isinstance(values, str) or not least <= len(values):
            raise _invalid(_shown(values), self.place(name), f"a list of {least} to {most} texts")
        self.bounded(values, name, most, "texts")
        return tuple(_word(value, self.place(name), 1) for value in values)

    def groups(self, field: Described) -> dict[str, tuple[str, ...]]:
        """Return players by the name of their group."""
        table = self.table(field.name, field.range[1])
        groups = _Reader(table, self.place(field.name), self.stored, self.elsewhere)
        return {name: groups._names(name) for name in table}

    def _names(self, name: str) -> tuple[str, ...]:
        given = self.take(name, ())
        if not isinstance(given, Sequence) or isinstance(given, str) or not given:
            raise _invalid(_shown(given), self.place(name), "a list of players")
        self.bounded(given, name, MOST_NAMES, "players")
        return tuple(_word(player, self.place(name), 1) for player in given)

    def choice(self, field: Described, default: Any) -> StrEnum:
        """Return a word. What is stored may be one that nobody can choose any more."""
        value = self.take(field.name, "" if default is UNSET else default)
        words = tuple(field.kind) if self.stored else field.words
        if not isinstance(value, str) or value not in words:
            raise _invalid(_shown(value), self.place(field.name), " or ".join(field.words))
        found: StrEnum = field.kind(value)
        return found

    def bounded(self, values: Sized, name: str, most: int, what: str) -> None:
        """Raise Refusal PARAMETER_INVALID for a list or table that is too long, unless it is stored."""
        if len(values) > most and not self.stored:
            raise _invalid(f"{len(values)} {what}", self.place(name), f"at most {most} {what}")

    def table(self, name: str, most: int = MOST_TABLE) -> Mapping[str, Any]:
        value = self.take(name, {})
        if not isinstance(value, Mapping):
            raise _invalid(_shown(value), self.place(name), f"a table of at most {most} entries")
        self.bounded(value, name, most, "entries")
        return {_word(key, self.place(name), 1): entry for key, entry in value.items()}

    def section(self, name: str) -> _Reader:
        return _Reader(self.table(name), self.place(name), self.stored, self.elsewhere)

    def done(self) -> None:
        """Raise Refusal PARAMETER_INVALID for an unknown field."""
        self.knows(self._asked)

    def knows(self, names: Collection[str]) -> None:
        """Raise Refusal PARAMETER_INVALID for a field that is not one of these."""
        for name in self._values:
            if name not in names:
                raise _invalid(str(name), self._where or "specification", f"one of {', '.join(sorted(names))}")


def _lines(reader: _Reader) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return the opening lines by variant. Those of a request are played by the rules."""
    lines: dict[str, tuple[tuple[str, ...], ...]] = {}
    moves = 0
    for name, given in reader.table("lines").items():
        place = f"openings.lines.{name}"
        variant = reader.variant(name)
        if not isinstance(given, Sequence) or isinstance(given, str):
            raise _invalid(str(given), place, "a list of lines, each a list of moves")
        if sum(map(len, lines.values())) + len(given) > MOST_LINES and not reader.stored:
            raise _invalid(f"{len(given)} lines", place, f"at most {MOST_LINES} lines of all games")
        words = [tuple(line.split()) if isinstance(line, str) else tuple(map(str, line)) for line in given]
        moves += sum(map(len, words))
        if moves > MOST_OPENING_MOVES and not reader.stored:
            raise _invalid(f"{moves} moves", place, f"at most {MOST_OPENING_MOVES} moves of all lines and games")
        if not reader.stored and name not in (reader.elsewhere or ()):
            for line in words:
                _check_line(registry.game(name), line, place)
        lines[variant] = tuple(words)
    return lines


def _check_line(game: Any, line: tuple[str, ...], place: str) -> None:
    """Raise Refusal PARAMETER_INVALID for an opening line that the rules do not allow, or that ends the game."""
    if len(line) > MOST_LINE_MOVES:
        raise _invalid(f"{len(line)} moves", place, f"at most {MOST_LINE_MOVES} moves")
    position = game.initial()
    for move in line:
        if position.outcome is not None:
            raise _invalid(" ".join(line), place, "a line that does not end the game")
        try:
            position = game.play(position, move)
        except Refusal as refusal:
            raise _invalid(" ".join(line), place, f"legal moves ({refusal.message})") from None
    if position.outcome is not None:
        raise _invalid(" ".join(line), place, "a line that does not end the game")


def _season(reader: _Reader) -> LeagueSeason:
    """Return what a server has filled in for a season. Raises Refusal PARAMETER_INVALID for that of a request."""
    given = reader.table("season")
    if not reader.stored:
        if any(given.values()):
            raise _invalid("a season", "season", "left out: the server fills it in")
        return LeagueSeason()
    groups = {
        name: {key: tuple(players) for key, players in given.get(name, {}).items()} for name in ("places", "moves")
    }
    return LeagueSeason(given.get("before", 0), given.get("division", 0), given.get("first", ""), **groups)


def _forbidden(reader: _Reader) -> tuple[tuple[str, str], ...]:
    forbidden = reader.take("forbidden", ())
    pairs: list[tuple[str, str]] = []
    if isinstance(forbidden, Sequence):
        reader.bounded(forbidden, "forbidden", options_of(PARTS["entry"])["forbidden"].range[1], "pairs")
    for pair in forbidden if isinstance(forbidden, Sequence) else (forbidden,):
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise _invalid(str(pair), "entry.forbidden", "pairs of players")
        first, second = (_word(player, "entry.forbidden", 1) for player in pair)
        if first == second:
            raise _invalid(first, "entry.forbidden", "pairs of two players")
        pairs.append((first, second))
    return tuple(pairs)


def _policy_value(value: Any, name: str) -> int | str:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise _invalid(str(value), f"policy.{name}", "a whole number or a word")
    return value


def _word(value: Any, where: str, least: int) -> str:
    if not isinstance(value, str) or not is_plain(value, LONGEST_NAME, least):
        raise _invalid(str(value), where, f"a text of {least} to {LONGEST_NAME} printable characters")
    return value


def _choice(value: Any, where: str, kind: type[E]) -> E:
    try:
        return kind(value)
    except ValueError:
        raise _invalid(str(value), where, " or ".join(map(str, kind))) from None


def _shown(value: Any) -> str:
    """Return a value as a message shows it: no list is so long that writing it down takes long."""
    return f"{len(value)} entries" if isinstance(value, Sized) and not isinstance(value, str) else str(value)


def _fields(part: Any) -> dict[str, Any]:
    return {field.name: _plain(getattr(part, field.name)) for field in dataclasses.fields(part)}


def _plain(value: Any) -> Any:
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, str | int):
        return value
    if isinstance(value, Mapping):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return _fields(value)
