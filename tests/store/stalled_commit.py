"""A process that commits without the interpreter's lock, and is killed while a transaction is under way.

`python -m tests.store.stalled_commit URL MODULE LAST`: the store, the file of the compiled module, and whether the last
record is a move (MOVES) or the end of the match (ENDS). It says what it has done, a line each: ACKNOWLEDGED, then, once
a line has come on standard input, ASKED, and TOLD if the last append ends. It says BY_PYTHON if the writer's thread,
instead of the one without the lock, stores a record after the first ones.
"""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection

from arbiter.bootstrap.store import open_store
from arbiter.service.ports.journal import Append
from arbiter.store.dialects import SQLITE
from arbiter.store.tables import Numbered
from tests.store import commit_thread
from tests.store.test_journal import END, opening, records

ACKNOWLEDGED: Final = "acknowledged"
ASKED: Final = "asked"
BY_PYTHON: Final = "by Python"
TOLD: Final = "told"
MOVES: Final = "moves"
ENDS: Final = "ends"


store_records = SQLITE.insert


def say(line: str) -> None:
    print(line, flush=True)


def insert(connection: Connection, rows: Sequence[Numbered]) -> None:
    """Store records in the writer's thread, and say so."""
    say(BY_PYTHON)
    store_records(connection, rows)


async def main(url: str, module: str, last: str) -> None:
    """Store the first records of a match, wait for a line, and store the next one."""
    spec = importlib.util.spec_from_file_location(commit_thread.NAME, module)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[commit_thread.NAME] = loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    async with open_store(url) as store:
        await store.journal.append(opening("a"))
        setattr(SQLITE, "insert", insert)  # noqa: B010 - mypy takes no other value for a method
        await store.journal.append(Append(records("a", 2)))
        say(ACKNOWLEDGED)
        await asyncio.to_thread(sys.stdin.readline)
        asked = store.journal.append(Append(records("a", 3), closed=END if last == ENDS else None))
        say(ASKED)
        await asked
        say(TOLD)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
