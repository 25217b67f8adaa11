"""A process that writes the log of a tournament, keeps a snapshot after each event, and kills itself in between.

See `test_snapshots`.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path

from sqlalchemy import Engine, event

from arbiter.bootstrap.store import open_store
from arbiter.service.ports.journal import Append, Subject
from arbiter.service.record.snapshots import take_snapshot
from arbiter.service.record.tournament_log import Chain, summary_of
from arbiter.tournaments import events as ev
from arbiter.tournaments.evolution import apply, replay


def die_after(statement: str, times: int) -> None:
    """Kill this process once it has executed such a statement so often: its transaction is not committed then."""
    left = times

    @event.listens_for(Engine, "after_cursor_execute")
    def executed(_connection: object, _cursor: object, said: str, *_: object) -> None:
        nonlocal left
        left -= said.startswith(statement)
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)


async def write_on(url: str, ring: Path, log: Sequence[ev.Event], said: Synchronized[int]) -> None:
    """Write what the log lacks; tell the revision of each event once its snapshot is kept."""
    async with open_store(url, ring=ring) as store:
        chain = Chain("t1")
        state = None
        there = await store.journal.read("t1", subject=Subject.TOURNAMENT)
        if there:
            state = replay(chain.follow(record.body for record in there))
        for each in log[chain.revision :]:
            records = chain.seal([each])
            if state is None:
                state = replay([each])
            else:
                apply(state, each)
            await store.journal.append(Append(records, tournament=summary_of(state)))
            await store.snapshots.keep(take_snapshot(state, chain))
            said.value = chain.revision


def keep_snapshots(
    url: str, ring: Path, statement: str, times: int, log: Sequence[ev.Event], said: Synchronized[int]
) -> None:
    """Write on until such a statement has been executed so often."""
    die_after(statement, times)
    asyncio.run(write_on(url, ring, log, said))
