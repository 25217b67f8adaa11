"""Folders of transcripts: a file for each match, and the public keys that verify them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import arbiter_client as arb

from arbiter.matches.signing import PublicKey
from arbiter.runtime import private

KEY_FILE: Final = "keys.json"
SUFFIX: Final = ".jsonl"  #: of the transcripts in a folder
TOURNAMENT_FILE: Final = "tournament.log"  #: a tournament's log, standings and signature, beside its transcripts

RULINGS_FILE: Final = "rulings.log"  #: the rulings on ratings and their signature, beside the transcripts


def published_keys(server: arb.ServerInfo) -> list[PublicKey]:
    """Return the public keys that verify what a server signs, newest first."""
    return [
        PublicKey(key.key_id, key.key, key.valid_from_ms, key.valid_until_ms, key.algorithm)
        for key in server.public_keys
    ]


def write_whole(file: Path, data: bytes) -> None:
    """Write a file atomically, for its owner alone: after an interruption it is complete or does not exist.

    Raises OSError.
    """
    part = file.with_suffix(".part")
    part.unlink(missing_ok=True)
    part.touch(private.FILE)
    part.write_bytes(data)
    part.replace(file)
