"""`arbiter store …`: maintenance of the record, on the machine of the server."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cyclopts import App
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from arbiter.bootstrap.backup import Copied, backup_store, restore_store
from arbiter.bootstrap.store import check_store, rebuild_store, shown_store
from arbiter.cli.failure import Failure
from arbiter.cli.server_options import ConfigOption, KeysOption, StoreOption
from arbiter.cli.terminal import console, counted, on_terminal, say
from arbiter.config import OWN_POSTGRES, load
from arbiter.runtime.own_postgres import OwnPostgres, running

app = App(name="store", help="Look after the record, on the machine of the server.")

_A_LINE = 10_000  #: matches between two lines of progress, where no terminal shows a bar


@app.command
def check(*, store: StoreOption = None, keys: KeysOption = None, config: ConfigOption = None) -> None:
    """Read the whole record, and compare the data derived from it: lists, tallies, snapshots.

    Every hash chain is checked from its first event to its last, and the seal of every record. So a record that was
    removed is found, and a change by anybody who does not have the signing keys. Nothing is changed; the server may be
    running.
    """
    settings = load(config, store=store, keys=keys)
    url = settings.store
    with progress_of("Checking") as progress:
        found = check_store(url, progress, settings.key_ring)
    for fault in found.faults:
        say(fault, "red")
    size = _size(found.matches, found.tournaments, found.records)
    if found.faults:
        raise Failure(
            f"{shown_store(url)} ({size}) has faults. If lists, counts or snapshots are wrong, stop the server and run "
            "`arbiter store rebuild`. If records are damaged or missing, put a copy of the store in its place"
        )
    say(f"No fault found in {shown_store(url)}: {size}.")
    if not found.sealed:
        say(
            f"Seals were not checked: no server has sealed this store with the keys in {settings.key_ring}. A record "
            "that was changed together with its hash chain would not be found."
        )


@app.command
def rebuild(*, store: StoreOption = None, keys: KeysOption = None, config: ConfigOption = None) -> None:
    """Derive lists and tallies from the log again, in one transaction. No server may be using the store.

    Standings and ratings are functions of these. A player who is in the log but not in the directory is added, without
    a token. If a record is damaged, nothing is changed.
    """
    settings = load(config, store=store, keys=keys)
    url = settings.store
    with progress_of("Rebuilding") as progress:
        found = rebuild_store(url, progress, settings.key_ring)
    size = _size(found.matches, found.tournaments, found.records)
    added = f" Players added: {found.players}." if found.players else ""
    say(f"{shown_store(url)} is rebuilt from its log: {size}.{added}")


@app.command
def backup(folder: Path, /, *, store: StoreOption = None, keys: KeysOption = None, config: ConfigOption = None) -> None:
    """Copy the store and its signing keys to a new folder, while the server may be running.

    The copy is of one instant. It holds private keys and the digests of tokens: keep it as safe as the server. The
    folder appears once it is complete.

    :param folder: The folder to make.
    """
    settings = load(config, store=store, keys=keys)
    with progress_of("Copying", "rows") as progress:
        copied = backup_store(settings.store, settings.key_ring, folder, progress)
    say(f"{shown_store(settings.store)} is copied to {folder}: {_copied(copied)}.")
    say(f"`arbiter restore {folder}` brings it back; `--store` and `--keys` say where.")


@app.command
def restore(
    folder: Path, /, *, store: StoreOption = None, keys: KeysOption = None, config: ConfigOption = None
) -> None:
    """Copy a backup into an empty store, of either kind, and its signing keys to their file.

    The backup is checked before anything is written, every record and every seal. If this is interrupted, nothing is
    in the store, and it can be done again.

    :param folder: A folder that `arbiter backup` has made.
    """
    settings = load(config, store=store, keys=keys)
    with progress_of("Copying", "rows") as progress:
        copied = restore_store(folder, settings.store, settings.key_ring, progress)
    say(f"{folder} is restored to {shown_store(settings.store)}: {_copied(copied)}, in {settings.key_ring}.")


@app.command(name="postgres")
def run_postgres(*, postgres: Path | None = None, config: ConfigOption = None) -> None:
    """Run the PostgreSQL of `arbiter serve --processes` without servers, until Ctrl-C.

    For commands that need the store alone: `restore`, `rebuild`, `arbiter migrate`.

    :param postgres: Its folder. [default: as the server's settings, or arbiter.postgres]
    """
    settings = load(config, postgres=postgres)
    if settings.postgres is None:
        settings = load(config, postgres=OWN_POSTGRES)
    assert settings.postgres is not None
    with running(OwnPostgres(settings.postgres, settings.postgres_programs, settings.postgres_user)):
        ends = {signal.SIGINT, signal.SIGTERM}
        signal.pthread_sigmask(signal.SIG_BLOCK, ends)
        say(f"PostgreSQL runs: --store '{settings.store}' --keys {settings.key_ring}. Ctrl-C stops.")
        signal.sigwait(ends)
    say("Stopped.")


def _copied(copied: Copied) -> str:
    return f"{counted(copied.records, 'record')}, {counted(copied.keys, 'signing key')}"


def _size(matches: int, tournaments: int, records: int) -> str:
    return ", ".join(
        (counted(matches, "match", "matches"), counted(tournaments, "tournament"), counted(records, "record"))
    )


@contextmanager
def progress_of(doing: str, things: str = "matches and tournaments") -> Iterator[Callable[[int, int], None]]:
    """Show the progress of a long job: a bar on a terminal, otherwise a line from time to time."""
    if not on_terminal():
        yield (lambda done, of: say(f"{doing}: {done:,} of {of:,} {things}") if done % _A_LINE == 0 else None)
        return
    what = TextColumn(things)
    columns = (TextColumn(doing), BarColumn(), MofNCompleteColumn(), what, TimeRemainingColumn())
    with Progress(*columns, console=console(), transient=True) as bar:
        task = bar.add_task(doing, total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)
