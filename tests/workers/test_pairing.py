"""Pairing in a process of its own."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import random
import signal
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from arbiter.service.ports.journal import Append, StoreDamaged, StoredRecord, Subject
from arbiter.service.ports.snapshots import NoSnapshots, Snapshots
from arbiter.service.record import tournament_log
from arbiter.service.record.tournament_log import Chain
from arbiter.service.tournaments.tournament_ports import InProcessPairing, PairingFailed
from arbiter.testing.memory import MemoryJournal, MemorySnapshots
from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments import folding
from arbiter.tournaments.book_order import Opening
from arbiter.tournaments.folding import fold, old_games
from arbiter.tournaments.formats import FreePlayers
from arbiter.tournaments.openings import Turn, opening
from arbiter.tournaments.recalling import want
from arbiter.tournaments.spec import Format, Openings, Options, Spec
from arbiter.tournaments.state_copy import copied
from arbiter.workers.pairing import PairingJobs, PairingProcess, Task
from arbiter.workers.process import answer
from tests.workers.children import ended, workers

pytestmark = pytest.mark.long

DRAWN = Openings(6, "a seed")


class Stored:
    """A running tournament in memory, with its log in a journal."""

    def __init__(self, journal: MemoryJournal, number: int, format_: Format, players: int = 8) -> None:
        spec = Spec("cup", format_, ("circle-of-life",), "1s", options=Options(rounds=5, duration_ms=1_000_000))
        self.tournament_run = TournamentRun(spec, players, random.Random(number))
        self.id = f"t{number}"
        created = dataclasses.replace(self.tournament_run.tournament.created, tournament=self.id, request=self.id)
        self.tournament_run.tournament.created = self.tournament_run.log[0] = created
        self._journal = journal
        self._chain = Chain(self.id)
        self._stored = 0

    async def store(self) -> None:
        """Store the new events."""
        new: Sequence[ev.Event] = self.tournament_run.log[self._stored :]
        if new:
            self._stored += len(new)
            row = tournament_log.summary_of(self.tournament_run.tournament)
            await self._journal.append(Append(self._chain.seal(new), tournament=row))

    def play_the_round(self) -> None:
        """Play all paired games."""
        while not self.tournament_run.tournament.all_decided():
            self.tournament_run.step()


@asynccontextmanager
async def process(journal: MemoryJournal, snapshots: Snapshots = NoSnapshots()) -> AsyncIterator[PairingProcess]:  # noqa: B008
    pairing = PairingProcess(journal, snapshots=snapshots)
    try:
        yield pairing
    finally:
        await pairing.close()


async def test_the_process_proposes_what_this_process_would(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arbiter.workers.pairing.KEPT", 1)  # so that each one replaces the other in the cache
    journal = MemoryJournal()
    tournaments = [Stored(journal, 1, Format.SWISS), Stored(journal, 2, Format.SWISS)]
    async with process(journal) as pairing:
        for round_ in range(1, 4):
            for swiss in tournaments[: 1 + round_ % 2]:
                await swiss.store()
                proposal = await pairing.propose(swiss.tournament_run.tournament, FreePlayers())
                assert proposal == await InProcessPairing().propose(swiss.tournament_run.tournament, FreePlayers())
                assert proposal is not None
                assert swiss.tournament_run.act(proposal).events
                swiss.play_the_round()
                assert len(pairing._revisions) == 1


async def test_the_event_loop_goes_on_and_errors_and_cancelled_calls_do_not_affect_the_next_answer() -> None:
    journal = MemoryJournal()
    swiss = Stored(journal, 1, Format.SWISS, players=100)
    await swiss.store()
    async with process(journal) as pairing:
        assert await pairing.opening(DRAWN, "pods", Turn(0, 1)) == Opening(opening(DRAWN, "pods", Turn(0, 1)))
        [worker] = workers("arbiter.workers.pairing")
        os.kill(worker, signal.SIGSTOP)
        drawing = asyncio.create_task(pairing.propose(swiss.tournament_run.tournament, FreePlayers()))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not drawing.done()
        os.kill(worker, signal.SIGCONT)
        assert await drawing is not None
        with pytest.raises(PairingFailed, match="there is no game"):
            await pairing.opening(Openings(2, "seed"), "no such game", Turn(0, 0))
        left = asyncio.create_task(pairing.opening(DRAWN, "pods", Turn(0, 2)))
        await asyncio.sleep(0)
        left.cancel()
        assert await pairing.opening(DRAWN, "hop-it", Turn(0, 3)) == Opening(opening(DRAWN, "hop-it", Turn(0, 3)))


async def test_a_caller_gets_an_error_when_the_process_is_killed_and_the_next_one_an_answer() -> None:
    journal = MemoryJournal()
    swiss = Stored(journal, 1, Format.SWISS, players=100)
    await swiss.store()
    async with process(journal) as pairing:
        first = await pairing.propose(swiss.tournament_run.tournament, FreePlayers())
        [worker] = workers("arbiter.workers.pairing")
        os.kill(worker, signal.SIGSTOP)  # it can't answer before it is killed
        waiting = asyncio.create_task(pairing.propose(swiss.tournament_run.tournament, FreePlayers()))
        for asked in (False, True):  # it was asked
            while (swiss.id in pairing._revisions) != asked:  # noqa: ASYNC110 - there is no event to wait for
                await asyncio.sleep(0)
        kill()
        with pytest.raises(PairingFailed, match="gave no answer"):
            await waiting
        assert await pairing.propose(swiss.tournament_run.tournament, FreePlayers()) == first
        kill()  # now no caller waits
        assert await pairing.opening(DRAWN, "pods", Turn(0, 1)) == Opening(opening(DRAWN, "pods", Turn(0, 1)))


def kill() -> None:
    """Kill the process, and wait for its end."""
    [worker] = workers("arbiter.workers.pairing")
    os.kill(worker, signal.SIGKILL)
    assert ended(worker)


def test_the_worker_reports_errors_and_forgets_the_named_tournaments() -> None:
    swiss = Stored(MemoryJournal(), 1, Format.SWISS)
    worker = PairingJobs()
    assert b"failed" in b"".join(answer(worker.jobs, "propose", (Task(swiss.id, None, [b"{}"], ()), FreePlayers())))
    bodies = [record.body for record in Chain(swiss.id).seal(swiss.tournament_run.log)]
    proposal = worker.propose(Task(swiss.id, None, bodies, ()), FreePlayers())
    assert worker.propose(Task(swiss.id, None, [], ()), FreePlayers()) == proposal, "no new record is read"
    assert worker.propose(Task(swiss.id, None, bodies, (swiss.id,)), FreePlayers()) == proposal, (
        "the log is read from its beginning"
    )


async def test_the_worker_begins_at_a_snapshot_and_needs_all_records_where_it_cannot() -> None:
    journal, snapshots = MemoryJournal(), MemorySnapshots()
    swiss = Stored(journal, 1, Format.SWISS)
    await swiss.store()
    async with process(journal, snapshots) as pairing:
        first = await pairing.propose(swiss.tournament_run.tournament, FreePlayers())
        kept = await pairing.snapshot(swiss.tournament_run.tournament, Chain(swiss.id))
        assert kept.revision == len(swiss.tournament_run.log)
    for state in (kept.state, b"damaged"):
        await snapshots.keep(kept._replace(state=state))
        async with process(journal, snapshots) as pairing:
            assert await pairing.propose(swiss.tournament_run.tournament, FreePlayers()) == first


async def test_the_process_finds_old_games_and_then_has_them_for_the_next_decision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(folding, "KEPT", 6)
    monkeypatch.setattr(folding, "AT_ONCE", 2)
    journal = MemoryJournal()
    ladder = Stored(journal, 1, Format.LADDER, players=4)
    ladder.tournament_run.play_free(400_000, lambda game: 1_000)
    await ladder.store()
    tournament = copied(ladder.tournament_run.tournament)
    fold(tournament)
    game = next(number for number in range(1, len(tournament.games)) if not tournament.games.has(number - 1))
    rule = do.Rule("organiser", "rule", game, ev.Decision.VOID)
    asked = want(tournament, old_games(tournament, [rule]))

    async def bodies(last: int = asked.revision) -> AsyncIterator[Sequence[bytes]]:
        for after in range(0, last, 100):
            records = await journal.read(ladder.id, after, min(100, last - after), Subject.TOURNAMENT)
            yield [record.body for record in records]

    async with process(journal) as pairing:
        with pytest.raises(PairingFailed):
            await pairing.recall(asked, bodies(0))
        found = await pairing.recall(asked, bodies())
        expected = await InProcessPairing().recall(asked, bodies())
        assert found.old == expected.old
        assert found == expected
        assert ladder.tournament_run.act(rule).events
        await ladder.store()
        monkeypatch.setattr(journal, "read", _after(journal, asked.revision))
        kept = await pairing.snapshot(ladder.tournament_run.tournament, Chain(ladder.id))
        assert kept.revision == asked.revision + 1


def _after(journal: MemoryJournal, revision: int) -> Callable[..., Awaitable[list[StoredRecord]]]:
    """Return `journal.read` that asserts that no earlier record is read."""
    read = journal.read

    async def checked(tournament: str, after: int = 0, *more: Any, **others: Any) -> list[StoredRecord]:
        assert after >= revision
        return await read(tournament, after, *more, **others)

    return checked


class Noting(list[StoredRecord]):
    """Records that remember in which thread they are read."""

    thread = 0

    def __iter__(self) -> Iterator[StoredRecord]:
        self.thread = threading.get_ident()
        return super().__iter__()


async def test_a_log_is_read_outside_the_event_loop() -> None:
    journal = MemoryJournal()
    swiss = Stored(journal, 1, Format.SWISS)
    await swiss.store()
    records = Noting(await journal.read(swiss.id, subject=Subject.TOURNAMENT))
    async with process(journal) as pairing:
        log = await pairing.load(swiss.id, records, folded=True)
        assert (log.tournament.id, log.tournament.revision) == (swiss.id, len(records))
        assert records.thread not in (0, threading.get_ident())
        with pytest.raises(StoreDamaged):
            await pairing.load("t2", records, folded=True)


async def test_a_closed_process_refuses_requests() -> None:
    pairing = PairingProcess(MemoryJournal())
    await pairing.close()
    with pytest.raises(PairingFailed, match="stopping"):
        await pairing.opening(DRAWN, "pods", Turn(0, 1))
