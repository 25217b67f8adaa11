"""Specifications as mappings: read from TOML or JSON, written as JSON. Errors name the field.

A file names the parts of `arbiter.tournaments.spec` by their fields; times may be written like "90s" or "2h".
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Mapping, Sequence, Sized
from enum import StrEnum
from functools import partial
from typing import Any, Final, TypeVar

from arbiter.errors import Refusal, parameter_invalid
from arbiter.games import registry
from arbiter.plain_text import is_plain
from arbiter.tournaments import formats
from arbiter.tournaments.spec import (
    ATTEMPTS,
    Adjudication,
    EntryRules,
    Format,
    OpeningOrder,
    Openings,
    Options,
    Schedule,
    Spec,
    TieBreak,
    TooFew,
)

_invalid: Final = partial(parameter_invalid, of="a tournament")

E = TypeVar("E", bound=StrEnum)

LONGEST_NAME: Final = 100  #: maximum characters of names and of other single words
MOST_PLAYERS: Final = 10_000
MOST_INVITED: Final = 2_000  #: maximum players on a list of those who may enter
MOST_ODDS: Final = 500  #: maximum players with a time control of their own
MOST_FORBIDDEN: Final = 1_000  #: maximum pairs of players who never meet
MOST_POLICY: Final = 50  #: maximum fields of a policy
MOST_GAMES: Final = 20  #: maximum variants of a meeting
MOST_LINES: Final = 1_000  #: maximum opening lines of a tournament
MOST_LINE_MOVES: Final = 100  #: maximum moves of an opening line
MOST_OPENING_MOVES: Final = 5_000  #: maximum moves of all opening lines together
MOST_ATTEMPTS: Final = 100  #: also in older records, in which the number was not bounded
MOST_TABLE: Final = 100  #: maximum fields of a part of the specification
DAY_MS: Final = 86_400_000
#: an instant before it, in March 1973, can only have been meant in seconds (in these it is in the year 5138)
EARLIEST_MS: Final = 100_000_000_000
DATE: Final = "2026-12-01T18:00:00Z"  #: how a date and time is written in a file

NUMBERS: Final[Mapping[str, tuple[int, int]]] = {
    "at_once": (1, 1_000),
    "attempts": (1, MOST_ATTEMPTS),
    "options.cycles": (1, 1_000),
    "options.heads": (1, MOST_PLAYERS),
    "options.rounds": (0, 100),
    "options.best_of": (1, 99),
    "options.elo0": (-1_000, 1_000),
    "options.elo1": (-1_000, 1_000),
    "options.alpha": (1, 499),
    "options.beta": (1, 499),
    "options.most_meetings": (1, 10_000_000),
    "openings.plies": (0, 100),
    "entry.capacity": (0, MOST_PLAYERS),
    "schedule.start_ms": (0, 1 << 53),
    "schedule.entry_closes_ms": (0, 1 << 53),
    "adjudication.plies": (0, 1_000_000),
    "adjudication.material": (0, 1_000),
    "adjudication.material_plies": (0, 10_000),
    "adjudication.evaluation": (0, 500),
    "adjudication.evaluation_plies": (0, 10_000),
    "adjudication.draw_evaluation": (0, 500),
    "adjudication.draw_plies": (0, 10_000),
    "adjudication.draw_from_ply": (0, 1_000_000),
}
"""The range of every integer in a specification."""

_UNITS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": DAY_MS}
LONGEST_MS: Final = 3_650 * DAY_MS


def read_spec(values: Mapping[str, Any], time: Callable[[str], object], *, stored: bool = False) -> Spec:
    """Return the specification of a mapping that comes from TOML or JSON.

    The bounds on its lists keep each use of it in the server below ten milliseconds. Only this reading takes longer: it
    plays the opening lines by the rules. What is `stored` has been read in this way before, and is not bounded or
    played again.

    `time` validates a time control. Raises Refusal: PARAMETER_INVALID (facts what, where, allowed) for a field that is
    unknown, missing or out of range; GAME_UNKNOWN; whatever `time` raises.
    """
    reader = _Reader(values, "", stored)
    reader.knows([field.name for field in dataclasses.fields(Spec)])  # first: a name that is mistyped is missing too
    games = tuple(registry.game(name).variant for name in reader.words("games", most=MOST_GAMES, least=1))
    spec = Spec(
        name=reader.word("name", least=1),
        format=reader.choice("format", Format),
        games=games,
        time=str(time(reader.word("time", least=1))),
        rated=reader.flag("rated", True),
        paired=reader.flag("paired", True),
        at_once=reader.number("at_once", 1),
        attempts=reader.number("attempts", MOST_ATTEMPTS if stored else ATTEMPTS),
        options=_options(reader.section("options")),
        openings=_openings(reader.section("openings")),
        entry=_entry(reader.section("entry")),
        schedule=_schedule(reader.section("schedule")),
        adjudication=_adjudication(reader.section("adjudication")),
        tie_breaks=tuple(_choice(word, "tie_breaks", TieBreak) for word in reader.words("tie_breaks", most=20)),
        policy={name: _policy_value(value, name) for name, value in reader.table("policy", MOST_POLICY).items()},
        time_odds={player: str(time(str(control))) for player, control in reader.table("time_odds", MOST_ODDS).items()},
    )
    reader.done()
    check(spec)
    if not stored and spec.openings.seed and not spec.openings.plies and spec.openings.order is not OpeningOrder.RANDOM:
        allowed = "left out: only random plies (openings.plies) and a random order of lines are drawn from it"
        raise _invalid(spec.openings.seed, "openings.seed", allowed)
    return spec


def check(spec: Spec) -> None:
    """Raise Refusal PARAMETER_INVALID for parts of a specification that contradict each other."""
    options = spec.options
    wrong = formats.of(spec).invalid_option(options)
    if wrong is not None:
        raise _invalid(wrong.value, f"options.{wrong.field}", wrong.allowed)
    if options.double and options.third_place:
        raise _invalid("true", "options.third_place", "false in a double elimination, which has a third place anyway")
    if spec.openings.plies and not spec.openings.seed:
        raise _invalid("", "openings.seed", "a text that the random plies are drawn from")
    if spec.openings.order is OpeningOrder.RANDOM and not (spec.openings.lines and spec.openings.seed):
        if spec.openings.lines:
            raise _invalid("", "openings.seed", "a text by which the lines are shuffled")
        raise _invalid("random", "openings.order", "sequential where no lines are given; plies are random anyway")
    if spec.openings.plies and spec.openings.lines:
        raise _invalid(str(spec.openings.plies), "openings.plies", "0 where lines are given")
    for game in spec.openings.lines:
        if game not in spec.games:
            raise _invalid(game, "openings.lines", "the name of one of the tournament's games")


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

    def __init__(self, values: Mapping[str, Any], where: str, stored: bool) -> None:
        self._values = values
        self.stored = stored
        self._where = where
        self._asked: set[str] = set()

    def place(self, name: str) -> str:
        return f"{self._where}.{name}" if self._where else name

    def take(self, name: str, default: Any) -> Any:
        self._asked.add(name)
        return self._values.get(name, default)

    def number(self, name: str, default: int) -> int:
        place = self.place(name)
        low, high = NUMBERS[place]
        value = self.take(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise _invalid(str(value), place, f"a whole number from {low} to {high}")
        return value

    def duration(self, name: str) -> int:
        """Return `name_ms` in milliseconds, or `name` with a unit."""
        place = self.place(name)
        value = self.take(f"{name}_ms", 0)
        written = self.take(name, None)
        if written is not None:
            return duration_ms(str(written), place)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= LONGEST_MS:
            raise _invalid(str(value), f"{place}_ms", f"a whole number from 0 to {LONGEST_MS}")
        return value

    def flag(self, name: str, default: bool) -> bool:
        value = self.take(name, default)
        if not isinstance(value, bool):
            shown = f'"{value}"' if isinstance(value, str) else value
            raise _invalid(shown, self.place(name), "true or false, without quotes")
        return value

    def word(self, name: str, default: str = "", least: int = 0) -> str:
        return _word(self.take(name, default), self.place(name), least)

    def words(self, name: str, most: int, least: int = 0) -> tuple[str, ...]:
        values = self.take(name, ())
        if not isinstance(values, Sequence) or isinstance(values, str) or not least <= len(values):
            raise _invalid(_shown(values), self.place(name), f"a list of {least} to {most} texts")
        self.bounded(values, name, most, "texts")
        return tuple(_word(value, self.place(name), 1) for value in values)

    def choice(self, name: str, kind: type[E]) -> E:
        return _choice(self.take(name, ""), self.place(name), kind)

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
        return _Reader(self.table(name), self.place(name), self.stored)

    def done(self) -> None:
        """Raise Refusal PARAMETER_INVALID for an unknown field."""
        self.knows(self._asked)

    def knows(self, names: Collection[str]) -> None:
        """Raise Refusal PARAMETER_INVALID for a field that is not one of these."""
        for name in self._values:
            if name not in names:
                raise _invalid(str(name), self._where or "specification", f"one of {', '.join(sorted(names))}")


def _options(reader: _Reader) -> Options:
    default = Options(keep_early_leavers=reader.stored)  # tournaments of older servers kept them
    values: dict[str, Any] = {}
    for field in dataclasses.fields(Options):
        if field.name == "duration_ms":
            values[field.name] = reader.duration("duration")
        elif field.type == "bool":
            values[field.name] = reader.flag(field.name, getattr(default, field.name))
        else:
            values[field.name] = reader.number(field.name, getattr(default, field.name))
    options = Options(**values)
    reader.done()
    return options


def _openings(reader: _Reader) -> Openings:
    lines: dict[str, tuple[tuple[str, ...], ...]] = {}
    moves = 0
    for name, given in reader.table("lines").items():
        place = f"openings.lines.{name}"
        game = registry.game(name)
        if not isinstance(given, Sequence) or isinstance(given, str):
            raise _invalid(str(given), place, "a list of lines, each a list of moves")
        if sum(map(len, lines.values())) + len(given) > MOST_LINES and not reader.stored:
            raise _invalid(f"{len(given)} lines", place, f"at most {MOST_LINES} lines of all games")
        words = [tuple(line.split()) if isinstance(line, str) else tuple(map(str, line)) for line in given]
        moves += sum(map(len, words))
        if moves > MOST_OPENING_MOVES and not reader.stored:
            raise _invalid(f"{moves} moves", place, f"at most {MOST_OPENING_MOVES} moves of all lines and games")
        if not reader.stored:
            for line in words:
                _check_line(game, line, place)
        lines[game.variant] = tuple(words)
    openings = Openings(reader.number("plies", 0), reader.word("seed"), lines, _order(reader))
    reader.done()
    return openings


def _order(reader: _Reader) -> OpeningOrder:
    """Return the order of the opening lines. One that is stored without it was made by an older server."""
    word = reader.take("order", OpeningOrder.MEETING if reader.stored else OpeningOrder.SEQUENTIAL)
    if word in tuple(OpeningOrder) and (reader.stored or word != OpeningOrder.MEETING):
        return OpeningOrder(word)
    allowed = f"{OpeningOrder.SEQUENTIAL} or {OpeningOrder.RANDOM}"
    raise _invalid(_shown(word), reader.place("order"), allowed)


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


def _entry(reader: _Reader) -> EntryRules:
    forbidden = reader.take("forbidden", ())
    pairs: list[tuple[str, str]] = []
    if isinstance(forbidden, Sequence):
        reader.bounded(forbidden, "forbidden", MOST_FORBIDDEN, "pairs")
    for pair in forbidden if isinstance(forbidden, Sequence) else (forbidden,):
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise _invalid(str(pair), "entry.forbidden", "pairs of players")
        first, second = (_word(player, "entry.forbidden", 1) for player in pair)
        if first == second:
            raise _invalid(first, "entry.forbidden", "pairs of two players")
        pairs.append((first, second))
    rules = EntryRules(
        reader.number("capacity", 0),
        reader.words("invited", MOST_INVITED),
        reader.words("versions", 100),
        tuple(pairs),
        reader.flag("badge", False),
    )
    reader.done()
    return rules


def _adjudication(reader: _Reader) -> Adjudication:
    plugin = reader.word("plugin")
    names = [field.name for field in dataclasses.fields(Adjudication) if field.name != "plugin"]
    adjudication = Adjudication(**{name: reader.number(name, 0) for name in names}, plugin=plugin)
    reader.done()
    return adjudication


def _schedule(reader: _Reader) -> Schedule:
    start, closes = reader.number("start_ms", 0), reader.number("entry_closes_ms", 0)
    for name, given in (("start_ms", start), ("entry_closes_ms", closes)):
        if 0 < given < EARLIEST_MS and not reader.stored:
            allowed = (
                f"milliseconds since 1970, not seconds: {given}000, or in a file {name.removesuffix('_ms')} = {DATE}"
            )
            raise _invalid(str(given), reader.place(name), allowed)
    schedule = Schedule(start, closes, _choice(reader.take("too_few", TooFew.WAIT), reader.place("too_few"), TooFew))
    reader.done()
    return schedule


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
