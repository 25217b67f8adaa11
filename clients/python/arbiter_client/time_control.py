"""Time controls, compared by meaning: `60s+2s` is `1m+2s`. The arbiter writes the canonical form, a bot any form."""

from __future__ import annotations

import re
from typing import Final

ALLOWED: Final = "5m, 5m+3s, 5m+3sd, 5m+3sb, 300ms/move, 300ms/move+10s, 1m+3x10s, 40/30m or none"
LONGEST_TEXT: Final = 40  #: characters
LONGEST_MS: Final = 168 * 3_600_000  #: of each duration
MOST_PERIODS: Final = 100
MOST_MOVES: Final = 1_000

UNITS: Final = {"h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}  #: unit to milliseconds, large to small
_TIME: Final = r"[1-9][0-9]{0,8}(?:ms|s|m|h)"
_FORM: Final = re.compile(
    rf"none|{_TIME}(?:\+{_TIME}[db]?)?|{_TIME}/move(?:\+{_TIME})?"
    rf"|{_TIME}\+(?P<periods>[1-9][0-9]{{0,3}})x{_TIME}|(?P<moves>[1-9][0-9]{{0,3}})/{_TIME}",
    re.ASCII,
)
_DURATION: Final = re.compile(r"([0-9]+)(ms|s|m|h)", re.ASCII)


def canonical(text: str) -> str:
    """Return the canonical form of a time control: each duration in the largest unit that divides it.

    Raises ValueError for a text that is none, as the arbiter does (`arbiter/matches/time_control.py`).
    """
    found = _FORM.fullmatch(text) if len(text) <= LONGEST_TEXT else None
    if found is None or int(found["periods"] or 1) > MOST_PERIODS or int(found["moves"] or 1) > MOST_MOVES:
        raise ValueError(f"{text[: LONGEST_TEXT + 1]!r} is no time control: expected {ALLOWED}")

    def shortest(time: re.Match[str]) -> str:
        milliseconds = int(time[1]) * UNITS[time[2]]
        if milliseconds > LONGEST_MS:
            raise ValueError(f"{time[0]} in the time control {text!r} is more than 168h")
        unit = next(unit for unit, length in UNITS.items() if milliseconds % length == 0)
        return f"{milliseconds // UNITS[unit]}{unit}"

    return _DURATION.sub(shortest, text)


def same(one: str, other: str) -> bool:
    """Return whether two texts are the same time control. Texts that are none are compared as they are."""
    try:
        return one == other or canonical(one) == canonical(other)
    except ValueError:  # of a newer arbiter, say
        return False
