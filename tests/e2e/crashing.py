"""A server that is killed by SIGKILL at a moment that a test chooses, and that restarts on the same stored data.

    python -m tests.e2e.crashing --listen HOST:PORT --store URL

Each run of the server is a child process. Standard input has one line of JSON for each run: the point at which it is
to be killed (`{}` for never). Standard output has these lines for each run:
`{"serving": PID, "matches": N, "token": TOKEN or null}` once the server accepts calls; `{"within": THREAD}` just before
it is killed within a transaction of this thread; and `{"gone": STATUS}` once the process has ended. Processes,
database, sockets and signals are those of `arbiter serve`, with one difference: the program is loaded once, and each
run is a fork of it. That is how a thousand runs take only minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import faulthandler
import json
import os
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from enum import StrEnum
from functools import partial
from typing import Any, Final, NamedTuple, NoReturn

import structlog
from sqlalchemy import Connection, Engine, event, text

from arbiter.bootstrap.running_server import serving
from arbiter.bootstrap.world import World, open_world
from arbiter.config import Settings, load
from arbiter.errors import OperatorError
from arbiter.matches.events import EventKind
from arbiter.runtime.grpc_events import new_loop
from arbiter.runtime.system_clock import SystemClock
from arbiter.runtime.tied import tie
from arbiter.service.ports.journal import Append, Journal, Stored
from arbiter.testing.faults import FaultyJournal
from tests.e2e import unlocked_commits


class CrashPoint(StrEnum):
    """How far a record has been stored when the server is killed."""

    ASKED = "asked"  #: decided, and no part of it written
    WRITTEN = "written"  #: in a transaction that has not changed the lists yet
    LISTED = "listed"  #: in a transaction that has done all it has to, and is about to be committed
    COMMITTED = "committed"  #: durable, and nobody has been notified


WITHIN_COMMIT: Final = (CrashPoint.WRITTEN, CrashPoint.LISTED)
"""On PostgreSQL both are at the end of a transaction: that of the record if it changes the lists, else of a later one.

