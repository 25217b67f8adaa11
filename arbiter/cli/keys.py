"""`arbiter key …`: the keys that sign transcripts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import structlog
from cyclopts import App, Parameter

from arbiter.cli.argument_types import OutFile
from arbiter.cli.connection import Connection, connected
from arbiter.cli.failure import Failure
from arbiter.cli.server_options import ConfigOption, KeysOption
from arbiter.cli.table_options import AnyTableOptions
from arbiter.cli.terminal import counted, instant, say, table, write_text
from arbiter.cli.transcript_files import published_keys
from arbiter.config import load
from arbiter.keys.key_ring import KeyRing
from arbiter.keys.key_ring import rotate as rotate_ring
from arbiter.matches.signing import PublicKey, write_keys

app = App(name="key", help="Show, export and rotate the keys that sign transcripts.")

Ring = Annotated[Path | None, Parameter(help="Ask this file of signing keys, and not a server.")]


@app.command
def show(*, ring: Ring = None, output: AnyTableOptions | None = None, connection: Connection | None = None) -> None:
    """Show the public keys of a server, newest first, and the time from which each signs."""
    rows = (
        (key.key_id, instant(key.valid_from_ms), instant(key.valid_until_ms), key.algorithm, key.key.hex())
        for key in _public_keys(ring, connection)
    )
    table(("key", "from", "until", "algorithm", "public key"), rows, "This server signs nothing.", output)


@app.command
def export(*, out: OutFile = None, ring: Ring = None, connection: Connection | None = None) -> None:
    """Write the public keys of a server as a file for `arbiter verify`."""
    keys = _public_keys(ring, connection)
    text = write_keys(keys)
    if out is None:
        write_text(text)
        return
    try:
        out.write_text(text, "utf-8")
    except OSError as error:
        raise Failure(f"can't write {out}: {error.strerror or error}") from None
    say(f"{counted(len(keys), 'public key')} in {out}")


@app.command
def rotate(*, ring: KeysOption = None, store: str | None = None, config: ConfigOption = None) -> None:
    """Add a new signing key on the server's machine. It signs matches that end a minute from now, or later.

    A running server notices this by itself. Replaced keys stay in the file: they sign and verify the matches that ended
    while they were valid.

    :param store: The server's store. It determines the file of the keys: beside an SQLite file, else named after the
        database.
    """
    path = load(config, store=store, keys=ring).key_ring
    key = rotate_ring(path, time.time_ns() // 1_000_000)
    say(f"Key {key.key_id} in {path} signs from {instant(key.valid_from_ms)} on. Publish it: `arbiter key export`.")


def _public_keys(ring: Path | None, connection: Connection | None) -> Sequence[PublicKey]:
    if ring is not None:
        return KeyRing(ring, structlog.get_logger("arbiter.keys")).public_keys()
    with connected(connection) as client:
        return published_keys(client.server_info())
