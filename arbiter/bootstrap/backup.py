"""Backups: a folder with everything that an arbiter needs to go on elsewhere, and the way back into a store.

    FOLDER/arbiter.db         the store, as SQLite keeps it, whatever database the server has
    FOLDER/arbiter.keys       the ring of signing keys, with its private keys: only the owner can read the folder
    FOLDER/arbiter.keys.mark  how many records there are

A backup can also be served as it is: `arbiter serve --store sqlite:///FOLDER/arbiter.db`.
"""

from __future__ import annotations

import os
import shutil
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import structlog

from arbiter.bootstrap.store import seals_of
from arbiter.errors import OperatorError
from arbiter.keys.key_ring import KeyRing
from arbiter.keys.watermark import Watermark
from arbiter.runtime import private
from arbiter.store import derived
from arbiter.store.copying import Progress, copy
from arbiter.store.database import opened, shown

STORE: Final = "arbiter.db"
KEYS: Final = "arbiter.keys"


class Copied(NamedTuple):
    """What was copied: the records of the log, and the keys of the ring."""

    records: int
    keys: int


def backup_store(store_url: str, ring: Path, folder: Path, progress: Progress) -> Copied:
    """Copy a store and its signing keys to a new folder, while the server may be running.

    The folder appears at the end, whole: if this is interrupted, there is none, but one whose name ends with `.part`,
    which the next backup of that name removes. Raises OperatorError.
    """
    if folder.exists():
        raise OperatorError(f"{folder} is there already: name a folder that is not")
    if not ring.exists():
        raise OperatorError(f"there are no signing keys at {ring}: name their file")
    if not Watermark(ring, shown(store_url)).sealed:
        raise OperatorError(f"no server has served {shown(store_url)} with the keys in {ring}: name the right ones")
    part = folder.with_name(folder.name + ".part")
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(mode=private.FOLDER)
        with opened(store_url, existing=True) as source, opened(f"sqlite:///{part / STORE}", alone=True) as target:
            reached = partial(Watermark(part / KEYS, f"sqlite:///{part / STORE}").reached, durably=True)
            records = copy(source, target, progress, reached)
        keys = _copy_ring(ring, part / KEYS)  # after the store: it has every key that has sealed a record
        _sync(part / STORE)
        _sync(part)
        part.rename(folder)
        _sync(folder.absolute().parent)
    except OSError as error:
        raise OperatorError(f"the backup {folder} can't be written: {error}") from None
    return Copied(records, keys)


def restore_store(folder: Path, store_url: str, ring: Path, progress: Progress) -> Copied:
    """Copy a backup into an empty store, and its signing keys to a new file. No server may use the store.

    The whole backup is checked before anything is written. If this is interrupted, it can be done again. Raises
    OperatorError for a folder that is no backup, one that is damaged, a store that is not empty, and other keys at
    `ring`.
    """
    if not (folder / STORE).is_file() or not (folder / KEYS).is_file():
        raise OperatorError(f"{folder} is no backup: it has no {STORE} and {KEYS}")
    try:
        with TemporaryDirectory(prefix="arbiter-restore-", dir=ring.absolute().parent) as place:
            for name in (STORE, KEYS, KEYS + ".mark"):  # a backup may be on a medium that can only be read
                shutil.copyfile(folder / name, Path(place, name))
                Path(place, name).chmod(private.FILE)
            return _checked_copy(Path(place), folder, store_url, ring, progress)
    except OSError as error:
        raise OperatorError(f"the backup {folder} can't be restored: {error}") from None


def _checked_copy(place: Path, folder: Path, store_url: str, ring: Path, progress: Progress) -> Copied:
    url = f"sqlite:///{place / STORE}"
    seals = seals_of(url, place / KEYS)
    mark = Watermark(place / KEYS, url)
    with opened(url, existing=True) as source:
        found = derived.check(source, lambda done, of: None, seals, partial(mark.check, keys_are_new=False))
        if found.faults:
            raise OperatorError(f"the backup {folder} is damaged, so nothing was restored: {found.faults[0]}")
        with opened(store_url, alone=True) as target:
            keys = _copy_ring(place / KEYS, ring)
            # Before the commit: after a kill at any time either the store is empty, or everything is there.
            reached = partial(Watermark(ring, shown(store_url)).reached, durably=True)
            return Copied(copy(source, target, progress, reached), keys)


def _copy_ring(source: Path, target: Path) -> int:
    """Copy a ring of signing keys durably, for its owner alone; return how many keys it has."""
    keys = len(KeyRing(source, structlog.get_logger("arbiter.keys")).public_keys())
    content = source.read_bytes()
    if target.exists():
        if target.read_bytes() != content:
            raise OperatorError(f"there are other signing keys at {target}: name another file, or move them away")
        return keys
    part = target.with_name(target.name + ".part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, private.FILE), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.rename(target)
    return keys


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
