"""When the disks of a store and of logs will be full, by their growth in the last days: a part of `arbiter doctor`."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from arbiter.bootstrap.findings import Finding, Grade
from arbiter.runtime import machine
from arbiter.store.looking import RECENT_DAYS, StoreState

LEAST_BYTES: Final = 256 << 20  #: free space, below which a disk is as good as full
LEAST_DAYS: Final = 0.5  #: of records or logs, from which on their growth is said
SOON_FULL_DAYS: Final = 60  #: a disk that is full sooner is noted
LONG_DAYS: Final = 3_650  #: nobody needs to know what is full later
DAY_S: Final = 86_400
ARCHIVE: Final = "make room, or move old matches to the archive: arbiter archive --days N"


def growth_of_store(state: StoreState, disk_bytes: int = 0) -> Finding | None:
    """Say how fast a store has grown lately, and when its disk is full; None if it has too few days of records.

    disk_bytes: the size of a disk that has nothing else; 0: look at the disk, if it is here.
    """
    if not state.recent or state.recent_days < LEAST_DAYS:
        return None
    a_day = state.recent / state.recent_days
    bytes_a_day = a_day * state.bytes / state.records
    text = (
        f"the store has {state.bytes / 1e6:,.1f} MB, and has grown by {a_day:,.0f} records a day "
        f"({bytes_a_day / 1e6:,.1f} MB) in the last {_days(state.recent_days)}"
    )
    if disk_bytes:
        return _filled("growth", text, disk_bytes - state.bytes, bytes_a_day, ARCHIVE)
    if state.folder is None:
        year = f"it takes {(state.bytes + 365 * bytes_a_day) / 1e9:,.1f} GB in a year"
        asked = "name the size of the database's disk with --disk-gb, and it says when that is full"
        return Finding("growth", Grade.GOOD, f"{text}; if that goes on, {year}; {asked}")
    return _filled("growth", text, machine.space(state.folder).free, bytes_a_day, ARCHIVE)


def growth_of_logs(folder: Path) -> Finding:
    """Say how much was logged in a folder lately, and when its disk is full. A file counts by its last change."""
    now_s, recent, oldest_s = time.time(), 0, 0.0
    if not folder.is_dir():
        return Finding("logs", Grade.NOTE, f"there is no folder of logs at {folder}", "name the folder of the logs")
    try:
        for found in (each.lstat() for each in folder.rglob("*") if each.is_file()):
            if now_s - found.st_mtime <= RECENT_DAYS * DAY_S:
                recent, oldest_s = recent + found.st_size, max(oldest_s, now_s - found.st_mtime)
    except OSError as error:
        text = f"the logs in {folder} can't be looked at ({error.strerror or error})"
        return Finding("logs", Grade.NOTE, text, "name a folder that the user of the server may read")
    days = oldest_s / DAY_S
    text = f"{folder} has {recent / 1e6:,.1f} MB of logs of the last {_days(days)}"
    if not recent or days < LEAST_DAYS:
        return Finding("logs", Grade.GOOD, text)
    return _filled("logs", text, machine.space(folder).free, recent / days, "make room, or keep logs for fewer days")


def _days(days: float) -> str:
    return "day" if days < 2 else f"{days:.0f} days"


def _filled(subject: str, text: str, free: int, bytes_a_day: float, advice: str) -> Finding:
    """Return the finding that a disk with this many free bytes is full one day, with advice if that is soon."""
    left = (free - LEAST_BYTES) / bytes_a_day
    if left > LONG_DAYS:
        whose = f"{text}; its disk has room for more than {LONG_DAYS // 365} years of that"
        return Finding(subject, Grade.GOOD, whose)
    when = datetime.now(UTC) + timedelta(days=max(0.0, left))
    soon = left < SOON_FULL_DAYS
    whole = f"{text}; if that goes on, its disk is full on {when:%Y-%m-%d}"
    return Finding(subject, Grade.NOTE if soon else Grade.GOOD, whole, advice if soon else "")
