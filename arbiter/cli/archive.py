"""`arbiter archive`: moves the records of old matches out of the event log, on the machine of the server."""

from __future__ import annotations

from time import time_ns
from typing import Annotated, Final

from cyclopts import Parameter
from cyclopts.validators import Number

from arbiter.bootstrap.archiving import archive_store, count_archivable
from arbiter.bootstrap.store import shown_store
from arbiter.cli.argument_types import Flag
from arbiter.cli.failure import Failure
from arbiter.cli.server_options import ConfigOption, KeysOption, StoreOption
from arbiter.cli.store import progress_of
from arbiter.cli.terminal import counted, say
from arbiter.config import load

_DAY_MS: Final = 24 * 3_600_000


def archive(
    *,
    days: Annotated[int, Parameter(validator=Number(gte=0, lte=100_000))],
    dry_run: Flag = False,
    store: StoreOption = None,
    keys: KeysOption = None,
    config: ConfigOption = None,
) -> None:
    """Move the records of matches that ended long ago out of the event log, compressed, while the server may run.

    They stay in the store, in a table of their own, with their seals. Lists, ratings, transcripts and streams show them
    as before, and backups have them. A few matches are moved in each transaction: if this is interrupted, do it again.
    A match whose record is damaged is named and stays where it is; the exit code is 1 then.

    :param days: Move the matches that ended at least this many days ago.
    :param dry_run: Only say how many there are.
    """
    settings = load(config, store=store, keys=keys)
    now_ms = time_ns() // 1_000_000
    before_ms = now_ms - days * _DAY_MS
    if dry_run:
        there = counted(count_archivable(settings.store, before_ms), "match", "matches")
        say(f"{there} of {shown_store(settings.store)} would be moved to the archive.")
        return
    with progress_of("Archiving", "matches") as progress:
        done = archive_store(settings.store, settings.key_ring, before_ms, now_ms, progress)
    for why in done.damages:
        say(why, "red")
    what = f"{counted(done.matches, 'match', 'matches')} ({counted(done.records, 'record')})"
    say(f"{what} of {shown_store(settings.store)} moved to the archive: {_size(done.bytes_before, done.bytes_after)}.")
    if done.damages:
        raise Failure(
            f"{counted(len(done.damages), 'match', 'matches')} left in the log, because the record is damaged"
        )


def _size(before: int, after: int) -> str:
    return f"{before / 1e6:,.1f} MB became {after / 1e6:,.1f} MB"
