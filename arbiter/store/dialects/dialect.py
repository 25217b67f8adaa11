"""What differs between the databases that can hold a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from sqlalchemy import Connection, Engine
from sqlalchemy.engine import URL

from arbiter.store.tables import Numbered

if TYPE_CHECKING:
    from arbiter.store._commit_thread import CommitThread

FORMS: Final = {"sqlite": "sqlite:///FILE", "postgresql": "postgresql://USER@HOST/DATABASE"}
"""The form of the URL of a store, by SQLAlchemy's name of its database."""


class Dialect(Protocol):
    """A kind of database. Methods raise SQLAlchemyError if the database fails.

    name: for people. shared: whether several servers may use a store at the same time. begin: the first
    statements of a transaction that changes tables, or reads before it writes; migration: of one that migrates the
    tables; snapshot: of one that reads a consistent snapshot. lone_reads: options of a connection whose reads need no
    transaction. claim: what a transaction executes before it numbers records. now_ms: the query for the database's
    time (UTC epoch milliseconds), None if its clock is that of this machine. checkpoints: whether `checkpoint` has
    to be called while records are written.
    """

    name: str
    shared: bool
    begin: tuple[str, ...]
    migration: tuple[str, ...]
    snapshot: tuple[str, ...]
    lone_reads: Mapping[str, Any]
    claim: tuple[str, ...]
    now_ms: str | None
    checkpoints: bool

    # -- connections -------------------------------------------------------------------------------------------------

    def engine(self, place: URL) -> Engine:
        """Return the engine of a store, which connects at its first use. Raises OperatorError for an invalid URL."""

    def connect_writer(self, engine: Engine) -> Connection:
        """Return a connection for commits. Raises HeldElsewhere."""

    def still_connected(self, connection: Connection) -> bool:
        """Return whether an idle connection can still be used, as far as can be known without asking the database."""

    def commit_thread(self, engine: Engine, most: int) -> CommitThread | None:
        """Return a thread that commits without the interpreter's lock; None if there is none.

        most: maximum records in a commit, unless a batch has more.
        """

    def files(self, engine: Engine) -> Files:
        """Return the files of a store."""

    # -- the log -----------------------------------------------------------------------------------------------------

    def number(self, connection: Connection) -> int:
        """Return the last record number, 0 for none, in the transaction that gives the next ones."""

    def insert(self, connection: Connection, rows: Sequence[Numbered]) -> None:
        """Store records, all or none, in the transaction that has numbered them.

        Raises IntegrityError if a revision exists already or the one before it does not.
        """

    def log_after(self, connection: Connection, after: int, most: int) -> Sequence[Sequence[Any]]:
        """Return rows of the table `event` after a sequence number, in order."""

    def checkpoint(self, connection: Connection) -> int:
        """Move the pages that the write-ahead log holds now to their places; return how many there were."""

    # -- who uses a store --------------------------------------------------------------------------------------------

    def held(self, engine: Engine, shared: bool = False) -> AbstractContextManager[None]:
        """Hold a store until the context, or the process, ends: alone, or (`shared`) beside others who do so.

        Raises HeldElsewhere, OperatorError.
        """

    def starting(self, engine: Engine) -> AbstractContextManager[None]:
        """Let no other server start during the context."""

    def holders(self, engine: Engine) -> int:
        """Return how many servers hold a store, which is there. Raises OperatorError."""

    # -- what a store is like ----------------------------------------------------------------------------------------

    def is_there(self, engine: Engine) -> bool:
        """Return whether a store has been created, or the database itself says so."""

    def server_version(self, connection: Connection) -> str:
        """Return the version of the database."""

    def size(self, connection: Connection) -> int:
        """Return how many bytes a store takes on its disk; of a database that others use too, all of it."""

    def folder(self, connection: Connection) -> Path | None:
        """Return the folder of a store's files; None if they are on another machine, or nobody says where."""

    def unsafe_settings(self, connection: Connection) -> list[str]:
        """Return the settings by which a power cut could take commits that were reported, a clause each."""

    def lock_waits(self, connection: Connection, least_s: float) -> list[str]:
        """Return who has waited for a lock for this long, and who holds it: a clause for each pair."""

    def free_connections(self, connection: Connection) -> int | None:
        """Return how many more connections the database takes; None if it has no limit of its own."""

    def check_sound(self, connection: Connection) -> list[str]:
        """Return the faults of what is stored, as far as the database's own tools do not check it, a sentence each."""


class Files:
    """The files of a store: here of a database that manages them itself, so that a client cannot see them."""

    def reopened(self) -> None:
        """Note that connections were closed: some files may be new."""

    def missing(self) -> str:
        """Return what is wrong with the files, as a clause for the server's log; '' if they are in order."""
        return ""
