"""Calls back from within the commits of the thread that needs no interpreter lock (`arbiter/store/_commit_thread.c`).

This thread opens its own connection to SQLite, which Python's driver does not know. So the callbacks are registered in
SQLite itself, in the library that both use: it calls a function for each connection that is opened in this process.
"""

from __future__ import annotations

import _sqlite3
import ctypes
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

THREAD: Final = "store-commit"  #: what the system calls the thread
TRIGGERS: Final = tuple(
    f"CREATE TEMP TRIGGER IF NOT EXISTS {name} AFTER {change} BEGIN SELECT {call}; END"
    for name, change, call in (
        ("record_inserted", "INSERT ON event", "inserted(new.match_id, new.revision)"),
        ("match_listed", 'INSERT ON "match"', "listed()"),
        ("first_counted", "INSERT ON tally", "listed()"),
        ("another_counted", "UPDATE ON tally", "listed()"),
    )
)
"""Call two SQL functions in a transaction: `inserted` after the statement for a record, and `listed` after the last
change of the lists that goes with the creation or the end of a match."""

_UTF8: Final = 1
_Function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p))
_Commits = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_Opened = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_kept: Final[list[Any]] = []  #: what SQLite calls must live as long as the process


def is_there() -> bool:
    """Return whether this installation commits in such a thread where the store is SQLite."""
    return find_spec("arbiter.store._commit_thread") is not None


def watch(inserted: Callable[[str, int], None], listed: Callable[[], None], commits: Callable[[], None]) -> None:
    """Have the thread call back within its transactions, on every connection that it opens from now on.

    `inserted`, with the match and the revision of a record, and `listed` are called as TRIGGERS say; `commits` when
    all statements of a transaction are done, before its COMMIT takes effect.
    """
    library = ctypes.CDLL(getattr(_sqlite3, "__file__", None))
    library.sqlite3_value_text.argtypes = library.sqlite3_value_int64.argtypes = [ctypes.c_void_p]
    library.sqlite3_value_text.restype = ctypes.c_char_p
    library.sqlite3_value_int64.restype = ctypes.c_int64

    def call_inserted(_context: Any, _count: int, values: Any) -> None:
        inserted(library.sqlite3_value_text(values[0]).decode(), library.sqlite3_value_int64(values[1]))

    def call_listed(_context: Any, _count: int, _values: Any) -> None:
        listed()

    def call_commits(_: Any) -> int:
        commits()
        return 0  # it goes on

    def call_opened(address: int, _message: Any, _functions: Any) -> int:
        if Path("/proc/thread-self/comm").read_text().strip() != THREAD:
            return 0
        database = ctypes.c_void_p(address)
        library.sqlite3_commit_hook(database, at_commit, None)
        for name, count, function in (b"inserted", 2, at_insert), (b"listed", 0, at_change):
            library.sqlite3_create_function_v2(database, name, count, _UTF8, None, function, None, None, None)
        code: int = library.sqlite3_exec(database, ";".join(TRIGGERS).encode(), None, None, None)
        return code

    at_insert, at_change, at_commit = _Function(call_inserted), _Function(call_listed), _Commits(call_commits)
    at_open = _Opened(call_opened)
    _kept.extend((at_insert, at_change, at_commit, at_open))
    library.sqlite3_auto_extension(at_open)
