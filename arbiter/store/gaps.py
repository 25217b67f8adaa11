"""Finds numbers that no record has, neither in the log nor in the archive: records that were removed.

Both have to be read as of one instant, because a match may be moved from one to the other meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection, text

from arbiter.service.ports.journal import Seals
from arbiter.store import archive
from arbiter.store.records import head

_WINDOW: Final = 100_000  #: numbers that are looked for at once
_COUNT: Final = text("SELECT count(*) FROM event WHERE sequence > :after AND sequence <= :last")
_NUMBERS: Final = text("SELECT sequence FROM event WHERE sequence > :after AND sequence <= :last")


def gaps(connection: Connection, seals: Seals | None = None, after: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the first and last missing number of each gap behind `after` and before the last record, in order.

    The connection must read a snapshot. `seals`: without them, the entries of the archive are believed.
    """
    last = head(connection)
    gap: tuple[int, int] | None = None
    for low in range(after, last, _WINDOW):
        for first, final in _missing(connection, seals, low, min(low + _WINDOW, last)):
            if gap is not None and gap[1] + 1 == first:  # it goes on from the numbers before
                gap = (gap[0], final)
                continue
            if gap is not None:
                yield gap
            gap = (first, final)
    if gap is not None:
        yield gap


def last_gap(connection: Connection, seals: Seals | None, after: int) -> int:
    """Return the last number behind `after` and before the last record that no record has; 0 if there is none."""
    return max((final for _, final in gaps(connection, seals, after)), default=0)


def _missing(connection: Connection, seals: Seals | None, after: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the runs of missing numbers from after + 1 to `last`."""
    values = {"after": after, "last": last}
    if connection.execute(_COUNT, values).scalar_one() == last - after:
        return
    there = bytearray(last - after)
    for number in connection.execute(_NUMBERS, values).scalars():
        there[number - after - 1] = 1
    for first, count in archive.places(connection, seals, after, last):
        low = max(first - after - 1, 0)
        high = max(low, min(first - after - 1 + count, last - after))
        there[low:high] = b"\1" * (high - low)
    place = there.find(0)
    while place >= 0:
        end = there.find(1, place)
        end = last - after if end < 0 else end
        yield after + place + 1, after + end
        place = there.find(0, end)
