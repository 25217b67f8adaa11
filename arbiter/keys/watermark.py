"""Remembers beside the signing keys how many records and rulings a store has held, and that they are sealed.

A store that was lost (deleted, or replaced by an old copy) looks like a new or intact one. The signing keys survive
such a loss. So the file `RING.mark` beside them keeps the number of the last record that was seen in each store, and
that of the last ruling on ratings, which have a log of their own; they are at most about a second old. The server
refuses to start on a store with fewer, unless the operator confirms that this is intended.

Records of stores from before there were seals are sealed once (`arbiter.keys.seals`). From then on a record without
a seal is a forgery. That this has been done is remembered here, because whoever can write in the database could deny it
there. The file is as safe as the folder with the keys: whoever can put an older copy of it back can hide that the last
records were removed.

    {"arbiter.db": {"records": 1304, "rulings": 2, "sealed": true}}

A file of the time before rulings has none, and one of the time before seals has only the number of records.
"""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Any, Final, NamedTuple

from arbiter.errors import OperatorError
from arbiter.runtime import private

SUFFIX: Final = ".mark"


class _Mark(NamedTuple):
    """What is known of a store: how many records and rulings it has held, and whether they are sealed."""

    records: int
    sealed: bool
    rulings: int = 0


UNKNOWN: Final = _Mark(-1, False)  #: of a store that was never served


class Watermark:
    """The watermark of one store. `ring`: the signing keys' file. `store`: the store's URL without password."""

    def __init__(self, ring: Path, store: str) -> None:
        self._path = ring.with_name(ring.name + SUFFIX)
        self._store = store
        self._name = _name_of(store, ring)
        self._reached = UNKNOWN

    @property
    def sealed(self) -> bool:
        """Whether all records of the store have been sealed. Raises OperatorError."""
        return self._known().sealed

    @property
    def rulings(self) -> int:
        """The number of the last ruling on ratings that was written here."""
        return self._reached.rulings

    def check(self, records: int, rulings: int, keys_are_new: bool) -> None:
        """Raise OperatorError if a store holds fewer than before, or nothing although the keys are not new."""
        mark = self._known()
        known = mark.records
        for what, there, before in (("records", records, known), ("rulings on ratings", rulings, mark.rulings)):
            if there < before:
                raise OperatorError(
                    f"the store {self._store} holds {there} {what}, and has held {before} before: it is an old copy, "
                    "or another file than the one that was served, or its end was removed. Put the right one in its "
                    "place; to continue with this one, start once with --new"
                )
        if known < 0 and not records and not keys_are_new:
            raise OperatorError(
                f"the store {self._store} is empty, but its signing keys are not new: the record may be elsewhere, or "
                "lost. Name the right store, or put it in its place; to begin a new one, start once with --new"
            )

    def reached(self, records: int, rulings: int, durably: bool = False) -> None:
        """Write the numbers, all of what they count sealed, if one has changed. Raises OSError if that fails."""
        mark = _Mark(records, True, rulings)
        if mark == self._reached and not durably:
            return
        marks = self._read() | {self._name: mark._asdict()}
        # A name of its own: other servers, maybe in containers with the same process id, write the file too.
        fresh = self._path.with_name(f"{self._path.name}.{secrets.token_hex(8)}")
        with open(fresh, "w", encoding="utf-8", opener=private.opener) as file:
            file.write(json.dumps(marks, indent=1, sort_keys=True) + "\n")
            if durably:
                file.flush()
                os.fsync(file.fileno())
        fresh.replace(self._path)
        self._reached = mark

    def _known(self) -> _Mark:
        """Return what is known of the store. Raises OperatorError."""
        found = self._read().get(self._name)
        if found is None:
            return UNKNOWN
        return _Mark(found, False) if isinstance(found, int) else _Mark(**found)

    def _read(self) -> dict[str, Any]:
        try:
            values = json.loads(self._path.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise OperatorError(
                f"the watermark {self._path} can't be read ({error}): look at it, or remove it"
            ) from None
        if not isinstance(values, dict) or not all(map(_is_mark, values.values())):
            raise OperatorError(f"{self._path} is no watermark: look at it, or remove it")
        return values


def _is_mark(value: object) -> bool:
    if isinstance(value, dict):
        types = {name: type(one) for name, one in value.items()}
        return {"rulings": int, **types} == {"records": int, "sealed": bool, "rulings": int}
    return type(value) is int


def _name_of(store: str, ring: Path) -> str:
    """Return a store's name in the file.

    An SQLite file has its path relative to the ring, so that both can be moved.
    """
    kind, _, rest = store.partition(":///")
    return os.path.relpath(rest, ring.parent) if kind.startswith("sqlite") else store
