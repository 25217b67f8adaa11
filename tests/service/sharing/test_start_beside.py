"""A server that starts reads the store several times; another server that writes in between is no damage."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable

from structlog.testing import capture_logs

from arbiter.bootstrap.running_server import started
from arbiter.bootstrap.store import Store
from arbiter.matches.commands import Abort
from arbiter.matches.policy import Policy
from arbiter.service.ports.journal import Journal, UnfinishedMatch
from arbiter.testing.clock import settle, virtually
from arbiter.testing.faults import FaultyJournal
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.testing.memory import MemoryDirectory, MemoryJournal
from arbiter.tournaments import commands as do
from arbiter.tournaments.spec import Format
from arbiter.tournaments.tournament import TournamentPhase
from tests.service.sharing.servers import kinds, servers
from tests.service.tournaments.contest import spec_of

LEAST_READS, MOST_READS = 10, 100  #: of a start
Change = Callable[[], Awaitable[object]]


class InterruptedJournal(FaultyJournal):
    """Another server makes a change just before one of the reads; `reads` counts them."""

    def __init__(self, journal: Journal, before: int, change: Change) -> None:
        super().__init__(journal)
        self.reads = 0
        self._before = before
        self._change = change

    async def before_reading(self) -> None:
        """Make the change if it is time."""
        self.reads += 1
        if self.reads == self._before:
            await self._change()


async def begin(one: InMemoryArbiter) -> dict[str, str]:
    """Create two matches and two tournaments that go on; return their ids."""
    return {name: (await one.create(request=name)).id for name in ("ends", "stays")} | {
        name: (await one.arbiter.tournaments.create(spec_of(Format.SWISS), "org", name)).id
        for name in ("cup ends", "cup stays")
    }


@virtually
async def test_another_server_ends_and_creates_something_between_two_reads_of_a_start() -> None:
    before = reads = 1
    while before <= reads < MOST_READS:
        reads = await interrupted_start(before)
        before += 1
    assert LEAST_READS < reads < MOST_READS


async def interrupted_start(before: int) -> int:
    """Start a server; another one makes changes just before this read of it. Return how many reads the start has."""
    [one] = await servers(1)
    ids = await begin(one)

    async def change() -> None:
        await one.arbiter.matches.act(ids["ends"], Abort("org", "over"))
        await one.arbiter.tournaments.act(ids["cup ends"], do.Cancel("org", "over", "no one came"))
        ids["new"] = (await one.create(request="new")).id
        ids["cup new"] = (await one.arbiter.tournaments.create(spec_of(Format.SWISS), "org", "new")).id

    other = one.beside()
    other.journal = journal = InterruptedJournal(one._store.journal, before, change)
    other.arbiter = other._wire()
    with capture_logs() as logs:
        await started(other.arbiter)
        reads = journal.reads
        if reads < before:
            await change()
        new = await other.arbiter.tournaments.get(ids["cup new"])
        await other.arbiter.follower.look()
        await settle()
    assert new.phase is TournamentPhase.ENTRY
    assert not [entry for entry in logs if entry["log_level"] == "error"], f"before read {before}"
    assert [live.newest.id for live in other.arbiter.matches.live] == [ids["stays"], ids["new"]]
    assert {cup.id for cup in other.arbiter.tournaments.open()} == {ids["cup stays"], ids["cup new"]}
    for server in (one, other):
        await server.die()
    return reads


@virtually
async def test_a_server_that_starts_ends_no_match_by_absence_before_it_knows_who_is_elsewhere() -> None:
    [one] = await servers(1)
    match = await one.create("pondlife", ("carol", "dave"), policy=Policy(no_show_ms=5_000))
    await one.die()
    other = one.beside()
    await other.arbiter.life.enter()
    await other.arbiter.matches.start()
    other.arbiter.matches.watch_flags()  # as it does for a match of which it hears in the meantime
    await asyncio.sleep(60)
    assert await kinds(other, match.id) == ["created"]
    assert other.arbiter.life.replica is not None
    await other.arbiter.life.replica.beat()
    await asyncio.sleep(60)
    assert await kinds(other, match.id) == ["created", "ended"]
    await other.die()


class Forgetful(MemoryJournal):
    """A store whose lists still have what has ended, or what has no record: its data contradict each other."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong: list[str] = []

    async def unfinished(self) -> list[str]:
        """Return the ids of unfinished matches, and some more."""
        return [*await super().unfinished(), *(id_ for id_ in self.wrong if id_.startswith("m"))]

    async def unfinished_matches(self) -> list[UnfinishedMatch]:
        """Return unfinished matches, and some more."""
        more = [UnfinishedMatch(id_, "pods", ("anna", "ben"), 0) for id_ in self.wrong if id_.startswith("m")]
        return [*await super().unfinished_matches(), *more]

    async def unfinished_tournaments(self) -> list[str]:
        """Return the ids of unfinished tournaments, and some more."""
        return [*await super().unfinished_tournaments(), *(id_ for id_ in self.wrong if id_.startswith("t"))]


@virtually
async def test_what_the_store_lists_wrongly_is_set_aside() -> None:
    journal = Forgetful()
    one = InMemoryArbiter(Store(journal, MemoryDirectory()))
    ids = await begin(one)
    await one.arbiter.matches.act(ids["ends"], Abort("org", "over"))
    await one.arbiter.tournaments.act(ids["cup ends"], do.Cancel("org", "over", "no one came"))
    journal.wrong = [ids["ends"], "m-none", ids["cup ends"], "t-none"]
    with capture_logs() as logs:
        assert await one.restart() == 1
    said = [str(entry["error"]) for entry in logs if entry["log_level"] == "error"]
    wrong = {"ends": "has ended", "cup ends": "has ended", "m-none": "has no record", "t-none": "has no record"}
    expected = [f"{ids.get(name, name)} {why}, but is listed as unfinished" for name, why in wrong.items()]
    assert sorted(re.findall(r"(?:match|tournament) (.+unfinished)", "\n".join(said))) == sorted(expected)
