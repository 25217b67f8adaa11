"""A server that is killed by SIGKILL at a moment that a test chooses, and that restarts on the same stored data.

    python -m arbiter.testing.crashing --listen HOST:PORT --store URL

Each run of the server is a child process. Standard input has one line of JSON for each run: the point at which it is
to be killed (`{}` for never). Standard output has two lines for each run:
`{"serving": PID, "matches": N, "token": TOKEN or null}` once the server accepts calls, and `{"gone": STATUS}` once the
process has ended. Processes, database, sockets and signals are those of `arbiter serve`, with one difference: the
program is loaded once, and each run is a fork of it. That is how a thousand runs take only minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from enum import StrEnum
from typing import Any, NamedTuple, NoReturn

import structlog
from sqlalchemy import Connection, Engine, event, text

from arbiter.bootstrap import World, open_world, serving
from arbiter.config import Settings, load
from arbiter.matches.events import EventKind
from arbiter.runtime.loop import new_loop
from arbiter.runtime.tied import tie
from arbiter.service.ports.journal import Append, Journal, Stored
from arbiter.testing.faults import FaultyJournal


class CrashPoint(StrEnum):
    """How far a record has been stored when the server is killed."""

    ASKED = "asked"  #: decided, and no part of it written
    WRITTEN = "written"  #: in a transaction that is about to be committed
    COMMITTED = "committed"  #: durable, and nobody has been notified


class CrashPlan(NamedTuple):
    """When a run ends: at a moment of the `nth` append that holds a record of a kind; never without a kind."""

    kind: EventKind | None = None
    point: CrashPoint = CrashPoint.COMMITTED
    nth: int = 1

    def line(self) -> str:
        """Return this value as a line for standard input."""
        return json.dumps(self._asdict() if self.kind is not None else {}) + "\n"


def read_plan(line: str) -> CrashPlan:
    """Parse a line of standard input. Raises ValueError, KeyError, TypeError."""
    plan: Mapping[str, Any] = json.loads(line)
    return CrashPlan(EventKind(plan["kind"]), CrashPoint(plan["point"]), int(plan["nth"])) if plan else CrashPlan()


class TransactionCrash:
    """Kills the process inside a transaction: watches every database opened from now on for a record of a kind.

    With SQLite it uses a trigger, because there a single statement may be a transaction. Otherwise it acts at the end
    of the transaction.
    """

    def __init__(self) -> None:
        self.awaited: tuple[str, int] | None = None  #: match and revision of the record
        event.listen(Engine, "checkout", self._set_trigger)
        event.listen(Engine, "commit", self._commit)

    def _set_trigger(self, connection: Any, *_: object) -> None:
        if isinstance(connection, sqlite3.Connection):
            connection.create_function("seen", 2, self._seen)
            with suppress(sqlite3.OperationalError):  # the first connection of a new store finds no tables
                connection.execute(
                    "CREATE TEMP TRIGGER IF NOT EXISTS crash AFTER INSERT ON event "
                    "BEGIN SELECT seen(new.match_id, new.revision); END"
                ).close()

    def _seen(self, match_id: str, revision: int) -> None:
        if (match_id, revision) == self.awaited:
            kill_this_process()

    def _commit(self, connection: Connection) -> None:
        if self.awaited is not None:
            match_id, revision = self.awaited
            there = text("SELECT 1 FROM event WHERE match_id = :match_id AND revision = :revision")
            if connection.execute(there, {"match_id": match_id, "revision": revision}).first() is not None:
                kill_this_process()


class CrashingJournal(FaultyJournal):
    """Wraps any journal and kills the process at the chosen moment.

    A moment inside a transaction needs a database with an `TransactionCrash`.
    """

    def __init__(self, journal: Journal, plan: CrashPlan, crash: TransactionCrash | None) -> None:
        super().__init__(journal)
        self._plan = plan
        self._left = plan.nth
        self._crash = crash

    def append(self, append: Append) -> asyncio.Future[int]:
        """Store records, or kill the process."""
        is_last, stored = self._is_last(append), super().append(append)
        if is_last:
            # this callback runs first: nobody else has been notified yet
            stored.add_done_callback(lambda _: kill_this_process())
        return stored

    def append_then(self, append: Append, then: Stored) -> None:
        """Store records as the journal's own `append_then` does, or kill the process."""
        self._journal.append_then(append, (lambda *_: kill_this_process()) if self._is_last(append) else then)

    def _is_last(self, append: Append) -> bool:
        """Return whether the process is to be killed once an append is durable. It may be killed now, or before."""
        kinds = {json.loads(record.body)["kind"] for record in append.records}
        self._left -= self._plan.kind in kinds
        if self._left or self._plan.kind not in kinds:
            return False
        if self._plan.point is CrashPoint.ASKED:
            kill_this_process()
        if self._crash is not None:
            self._crash.awaited = append.records[-1].match_id, append.records[-1].revision
        return self._plan.point is CrashPoint.COMMITTED


def kill_this_process() -> NoReturn:
    """End this process as `kill -9` does."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("a process outlived SIGKILL")


async def _serve(settings: Settings, plan: CrashPlan, shared: bool) -> None:
    """Serve until the process is killed as chosen, or until SIGTERM. `shared`: as one of several servers."""
    crash = TransactionCrash() if plan.point is CrashPoint.WRITTEN else None

    @asynccontextmanager
    async def world(settings: Settings) -> AsyncIterator[World]:
        async with open_world(settings, shared=shared) as whole:
            store = whole.store
            yield whole._replace(store=store._replace(journal=CrashingJournal(store.journal, plan, crash)))

    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    async with serving(settings, world) as running:
        _say(serving=os.getpid(), matches=running.matches, token=running.admin_token)
        await stopped.wait()


def _set_clock(ahead_ms: int) -> None:
    """Make the system's clock show another time to this process."""
    true_ns = time.time_ns
    time.time_ns = lambda: true_ns() + ahead_ms * 1_000_000
    time.time = lambda: time.time_ns() / 1e9


def _say(**words: object) -> None:
    os.write(1, (json.dumps(words) + "\n").encode())  # one write: a fork must not copy a filled buffer


def main() -> None:
    """Run the server once for each line of standard input."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--listen", required=True, metavar="HOST:PORT")
    parser.add_argument("--store", required=True, metavar="URL")
    parser.add_argument("--shared", action="store_true", help="as one of several servers on the store")
    parser.add_argument("--clock-ahead-ms", type=int, default=0, help="how wrong the system's clock is")
    arguments = parser.parse_args()
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))  # standard output is for answers
    settings = load(None, listen=arguments.listen, store=arguments.store, rules_workers=1)
    _set_clock(arguments.clock_ahead_ms)
    for line in sys.stdin:
        plan = read_plan(line)
        child = os.fork()
        if not child:
            tie(grace_s=0)
            with asyncio.Runner(loop_factory=new_loop) as runner:
                runner.run(_serve(settings, plan, arguments.shared))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        _say(gone=os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