There the insert and the COMMIT of other records are one round trip, and nothing can be called between them.
"""

SECOND_MS: Final = 1_000
STUCK_S: Final = 480  #: seconds after SIGTERM; a run that has not ended by then is stuck, and says where
STORE_AWAY: Final = os.EX_TEMPFAIL  #: the exit status of a run that could not use the store when it started

_LISTED: Final = (EventKind.CREATED, EventKind.ENDED)  #: the kinds of record that change the lists


class CrashPlan(NamedTuple):
    """When a run ends: at a moment of the `nth` append that holds a record of a kind; never without a kind.

    moves: how many moves of this run have to be durable before appends are counted. thread: for a point within a
    commit, the name of the thread whose commit it has to be, '' for any; if another thread commits the nth append, the
    first later one that this thread commits takes its place.
    """

    kind: EventKind | None = None
    point: CrashPoint = CrashPoint.COMMITTED
    nth: int = 1
    moves: int = 0
    thread: str = ""

    def line(self) -> str:
        """Return this value as a line for standard input."""
        return json.dumps(self._asdict() if self.kind is not None else {}) + "\n"


def read_plan(line: str) -> CrashPlan:
    """Parse a line of standard input. Raises ValueError, KeyError, TypeError."""
    plan: Mapping[str, Any] = json.loads(line)
    if not plan:
        return CrashPlan()
    kind, point = EventKind(plan["kind"]), CrashPoint(plan["point"])
    return CrashPlan(kind, point, int(plan["nth"]), int(plan["moves"]), str(plan["thread"]))


class TransactionCrash:
    """Kills the process within a transaction: watches every database opened from now on for records of a kind.

    With SQLite it uses triggers, because there a single statement may be a transaction. Otherwise it acts at the end of
    the transaction.
    """

    def __init__(self, plan: CrashPlan) -> None:
        self.awaited: set[tuple[str, int]] = set()  #: match and revision of each record at which it may kill
        self._plan = plan
        self._inserting = ""  # the thread whose transaction, under way in SQLite, has stored such a record
        event.listen(Engine, "checkout", self._set_triggers)
        event.listen(Engine, "commit", self._commit)
        if unlocked_commits.is_there():
            thread = unlocked_commits.THREAD
            unlocked_commits.watch(
                partial(self._inserted, thread, True), partial(self._listed, thread), partial(self._commits, thread)
            )

    def _set_triggers(self, connection: Any, *_: object) -> None:
        if not isinstance(connection, sqlite3.Connection):
            return
        connection.create_function("inserted", 2, partial(self._inserted_through, connection))
        connection.create_function("listed", 0, lambda: self._listed(threading.current_thread().name))
        with suppress(sqlite3.OperationalError):  # the first connection of a new store finds no tables
            for trigger in unlocked_commits.TRIGGERS:
                connection.execute(trigger).close()

    def _inserted_through(self, connection: sqlite3.Connection, match_id: str, revision: int) -> None:
        self._inserted(threading.current_thread().name, connection.in_transaction, match_id, revision)

    def _inserted(self, thread: str, goes_on: bool, match_id: str, revision: int) -> None:
        """`goes_on`: whether the statement is one of a transaction, and not a transaction by itself."""
        if (match_id, revision) in self.awaited and self._plan.thread in ("", thread):
            if self._plan.point is CrashPoint.WRITTEN or not goes_on:
                kill_this_process(thread)
            self._inserting = thread

    def _listed(self, thread: str) -> None:
        if self._inserting == thread:
            kill_this_process(thread)

    def _commits(self, thread: str) -> None:
        if self._inserting == thread and self._plan.kind not in _LISTED:
            kill_this_process(thread)

    def _commit(self, connection: Connection) -> None:
        thread = threading.current_thread().name
        if connection.dialect.name == "sqlite":
            self._commits(thread)
        elif self._has_stored(connection):
            kill_this_process(thread)

    def _has_stored(self, connection: Connection) -> bool:
        there = text("SELECT 1 FROM event WHERE match_id = :match_id AND revision = :revision")
        return any(
            connection.execute(there, {"match_id": match_id, "revision": revision}).first() is not None
            for match_id, revision in tuple(self.awaited)
        )


class CrashingJournal(FaultyJournal):
    """Wraps any journal and kills the process at the chosen moment.

    A moment inside a transaction needs a database with an `TransactionCrash`.
    """

    def __init__(self, journal: Journal, plan: CrashPlan, crash: TransactionCrash | None) -> None:
        super().__init__(journal)
        self._plan = plan
        self._left = plan.nth
        self._moves_left = plan.moves
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
        if self._is_last(append):
            self._journal.append_then(append, lambda *_: kill_this_process())
        elif self._moves_left > 0 and EventKind.MOVED in _kinds(append):
            self._journal.append_then(append, partial(self._count_move, then))
        else:
            self._journal.append_then(append, then)

    def _count_move(self, then: Stored, place: int, error: BaseException | None) -> None:
        self._moves_left -= error is None
        then(place, error)

    def _is_last(self, append: Append) -> bool:
        """Return whether the process is to be killed once an append is durable. It may be killed now, or before."""
        if self._moves_left > 0 or self._plan.kind not in _kinds(append):
            return False
        self._left -= 1
        if self._left > 0:
            return False
        if self._plan.point is CrashPoint.ASKED:
            kill_this_process()
        if self._crash is not None:
            self._crash.awaited.add((append.records[-1].match_id, append.records[-1].revision))
        return self._plan.point is CrashPoint.COMMITTED


def _kinds(append: Append) -> set[str]:
    return {json.loads(record.body)["kind"] for record in append.records}


def kill_this_process(thread: str = "") -> NoReturn:
    """End this process as `kill -9` does. `thread`: the one within whose transaction it ends; it is said before."""
    if thread:
        _say(within=thread)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("a process outlived SIGKILL")


async def _serve(settings: Settings, plan: CrashPlan, shared: bool) -> None:
    """Serve until the process is killed as chosen, or until SIGTERM. `shared`: as one of several servers."""
    crash = TransactionCrash(plan) if plan.point in WITHIN_COMMIT else None

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
        end_when_stuck(asyncio.get_running_loop(), STUCK_S)


def end_when_stuck(loop: asyncio.AbstractEventLoop, seconds: float) -> None:
    """End this process after a time, with the stacks of its tasks and threads on standard error."""

    def end() -> None:
        for task in asyncio.all_tasks(loop):
            task.print_stack(file=sys.stderr)
        faulthandler.dump_traceback(sys.stderr, all_threads=True)
        os._exit(1)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


def _set_clock(ahead_ms: int) -> None:
    """Make the system's clock show another time to this process, and make sure that the arbiter sees it."""
    true_ns = time.time_ns
    time.time_ns = lambda: true_ns() + ahead_ms * 1_000_000
    time.time = lambda: time.time_ns() / 1e9
    assert abs(SystemClock().now_ms() - true_ns() // 1_000_000 - ahead_ms) < SECOND_MS, "the arbiter shows another time"


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
                try:
                    runner.run(_serve(settings, plan, arguments.shared))
                except OperatorError as error:
                    print(error, file=sys.stderr, flush=True)
                    os._exit(STORE_AWAY if "can't be used" in str(error) else 1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        _say(gone=os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
