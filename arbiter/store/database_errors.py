"""Explains database errors: a clause for people, and whether the database could be reached.

Players see these clauses too, so they name no host, file or user. The full error is in the server's log.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError

DAMAGED_ADVICE: Final = (
    "stop the server, keep the file, and see deploy/STORE.md: a copy, or what is left of the file, takes its place"
)
_DAMAGED: Final = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "XX001", "XX002")

#: Prefixes of SQLite's error names and of PostgreSQL's SQLSTATE codes, with the clause and the advice for an operator.
_MEANINGS: Final = (
    (("SQLITE_FULL", "53100"), "its disk is full", "make room on its disk"),
    (
        ("SQLITE_READONLY", "25006"),
        "it can only be read",
        "make the file and its folder writable, or the database writable for this user",
    ),
    (("SQLITE_NOTADB",), "it is no database", "name another file, or move this one away"),
    (
        _DAMAGED,
        "it is damaged",
        DAMAGED_ADVICE,
    ),
    (("SQLITE_CANTOPEN",), "it can't be opened", "make it a file that this user may read and write, in such a folder"),
    (("SQLITE_IOERR", "58030"), "its disk fails", "look at the disk, and whether there is room on it"),
    (("SQLITE_BUSY", "55P03"), "another program holds it", "let that program end"),
    (("57P",), "it stops, or starts again", "wait until it has started, or see why it does not"),
    (("42501",), "it does not let this user do that", "grant the user the tables and the schema"),
)
_DEADLOCK: Final = "40P01"
#: PostgreSQL can only be read (it is a standby, or is to be one), stops, has crashed, or recovers: another one may be
#: the primary by now, so a new session is needed.
_OF_NO_PRIMARY: Final = ("25006", "57P01", "57P02", "57P03")
_AWAY: Final = ("it can't be reached", "see that it runs, and that its address, user and password are right")
IN_USE_ALONE: Final = "another program needs it for itself"


class HeldElsewhere(SQLAlchemyError):
    """Another server holds the store."""


def lost(error: Exception) -> bool:
    """Return whether there was no connection, or it was lost. Then nobody knows whether the request took effect.

    A session with a database that takes no writes (any more) counts as lost.
    """
    if not isinstance(error, DBAPIError):
        return isinstance(error, HeldElsewhere)
    if of_no_primary(error.orig):
        return True
    nobody_answered = getattr(error.orig, "sqlstate", "") is None
    return error.connection_invalidated or (nobody_answered and isinstance(error, OperationalError | InterfaceError))


def of_no_primary(error: BaseException | None) -> bool:
    """Return whether an error of the driver says that a PostgreSQL takes no writes, or is about to end its sessions."""
    return getattr(error, "sqlstate", None) in _OF_NO_PRIMARY


def deadlocked(error: Exception) -> bool:
    """Return whether the database rolled a transaction back because it and another one waited for each other."""
    return _code(error) == _DEADLOCK


def damaged(error: Exception) -> bool:
    """Return whether the database found its own pages damaged, or text that is none: no repetition will help."""
    code = _code(error)
    return code.startswith(_DAMAGED) or "Could not decode to UTF-8" in whole(error)


def reason(error: Exception) -> str:
    """Return the reason of an error as a clause, without the SQL statement."""
    return _meaning(error)[0]


def whole(error: Exception) -> str:
    """Return the whole error text, for the server's log."""
    return str(getattr(error, "orig", None) or error).strip()


def advice(error: Exception) -> str:
    """Return what an operator can do about an error, or ''."""
    return _meaning(error)[1]


def _meaning(error: Exception) -> tuple[str, str]:
    if isinstance(error, HeldElsewhere):
        return str(error), ""
    said = getattr(error, "orig", None) or error
    code = _code(error)
    for beginnings, clause, what_to_do in _MEANINGS:
        if code.startswith(beginnings):
            return clause, what_to_do
    if lost(error):
        return _AWAY
    primary = getattr(getattr(said, "diag", None), "message_primary", None)
    return primary or str(said).strip(), ""


def _code(error: Exception) -> str:
    """Return SQLite's name of an error, or PostgreSQL's SQLSTATE code; '' if it has neither."""
    said = getattr(error, "orig", None) or error
    return getattr(said, "sqlite_errorname", "") or getattr(said, "sqlstate", "") or ""
