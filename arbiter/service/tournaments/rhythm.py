"""When the tournaments of a series start: `friday 18:00 Europe/Berlin`, or a cron expression and a time zone.

The times are those of a clock on the wall in the time zone; `cronsim` computes them. A time that does not exist, as the
clock is put forward, is taken when the clock has just been; one that exists twice is taken once, the first time. Where
only minutes are fixed (`30 * * * *`), each hour that passes counts.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice, pairwise
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from arbiter.errors import parameter_invalid
from arbiter.tournaments.spec import Spec

DAYS: Final = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
LEAST_MINUTES: Final = 5  #: between two tournaments of a series
CHECKED: Final = 50  #: times that are checked for this
ALLOWED: Final = (
    'a weekday or "daily", a time and a time zone, as in "friday 18:00 Europe/Berlin"; or a cron expression of five '
    f'fields and a time zone, as in "0 18 1 * * Europe/Berlin"; at least {LEAST_MINUTES} minutes apart'
)

_CLOCK: Final = re.compile(r"(\w+) ([01]?\d|2[0-3]):([0-5]\d) (\S+)", re.ASCII)


def check_rhythm(every: str) -> None:
    """Raise Refusal PARAMETER_INVALID for a text that is no rhythm of a series."""
    try:
        expression, zone = _parsed(every)
        first = list(islice(CronSim(expression, datetime(2026, 1, 1, tzinfo=ZoneInfo(zone))), CHECKED))
        apart = [(later.astimezone(UTC) - one.astimezone(UTC)).total_seconds() for one, later in pairwise(first)]
    except (ValueError, LookupError, OSError, CronSimError):
        raise parameter_invalid(every, "schedule.every", ALLOWED, of="a tournament") from None
    if not first or min(apart, default=0) < 60 * LEAST_MINUTES:
        raise parameter_invalid(every, "schedule.every", ALLOWED, of="a tournament")


def next_start(every: str, after_ms: int) -> int:
    """Return the first start of a series after an instant. Both are UTC, milliseconds since 1970."""
    expression, zone = _parsed(every)
    after = datetime.fromtimestamp(after_ms // 1000, ZoneInfo(zone))
    return int(next(CronSim(expression, after)).timestamp()) * 1000


def following(spec: Spec, now_ms: int) -> Spec:
    """Return the specification of the next tournament of a series. Times that have passed meanwhile are left out.

    It takes the opening book as the file is then: each tournament's record has the hash of its own.
    """
    schedule = spec.schedule
    start = next_start(schedule.every, max(now_ms, schedule.start_ms))
    closes = schedule.entry_closes_ms and schedule.entry_closes_ms + start - schedule.start_ms
    return replace(
        spec,
        schedule=replace(schedule, start_ms=start, entry_closes_ms=closes),
        openings=replace(spec.openings, book_hash="", book_size=0),
        season=replace(spec.season, before=spec.season.before + 1) if spec.league.divisions else spec.season,
    )


@lru_cache(1_000)
def _parsed(every: str) -> tuple[str, str]:
    """Return the cron expression of a rhythm, and its time zone. Raises ValueError."""
    clock = _CLOCK.fullmatch(every.lower())
    zone = every.split(" ")[-1]
    if clock is None:
        fields = every.split(" ")[:-1]
        if len(fields) != 5:
            raise ValueError(every)
        return " ".join(fields), zone
    day, hour, minute, _ = clock.groups()
    if day != "daily" and day not in DAYS:
        raise ValueError(every)
    return f"{int(minute)} {int(hour)} * * {'*' if day == 'daily' else DAYS.index(day)}", zone
