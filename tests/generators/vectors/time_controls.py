"""Time controls in every form, texts that are none, and the control of each seat of a match."""

from __future__ import annotations

from typing import Any, Final

from arbiter.errors import Refusal
from arbiter.matches.time_control import parse

CASES: Final = (
    ("main time", "5m"),
    ("main time in a smaller unit", "60s"),
    ("main time in milliseconds", "90000ms"),
    ("no larger unit divides it", "1500ms"),
    ("minutes that are hours", "120m"),
    ("an increment", "1m+2s"),
    ("an increment, both in smaller units", "60s+2000ms"),
    ("a simple delay", "300s+3000msd"),
    ("a Bronstein delay", "300s+3000msb"),
    ("a fixed time a move", "300ms/move"),
    ("a fixed time a move in a smaller unit", "60s/move"),
    ("a fixed time a move with a bank", "1000ms/move+600s"),
    ("byo-yomi", "60s+3x10000ms"),
    ("moves in a time", "40/1800s"),
    ("no clock", "none"),
    ("the longest time", "168h"),
    ("the longest time in seconds", "604800s"),
    ("the most periods", "1m+100x10s"),
    ("the most moves", "1000/60m"),
    ("the most characters", "604800000ms/move+604800000ms"),
    ("no text", ""),
    ("no unit", "60"),
    ("another unit", "1d"),
    ("a capital letter", "5M"),
    ("None", "None"),
    ("a fraction", "1.5s"),
    ("a leading zero", "05m"),
    ("no time", "0s"),
    ("an increment of nothing", "5m+0s"),
    ("a blank", "1m + 1s"),
    ("a blank at the end", "1m "),
    ("a line feed at the end", "1m\n"),
    ("digits of another script", "١m"),
    ("a minus", "-5m"),
    ("two increments", "5m+3s+3s"),
    ("an unknown delay", "5m+3sc"),
    ("a delay without main time", "3sd"),
    ("a time longer than a week", "169h"),
    ("an increment longer than a week", "5m+604801s"),
    ("too many periods", "1m+101x10s"),
    ("no periods", "1m+0x10s"),
    ("too many moves", "1001/60m"),
    ("too many digits", "1000000000ms"),
    ("time odds", "5m:1m"),
    ("words", "five minutes"),
)
"""A name for each text. Time odds are two controls with a colon; a bot names one."""


ODDS: Final = (
    ("the same control", "5m", ("5m", "5m"), ("5m", "5m")),
    ("time odds", "5m:2m", ("5m", "2m"), ("5m", "2m")),
    ("time odds with an increment", "1m:10s+1s", ("1m", "10s+1s"), ("1m", "10s+1s")),
    ("no clock", "none", ("none", "none"), ("none", "none")),
    ("a server that names no control by seat", "5m", (), ("5m", "5m")),
)
"""For each match its name, its `time_control` and `time_controls`, and each seat's own control."""


def odds_vectors() -> list[dict[str, Any]]:
    """Return the content of time_odds.json."""
    return [
        {"name": name, "time_control": both, "time_controls": by_seat, "own": own} for name, both, by_seat, own in ODDS
    ]


def vectors() -> list[dict[str, Any]]:
    """Return the content of time_controls.json."""
    return [{"name": name, "text": text, "canonical": _canonical(text)} for name, text in CASES]


def _canonical(text: str) -> str | None:
    try:
        return str(parse(text))
    except Refusal:
        return None
