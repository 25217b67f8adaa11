"""How records get their numbers in the log, and are stored: beside other writers, or as the only one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from arbiter.service.ports.journal import Append, StoredRecord
from arbiter.store.changes import changes_of
from arbiter.store.dialects import Sqlite
from arbiter.store.jobs import Transaction
from arbiter.store.numbering import Seal, numbered
from arbiter.store.tables import Numbered, Statement

if TYPE_CHECKING:
    from arbiter.store.dialects.postgres import Postgres

UNDISTURBED: Final = 8  #: appends in a row between which no other server has stored anything: the next one may guess
MOST_GUESSED: Final = 256  #: maximum records that are sent before it is known which number is the last

Sealer = Callable[[], Seal]
Reading = Callable[[Sequence[Any]], StoredRecord]
"""Returns the record of a row, whose seal holds. Raises RecordDamaged, StoreFailed."""


class Appended(NamedTuple):
    """What was appended: the last number of each append; the appends that change the lists, each with that number."""

    places: list[int]
    listed: list[tuple[Append, int]]


class LoneLog:
    """The log of a store that only this server writes to: it knows the last number."""

    claim: None = None  #: nobody else writes, so there is nothing to wait for

    def __init__(self, dialect: Sqlite, sealer: Sealer) -> None:
        self._dialect = dialect
        self._sealer = sealer
        self._last: int | None = None  # None if a transaction may have been rolled back

    def append(self, transaction: Transaction, appends: Sequence[Append]) -> Appended:
        """Store the records of several appends. Raises JournalConflict, SQLAlchemyError."""
        if self._last is None:
            self._last = self._dialect.number(transaction.begun())
        rows, places, listed = numbered(appends, self._last, self._sealer())
        self._last = places[-1]
        lone = transaction.alone and not listed and len(rows) <= self._dialect.most_lone
        self._dialect.insert(transaction.connection if lone else transaction.begun(), rows)
        return Appended(places, listed)

    def rows_of(self, appends: Sequence[Append]) -> tuple[list[Numbered], list[Statement], list[int]] | None:
        """Return the rows of appends, what they change besides, and the last number of each.

        Return None if something is to be looked up before. The appends count as stored from here on. If they are not,
        `forget`. Call this only while no transaction is under way.
        """
        if self._last is None or any(map(_looks_up, appends)):
            return None
        rows, places, listed = numbered(appends, self._last, self._sealer())
        changes = [self._dialect.statement(change) for append, last in listed for change in changes_of(append, last)]
        self._last = places[-1]
        return rows, changes, places

    def forget(self) -> None:
        """Note that a transaction may have been rolled back."""
        self._last = None

    def know(self, place: int) -> None:
        """See `SharedLog.know`: nobody else writes."""

    def brought(self) -> list[StoredRecord]:
        """Return no records: nobody else writes."""
        return []


def _looks_up(append: Append) -> bool:
    """Return whether an append counts what is open, or builds on one that was not stored."""
    return append.open_limits is not None or (append.basis is not None and append.basis.lost)


class SharedLog:
    """The log of a store that other servers write to as well; `dialects.postgres` says how they keep its order.

    With the last number, a caller gets the records of the others. They are valid whatever becomes of the transaction
    that has read them.
    """

    rows_of: None = None  #: the last number is known only in a transaction

    def __init__(self, dialect: Postgres, sealer: Sealer, reading: Reading) -> None:
        self._dialect = dialect
        self._sealer = sealer
        self._reading = reading
        self._known = 0  # what `know` was told last; set in the event loop
        self._level = 0  # all records up to this number are of this server, or were read; 0 if that is not sure
        self._read: Iterable[Sequence[Any]] = ()  # rows that the transaction under way has read
        self._brought: deque[list[StoredRecord]] = deque()  # for the event loop
        self._last = 0  # the last number that this server has seen or given
        self._undisturbed = 0  # in how many appends in a row nobody else had given a number since this server's last
        self._claimed: Transaction | None = None  # the transaction that has the lock, and so the last number of all

    def claim(self, transaction: Transaction) -> None:
        """Wait until the transaction may number records, unless it will guess the last number. Raises DBAPIError."""
        if transaction is not self._claimed and not self._may_guess():
            self._number(transaction)

    def append(self, transaction: Transaction, appends: Sequence[Append]) -> Appended:
        """Store the records of several appends. If the transaction has nothing else to do, commit it.

        Raises JournalConflict, SQLAlchemyError.
        """
        seal = self._sealer()
        claimed = transaction is self._claimed
        if not claimed and not self._may_guess():
            self._number(transaction)
            claimed = True
        assumed = self._last
        rows, places, listed = numbered(appends, assumed, seal)
        lone = transaction.alone and not listed
        if not claimed:
            if lone and self._insert_behind(transaction, rows):
                self._give(places[-1])
                return Appended(places, listed)
            self._number(transaction)
            if self._last != assumed:
                rows, places, listed = numbered(appends, self._last, seal)
        self._give(places[-1])
        if lone:
            self._dialect.insert_and_commit(transaction.connection, rows)
        else:
            self._dialect.insert(transaction.begun(), rows)
        return Appended(places, listed)

    def forget(self) -> None:
        """Note that a transaction may have been rolled back."""
        self._undisturbed = 0
        self._claimed = None
        self._level = 0
        self._bring()

    def know(self, place: int) -> None:
        """Have appends bring the records of other servers after this number, or none (0).

        Call this, and `brought`, in the event loop.
        """
        self._known = place

    def brought(self) -> list[StoredRecord]:
        """Return the records that have been brought since the last call, in order."""
        found: list[StoredRecord] = []
        while self._brought:
            found += self._brought.popleft()
        return found

    def _may_guess(self) -> bool:
        return self._undisturbed >= UNDISTURBED

    def _give(self, last: int) -> None:
        """Note that this server gives the numbers up to this one."""
        if self._level == self._last:
            self._level = last
        self._last = last

    def _number(self, transaction: Transaction) -> None:
        if self._known:
            known = max(self._known, self._level)
            found, rows = self._dialect.number_after(transaction.connection, known)
        else:
            found, rows = self._dialect.number(transaction.connection), None
        self._level = found if rows is not None else 0
        self._read = rows or ()
        transaction.afterwards = self._bring
        self._undisturbed = self._undisturbed + 1 if found == self._last else 0
        self._last = found
        self._claimed = transaction

    def _bring(self) -> None:
        """Read the rows of others. What this server has committed stays so, whatever is found in them."""
        rows, self._read = self._read, ()
        if rows and (found := list(self._readable(rows))):
            self._brought.append(found)

    def _readable(self, rows: Iterable[Sequence[Any]]) -> Iterator[StoredRecord]:
        try:
            for row in rows:
                if row[0] > self._known:
                    yield self._reading(row)
        except Exception:  # whoever reads the log meets it too, and names it
            return

    def _insert_behind(self, transaction: Transaction, rows: Sequence[Numbered]) -> bool:
        if len(rows) > MOST_GUESSED:
            return False
        return self._dialect.insert_behind(transaction.connection, rows)
