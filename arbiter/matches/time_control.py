"""Time controls, and the one notation for them that is parsed and shown everywhere.

| notation | control |
| --- | --- |
| `5m` | main time for the whole match |
| `5m+3s` | main time with an increment after every move (Fischer) |
| `5m+3sd` | main time with a simple delay: the clock of a move starts to run 3 s late (US delay) |
| `5m+3sb` | Bronstein delay: after a move its time is given back, up to 3 s |
| `300ms/move` | fixed time a move; what a move leaves over is lost |
| `300ms/move+10s` | the same with a bank of 10 s for the whole match, which pays what a move takes beyond its 300 ms |
| `1m+3x10s` | byo-yomi: main time, then 3 periods of 10 s; a move within a period leaves that period whole |
| `40/30m` | 30 minutes for 40 moves, again and again; what is left over is kept |
| `none` | no clock; the server's cap on a move still holds |

A duration is one number without leading zeros and one unit: `ms`, `s`, `m` or `h`. Its canonical form uses the largest
unit that divides it: 90 seconds are `90s`, 120 seconds `2m`, a second and a half `1500ms`. Every duration is 1 ms to
168 h (a week), there are 1 to 100 periods, and 1 to 1,000 moves in a session. All times are milliseconds inside.

A match with time odds has two controls, of seat 1 and of seat 2: `5m+3s:1m`. Two that are alike are written once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NoReturn

from arbiter.errors import Refusal, parameter_invalid, shortened

UNITS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}  #: unit to milliseconds, small to large
LONGEST_MS: Final = 168 * UNITS["h"]
MOST_PERIODS: Final = 100
MOST_MOVES: Final = 1_000
LONGEST_TEXT: Final = 40  #: characters
ALLOWED: Final = "5m, 5m+3s, 5m+3sd, 5m+3sb, 300ms/move, 300ms/move+10s, 1m+3x10s, 40/30m or none"


@dataclass(frozen=True, slots=True)
class Unlimited:
    """No clock: `none`."""

    def __str__(self) -> str:
        return "none"


@dataclass(frozen=True, slots=True)
class MainTime:
    """One time for all moves: `5m`."""

    main_ms: int

    def __str__(self) -> str:
        return duration(self.main_ms)


@dataclass(frozen=True, slots=True)
class Increment:
    """Main time, and an increment added after every move: `5m+3s`."""

    main_ms: int
    increment_ms: int

    def __str__(self) -> str:
        return f"{duration(self.main_ms)}+{duration(self.increment_ms)}"


@dataclass(frozen=True, slots=True)
class SimpleDelay:
    """Main time; of every move the first `delay_ms` are not counted: `5m+3sd`."""

    main_ms: int
    delay_ms: int

    def __str__(self) -> str:
        return f"{duration(self.main_ms)}+{duration(self.delay_ms)}d"


@dataclass(frozen=True, slots=True)
class BronsteinDelay:
    """Main time; after a move the time it took is given back, at most `delay_ms`: `5m+3sb`."""

    main_ms: int
    delay_ms: int

    def __str__(self) -> str:
        return f"{duration(self.main_ms)}+{duration(self.delay_ms)}b"


@dataclass(frozen=True, slots=True)
class FixedMove:
    """A fixed time for every move, and a bank (0: none) for the time that a move takes beyond it: `300ms/move+10s`."""

    move_ms: int
    bank_ms: int = 0

    def __str__(self) -> str:
        return f"{duration(self.move_ms)}/move" + (f"+{duration(self.bank_ms)}" if self.bank_ms else "")


@dataclass(frozen=True, slots=True)
class ByoYomi:
    """Main time, then periods; a period is used up only by a move that takes all of it: `1m+3x10s`."""

    main_ms: int
    periods: int
    period_ms: int

    def __str__(self) -> str:
        return f"{duration(self.main_ms)}+{self.periods}x{duration(self.period_ms)}"


@dataclass(frozen=True, slots=True)
class MovesPerPeriod:
    """A number of moves in a time, repeated; unused time is kept: `40/30m`."""

    moves: int
    session_ms: int

    def __str__(self) -> str:
        return f"{self.moves}/{duration(self.session_ms)}"


TimeControl = Unlimited | MainTime | Increment | SimpleDelay | BronsteinDelay | FixedMove | ByoYomi | MovesPerPeriod

_DURATION = r"([1-9][0-9]{0,8}(?:ms|s|m|h))"
_FORMS: Final = {
    form: re.compile(pattern, re.ASCII)
    for form, pattern in {
        "none": r"none",
        "main": _DURATION,
        "extra": rf"{_DURATION}\+{_DURATION}([db]?)",
        "move": rf"{_DURATION}/move(?:\+{_DURATION})?",
        "periods": rf"{_DURATION}\+([1-9][0-9]{{0,3}})x{_DURATION}",
        "session": rf"([1-9][0-9]{{0,3}})/{_DURATION}",
    }.items()
}
_PARTS = re.compile(r"([0-9]+)([a-z]+)", re.ASCII)
_EXTRAS: Final[dict[str, type[Increment | SimpleDelay | BronsteinDelay]]] = {
    "": Increment,
    "d": SimpleDelay,
    "b": BronsteinDelay,
}


def duration(milliseconds: int) -> str:
    """Return a duration in the largest unit that divides it."""
    unit = max((unit for unit in UNITS if milliseconds % UNITS[unit] == 0), key=UNITS.__getitem__)
    return f"{milliseconds // UNITS[unit]}{unit}"


@lru_cache(maxsize=1024)
def parse(text: str) -> TimeControl:
    """Return the time control of a notation; `str` of the result is its canonical form.

    Raises Refusal PARAMETER_INVALID (facts what, where, allowed).
    """
    for form, pattern in _FORMS.items():
        if len(text) <= LONGEST_TEXT and (found := pattern.fullmatch(text)):
            return _read(text, form, found)
    raise _refusal(text, ALLOWED)


def parse_pair(text: str) -> tuple[TimeControl, TimeControl]:
    """Return the time controls of seat 1 and seat 2 from their notation: one for both, or one each (time odds).

    Raises Refusal PARAMETER_INVALID as `parse` does, and for two that are longer than 40 characters together.
    """
    first, odds, second = text.partition(":")
    if odds and len(text) > LONGEST_TEXT:
        raise _refusal(text, f"two time controls of at most {LONGEST_TEXT} characters together")
    return parse(first), parse(second if odds else first)


def pair_text(controls: tuple[TimeControl, TimeControl]) -> str:
    """Return the canonical notation of the time controls of seat 1 and of seat 2."""
    first, second = controls
    return str(first) if first == second else f"{first}:{second}"


def _read(text: str, form: str, found: re.Match[str]) -> TimeControl:
    def time(group: int) -> int:
        parts = _PARTS.fullmatch(found[group])
        assert parts is not None  # the pattern matched
        milliseconds = int(parts[1]) * UNITS[parts[2]]
        return milliseconds if milliseconds <= LONGEST_MS else _too_large(found[group], "a duration of at most 168h")

    def count(group: int, most: int) -> int:
        number = int(found[group])
        return number if number <= most else _too_large(found[group], f"a number of at most {most}")

    def _too_large(what: str, allowed: str) -> NoReturn:
        raise _refusal(what, f"{allowed} in {text}")

    match form:
        case "none":
            return Unlimited()
        case "main":
            return MainTime(time(1))
        case "extra":
            return _EXTRAS[found[3]](time(1), time(2))
        case "move":
            return FixedMove(time(1), time(2) if found[2] else 0)
        case "periods":
            return ByoYomi(time(1), count(2, MOST_PERIODS), time(3))
        case _:
            return MovesPerPeriod(count(1, MOST_MOVES), time(2))


def _refusal(what: str, allowed: str) -> Refusal:
    return parameter_invalid(shortened(what, LONGEST_TEXT), "time", allowed)
