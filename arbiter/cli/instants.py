"""Instants in a specification file: TOML's own dates and times, with an offset, or milliseconds since 1970."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any, Final

from arbiter.errors import parameter_invalid

SECTION: Final = "schedule"
NAMES: Final = ("start", "entry_closes")
ALLOWED: Final = "a date and time with an offset, without quotes, as 2026-12-01T18:00:00Z or 2026-12-01T19:00:00+01:00"


def with_instants(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a specification with each date and time of its schedule in milliseconds since 1970.

    `start` and `start_ms` both take a date and time. Raises Refusal PARAMETER_INVALID for one without an offset, whose
    instant nobody knows, and if both are there.
    """
    schedule = values.get(SECTION)
    if not isinstance(schedule, dict):
        return dict(values)
    read = dict(schedule)
    for name in NAMES:
        for key in (name, f"{name}_ms"):
            if key == name and name in read and f"{name}_ms" in read:
                raise parameter_invalid(str(read[name]), f"{SECTION}.{name}", f"either {name} or {name}_ms")
            if (key == name and name in read) or isinstance(read.get(key), date | time):
                read[f"{name}_ms"] = _milliseconds(read.pop(key), f"{SECTION}.{key}")
    return {**values, SECTION: read}


def _milliseconds(given: Any, where: str) -> int:
    if isinstance(given, datetime) and given.tzinfo is not None:
        return round(given.timestamp() * 1_000)
    local = ": this one has none, and is another instant in each time zone" if isinstance(given, datetime) else ""
    raise parameter_invalid(str(given), where, f"{ALLOWED}{local}", of="a tournament")
