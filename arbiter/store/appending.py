"""How records get their numbers in the log, and are stored: beside other writers, or as the only one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Final, NamedTuple

from arbiter.service.ports.journal import Append
from arbiter.store.jobs import Transaction
from arbiter.store.numbering import Seal, numbered
from arbiter.store.tables import Numbered

UNDISTURBED: Final = 8  #: appends in a row between which no other server has stored anything: the next one may guess
MOST_GUESSED: Final = 256  #: maximum records that are sent before it is known which number is the last

Sealer = Callable[[], Seal]


class Appended(NamedTuple):
    """What was appended: the last number of each append; the appends that change the lists, each with that number."""

    places: list[int]
    listed: list[tuple[Append, int]]


class LoneLog:
    """The log of a store that only this server writes to: it knows the last number."""

    claim: None = None  #: nobody else writes, so there is nothing to wait for

    def __init__(self, kind: ModuleType, sealer: Sealer) -> None:
        """`kind`: the module of the database."""
        self._kind = kind
        self._sealer = sealer
        self._last: int | None = None  # None if a transaction may have been rolled back

    def append(self, transaction: Transaction, appends: Sequence[Append]) -> Appended:
        """Store the records of several appends. Raises JournalConflict, SQLAlchemyError."""
        if self._last is None:
            self._last = self._kind.number(transaction.begun())
        rows, places, listed = numbered(appends, self._last, self._sealer())
        self._last = places[-1]
        lone = transaction.alone and not listed and len(rows) <= self._kind.MOST_LONE
        self._kind.insert(transaction.connection if lone else transaction.begun(), rows)
        return Appended(places, listed)

    def rows_of(self, appends: Sequence[Append]) -> tuple[list[Numbered], list[int]] | None:
        """Return the rows of appends, and the last number of each; None if they consist of more than rows.

        The appends count as stored from here on. If they are not, `forget`. Call this only while no transaction is
        under way.
        """
        if self._last is None or not all(map(_is_plain, appends)):
            return None
        rows, places, _ = numbered(appends, self._last, self._sealer())
        self._last = places[-1]
        return rows, places

    def forget(self) -> None:
        """Note that a transaction may have been rolled back."""
        self._last = None


def _is_plain(append: Append) -> bool:
    """Return whether nothing but the records of an append is to be stored, and nothing is to be looked up before."""
    _, opened, closed, tournament, basis, open_limits = append
    lists = opened is None and closed is None and tournament is None and open_limits is None
    return lists and not (basis is not None and basis.lost)


class SharedLog:
    """The log of a store that other servers write to as well; `arbiter.store.postgres` says how they keep its order."""

    rows_of: None = None  #: the last number is known only in a transaction

    def __init__(self, kind: ModuleType, sealer: Sealer) -> None:
        """`kind`: the module of the database."""
        self._kind = kind
        self._sealer = sealer
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
                self._last = places[-1]
                return Appended(places, listed)
            self._number(transaction)
            if self._last != assumed:
                rows, places, listed = numbered(appends, self._last, seal)
        self._last = places[-1]
        if lone:
            self._kind.insert_and_commit(transaction.connection, rows)
        else:
            self._kind.insert(transaction.begun(), rows)
        return Appended(places, listed)

    def forget(self) -> None:
        """Note that a transaction may have been rolled back."""
        self._undisturbed = 0
        self._claimed = None

    def _may_guess(self) -> bool:
        return self._undisturbed >= UNDISTURBED

    def _number(self, transaction: Transaction) -> None:
        found: int = self._kind.number(transaction.connection)
        self._undisturbed = self._undisturbed + 1 if found == self._last else 0
        self._last = found
        self._claimed = transaction

    def _insert_behind(self, transaction: Transaction, rows: Sequence[Numbered]) -> bool:
        if len(rows) > MOST_GUESSED:
            return False
        stored: bool = self._kind.insert_behind(transaction.connection, rows)
        return stored
