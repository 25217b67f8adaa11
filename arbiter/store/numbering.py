"""The rows of a transaction: the records of its appends, with their sequence numbers and seals.

Every move passes through this module, in the writer's thread, while the event loop waits for the interpreter's lock. So
it has no coroutines and is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arbiter.service.ports.journal import Append, JournalConflict
from arbiter.store.tables import Numbered

Seal = Callable[[int, str, int, bytes, str], bytes | None]
"""Returns the seal of a record: its arguments are the fields of a `StoredRecord`."""


def numbered(
    appends: Sequence[Append], last: int, seal: Seal
) -> tuple[list[Numbered], list[int], list[tuple[Append, int]]]:
    """Return the rows of several appends, in order, that follow the record with the number `last`.

    With them, the last number of each append, and the appends with entries in the list tables, each with that number.
    Raises JournalConflict for an append that builds on a failed one.
    """
    rows = list[Numbered]()
    places = list[int]()
    listed = list[tuple[Append, int]]()
    newest = dict[str, int]()
    for append in appends:
        records, opened, closed, tournament, basis, _ = append
        if basis is not None and basis.lost:
            raise JournalConflict(f"an append to {records[0].match_id} on which it builds was not stored")
        for match_id, revision, body, subject in records:
            last += 1
            kind = subject.value
            known = newest.get(match_id, 0) == revision - 1
            rows.append((last, match_id, revision, body, kind, known, seal(last, match_id, revision, body, kind)))
            newest[match_id] = revision
        places.append(last)
        if opened is not None or closed is not None or tournament is not None:
            listed.append((append, last))
    return rows, places, listed


def unsealed(*_: object) -> None:
    """Return no seal."""
