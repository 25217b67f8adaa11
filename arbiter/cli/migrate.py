"""`arbiter migrate`: brings the tables of a store up to date before a server is started on it."""

from __future__ import annotations

from arbiter.bootstrap.store import migrate_store, shown_store
from arbiter.cli.argument_types import Flag
from arbiter.cli.failure import Failure
from arbiter.cli.server_options import ConfigOption, StoreOption
from arbiter.cli.terminal import say
from arbiter.config import load


def migrate(*, check: Flag = False, store: StoreOption = None, config: ConfigOption = None) -> None:
    """Bring the tables of a store up to the version of this arbiter, in one transaction.

    No server may be using it, unless it is PostgreSQL and the migrations can run beside servers.

    `arbiter serve` does the same as it starts. Tables of every earlier release are brought up to date; there is no way
    back, so make a backup first (`arbiter backup`).

    :param check: Change nothing; the exit code is 1 if the tables are of an earlier version.
    """
    url = load(config, store=store).store
    before, after = migrate_store(url, check)
    if before == after:
        say(f"The tables of {shown_store(url)} are of version {after}, which is the newest.")
    elif check:
        raise Failure(
            f"the tables of {shown_store(url)} are of version {before}, and this arbiter's are of version {after}: "
            "make a backup, then `arbiter migrate`"
        )
    else:
        say(f"The tables of {shown_store(url)} were brought from version {before} to version {after}.")
