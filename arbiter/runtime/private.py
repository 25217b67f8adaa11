"""Files for their owner alone, whatever the umask of the process: records, keys, backups and exports."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, NamedTuple

FILE: Final = 0o600
FOLDER: Final = 0o700
_GROUP: Final = 0o070
_EVERYBODY: Final = 0o007


def opener(path: str, flags: int) -> int:
    """Open a file, an `opener` for `open`: a new one gets mode 0600, one that is there keeps its mode."""
    return os.open(path, flags, FILE)


class Open(NamedTuple):
    """A file that others than its owner may read or write. everybody: not its group alone."""

    path: Path
    everybody: bool


def open_to_others(path: Path) -> Open | None:
    """Return whether others than its owner may use a file or folder; None if none may, or if it is not there.

    A file is closed too if its folder lets nobody else in.
    """
    try:
        mode, around = path.stat().st_mode, path.resolve().parent.stat().st_mode
    except OSError:
        return None
    everybody, group = (bool(mode & who and around & who & 0o011) for who in (_EVERYBODY, _GROUP))
    return Open(path, everybody) if everybody or group else None
