"""A PostgreSQL whose primary is killed, then stopped: its synchronous standby takes over, and play goes on."""

from __future__ import annotations

import asyncio
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import arbiter_client as arb
import pytest

from arbiter.bootstrap.store import open_store
from arbiter.service.ports.journal import StoreFailed
from tests.e2e.crashing import CrashPlan
from tests.e2e.crashing_server import LONGEST_S, CrashingServer, crashing_server
from tests.store.postgres import Cluster
from tests.store.records import appends
from tests.store.test_shared_servers import Observer, addresses, begin_to_play, check, make_matches

MOVES = 20
DATABASE = "promoted"
ENDS = (signal.SIGQUIT, None, signal.SIGINT)
"""Of a primary: as in a crash; one that lives and answers reads, and takes no writes any more; and orderly."""


class Standbys:
    """A primary and its standby: two clusters at two places, which stay the same."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._places = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="arbiter-ha-", dir="/tmp")))
        self.primary = self._at("a", Cluster())
        self.primary.ask(f"CREATE DATABASE {DATABASE}")
        self.standby = self.former = self._at("b", Cluster(primary=self.primary))

    def _at(self, place: str, made: Cluster) -> Cluster:
        self._stack.callback(made.remove)
        link = self._places / place
        link.unlink(missing_ok=True)
        link.symlink_to(made.folder)
        return made

    @property
    def url(self) -> str:
        return f"postgresql://arbiter@/{DATABASE}?host={self._places}/a,{self._places}/b"

    def follow(self) -> None:
        """Wait until the standby has what the primary has, which reports a commit from now on only once it has it."""
        self.primary.ask("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.primary.ask("SELECT pg_reload_conf()")
        caught_up = "SELECT sync_state FROM pg_stat_replication WHERE flush_lsn >= pg_current_wal_flush_lsn()"
        while self.primary.ask(caught_up) != [("sync",)]:
            pass

    def fail_over(self, how: signal.Signals | None) -> None:
        """End the primary, and make the standby the primary. how: see ENDS."""
        if how is None:
            self.forbid_writes()
        else:
            self.primary.stop(how)
        self.primary, self.former = self.standby, self.primary
        self.primary.promote()

    def forbid_writes(self) -> None:
        """Let the primary take no writes any more."""
        self.primary.ask("ALTER SYSTEM SET default_transaction_read_only = on")
        self.primary.ask("SELECT pg_reload_conf()")

    def add_standby(self) -> None:
        """Put a new standby in the place of the former primary."""
        place = next(place for place in self._places.iterdir() if place.resolve() == self.former.folder)
        self.standby = self._at(place.name, Cluster(primary=self.primary))


@pytest.fixture
def standbys() -> Iterator[Standbys]:
    with ExitStack() as stack:
        yield Standbys(stack)


@pytest.mark.long
async def test_a_primary_that_takes_no_writes_any_more_is_left_for_the_new_one(standbys: Standbys) -> None:
    """It lives, and answers reads: only its refusal of a write tells."""
    in_order, why = iter(appends(1)), ""
    async with open_store(standbys.url, shared=True) as store:
        await store.journal.append(next(in_order))
        standbys.follow()
        standbys.fail_over(None)
        try:
            for append in in_order:  # until the sessions of the primary have heard of it
                await store.journal.append(append)
        except StoreFailed as failure:
            why = failure.why
        assert "it can only be read" in why
        await store.journal.append(append)
        stored = await store.journal.head()
    assert standbys.primary.ask("SELECT max(sequence) FROM event", DATABASE) == [(stored,)]
    assert standbys.former.ask("SELECT max(sequence) FROM event", DATABASE) != [(stored,)]


@pytest.mark.long
async def test_a_commit_does_not_wait_for_a_standby_that_is_the_primary_by_now(standbys: Standbys) -> None:
    """It begins before the former primary is told to take no writes, and no standby of that confirms it any more."""
    in_order = iter(appends(1))
    async with open_store(standbys.url, shared=True) as store:
        await store.journal.append(next(in_order))
        standbys.follow()
        standbys.standby.promote()
        append = next(in_order)
        waiting = asyncio.ensure_future(store.journal.append(append))
        waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        while not await asyncio.to_thread(standbys.primary.ask, waits):
            pass
        standbys.forbid_writes()
        with pytest.raises(StoreFailed):
            await waiting
        await store.journal.append(append)
        stored = await store.journal.head()
    assert standbys.standby.ask("SELECT max(sequence) FROM event", DATABASE) == [(stored,)]


@pytest.mark.long
@pytest.mark.timeout(0)  # each step has its own limit
async def test_play_goes_on_at_the_promoted_standby_and_nothing_acknowledged_is_lost(
    standbys: Standbys, tmp_path: Path
) -> None:
    standbys.follow()
    async with (
        crashing_server(tmp_path, standbys.url, shared=True, name="one") as one,
        crashing_server(tmp_path, standbys.url, shared=True, name="other") as other,
    ):
        servers = [one, other]
        for server in servers:
            assert await server.begin(CrashPlan())
        took = await asyncio.wait_for(play_through(servers, standbys), LONGEST_S)
        for server in servers:
            server.kill(signal.SIGTERM)
            assert await server.ended() == 0
    print(f"play went on after {', '.join(f'{seconds:.1f} s' for seconds in took)}")


async def play_through(servers: list[CrashingServer], standbys: Standbys) -> list[float]:
    """Play while the primary ends in each way; return how long it took each time until a move was durable again."""
    token = next(server.admin_token for server in servers if server.admin_token)
    took = []
    async with arb.Client(addresses(servers, 0), token=token, patience_s=LONGEST_S) as client:
        bots, playing = await begin_to_play(client, servers)
        observer, over = Observer(addresses(servers, 1), token), asyncio.Event()
        made: dict[str, tuple[str, str]] = {}
        making = asyncio.create_task(make_matches(client, made, observer, over))
        for how in ENDS:
            await observer.moves(MOVES)
            began = time.monotonic()
            await asyncio.to_thread(standbys.fail_over, how)
            await observer.moves(1)
            took.append(time.monotonic() - began)
            await observer.moves(MOVES)
            if how != ENDS[-1]:
                await asyncio.to_thread(standbys.add_standby)
                await asyncio.to_thread(standbys.follow)
        over.set()
        observer.changed.set()
        await making
        for bot in bots.values():
            bot.tired = True
        await observer.until(lambda: observer.kinds["ended"] == len(made))
        await check(client, made, observer)
        for task in (*playing, observer.task):
            task.cancel()
        await asyncio.gather(*playing, observer.task, return_exceptions=True)
    return took
