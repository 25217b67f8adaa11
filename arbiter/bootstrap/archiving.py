"""Moves the records of matches that ended long ago to the archive of a store, while the server may be running."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from sqlalchemy import Connection, Engine

from arbiter.bootstrap.store import seals_of
from arbiter.errors import OperatorError
from arbiter.keys.watermark import Watermark
from arbiter.service.ports.journal import RecordDamaged, Seals
from arbiter.store import archive
from arbiter.store.database import named, opened, shown
from arbiter.store.dialects import dialect_of

Progress = Callable[[int, int], None]
"""Called after each transaction with the number of matches done, and the number of all."""

AT_ONCE: Final = 20  #: matches in one transaction: it holds up a move for some milliseconds at most
TRANSACTIONS_A_CHECKPOINT: Final = 50


class Archived(NamedTuple):
    """What was moved: matches, records, and the bytes of these in the log and in the archive.

    damages: what is wrong with the matches that were left where they are, a sentence each.
    """

    matches: int = 0
    records: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    damages: tuple[str, ...] = ()

    def with_more(self, packed: Sequence[archive.Packed], damages: Sequence[str]) -> Archived:
        """Return the sum of this and another transaction."""
        return Archived(
            self.matches + len(packed),
            self.records + sum(match.row["size"] for match in packed),
            self.bytes_before + sum(match.bytes_before for match in packed),
            self.bytes_after + sum(match.bytes_after for match in packed),
            (*self.damages, *damages),
        )


def count_archivable(store_url: str, before_ms: int) -> int:
    """Return how many matches that ended before an instant (UTC epoch milliseconds) are not in the archive.

    Raises OperatorError.
    """
    with opened(store_url, existing=True) as engine, named(engine.url), engine.connect() as connection:
        return archive.count_old(connection, before_ms)


def archive_store(store_url: str, ring: Path, before_ms: int, now_ms: int, progress: Progress) -> Archived:
    """Move the matches that ended before an instant to the archive, a few in each transaction.

    Instants are UTC epoch milliseconds. If this is interrupted, what was committed is in the archive, and the next call
    goes on with the rest. Raises OperatorError.
    """
    if not ring.exists() or not Watermark(ring, shown(store_url)).sealed:
        raise OperatorError(f"no server has served {shown(store_url)} with the keys in {ring}: name the right ones")
    seals = seals_of(store_url, ring)
    with opened(store_url, existing=True) as engine, named(engine.url):
        with engine.connect() as connection:
            total = archive.count_old(connection, before_ms)
        return _archive(engine, seals, before_ms, now_ms, lambda done: progress(done, max(done, total)))


def _archive(
    engine: Engine, seals: Seals | None, before_ms: int, now_ms: int, progress: Callable[[int], None]
) -> Archived:
    done, after, transactions = Archived(), 0, 0
    while True:
        with engine.connect() as connection:
            found = archive.next_old(connection, before_ms, after, AT_ONCE)
            packed, damages = _pack(connection, seals, [match_id for match_id, _ in found], now_ms)
        if not found:
            return done
        if packed and not archive.move(engine, packed):
            continue  # somebody else has moved some of them meanwhile: look again
        done, after = done.with_more(packed, damages), found[-1][1]
        transactions += 1
        if transactions % TRANSACTIONS_A_CHECKPOINT == 0 and dialect_of(engine).checkpoints:
            with engine.connect() as connection:  # keeps the write-ahead log short where no server does
                dialect_of(engine).checkpoint(connection)
        progress(done.matches + len(done.damages))


def _pack(
    connection: Connection, seals: Seals | None, match_ids: Sequence[str], now_ms: int
) -> tuple[list[archive.Packed], list[str]]:
    """Return the matches that can be archived, and what is wrong with the others."""
    packed, damages = list[archive.Packed](), list[str]()
    for match_id in match_ids:
        try:
            packed.append(archive.packed(connection, seals, match_id, now_ms))
        except RecordDamaged as damage:
            damages.append(damage.why)
    return packed, damages
