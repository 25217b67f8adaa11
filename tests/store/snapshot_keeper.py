"""A process that writes the log of a tournament, keeps a snapshot after each event, and kills itself in between.

See `test_snapshots`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from sqlalchemy import Engine, event

from arbiter.bootstrap.store import open_store
from arbiter.service.ports.journal import Append, Subject
from arbiter.service.record.snapshots import take_snapshot
from arbiter.service.record.tournament_log import Chain, summary_of
from arbiter.tournaments.evolution import apply, replay
from tests.service.tournaments.test_snapshots import corrected


def die_after(statement: str, times: int) -> None:
    """Kill this process once it has executed such a statement so often: its transaction is not committed then."""
    left = times

    @event.listens_for(Engine, "after_cursor_execute")
    def executed(_connection: object, _cursor: object, said: str, *_: object) -> None:
        nonlocal left
        left -= said.startswith(statement)
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)


async def write_on(url: str, ring: Path) -> None:
    """Write what the log lacks; say the revision of each event once its snapshot is kept."""
    log = corrected(3)
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
            print(chain.revision, flush=True)


if __name__ == "__main__":
    die_after(sys.argv[3], int(sys.argv[4]))
    asyncio.run(write_on(sys.argv[1], Path(sys.argv[2])))
