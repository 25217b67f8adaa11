"""Snapshots of tournaments on every database: sealed, checked against the log, and never an error."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest
from sqlalchemy import text

from arbiter.bootstrap.store import check_store, open_store, rebuild_store
from arbiter.keys.watermark import Watermark
from arbiter.service.ports.journal import Append, Record
from arbiter.service.record.snapshots import code_version, difference, go_on_from, snapshot_and_rest, take_snapshot
from arbiter.service.record.tournament_log import Chain, summary_of
from arbiter.store import checked_logs
from arbiter.store.database import opened, shown
from arbiter.tournaments import folding
from arbiter.tournaments.evolution import replay
from arbiter.tournaments.tournament import Tournament
from tests.forked import FORKING, exit_code
from tests.service.tournaments.test_snapshots import corrected
from tests.store.snapshot_keeper import keep_snapshots
from tests.store.test_derived import silent

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ladders keep few games, and checks read few records at once."""
    monkeypatch.setattr(folding, "KEPT", 6)
    monkeypatch.setattr(folding, "AT_ONCE", 2)
    monkeypatch.setattr(checked_logs, "PORTION", 7)


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    return tmp_path / "arbiter.keys"


async def filled(url: str, ring: Path) -> tuple[Tournament, Chain]:
    """Store the log of a ladder; return its state in the middle, and the end of the log there."""
    log = corrected(3)
    records, half = Chain("t1").seal(log), len(log) // 2
    chain = Chain("t1")
    state = replay(chain.follow(record.body for record in records[:half]))
    async with open_store(url, ring=ring) as store:
        await store.journal.append(Append(records, tournament=summary_of(replay(log))))
        await store.snapshots.keep(take_snapshot(replay(log[:5]), _chain(records, 5)))
        await store.snapshots.keep(take_snapshot(state, chain))
        Watermark(ring, shown(url)).reached(await store.journal.head(), 0)
    return state, chain


def _chain(records: Sequence[Record], size: int) -> Chain:
    chain = Chain("t1")
    chain.follow(record.body for record in records[:size])
    return chain


async def used(url: str, ring: Path) -> int:
    """Return the revision of the snapshot that a start would use, 0 for none."""
    async with open_store(url, ring=ring) as store:
        snapshot, records, _ = await snapshot_and_rest(store.journal, store.snapshots, "t1")
        assert records[0].revision == max(1, snapshot.revision if snapshot is not None else 1)
        return snapshot.revision if snapshot is not None else 0


async def test_the_newest_snapshot_is_kept(url: str, ring: Path) -> None:
    _, chain = await filled(url, ring)
    assert await used(url, ring) == chain.revision
    assert check_store(url, silent, ring).faults == ()
    rebuild_store(url, silent, ring)
    assert await used(url, ring) == 0
    assert check_store(url, silent, ring).faults == ()


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE tournament_snapshot SET revision = revision + 1",
        "UPDATE tournament_snapshot SET code = 'another'",
        "UPDATE tournament_snapshot SET digest = 'another'",
        "UPDATE tournament_snapshot SET state = seal",
        "UPDATE tournament_snapshot SET seal = state",
        "DELETE FROM tournament_snapshot",
    ],
)
async def test_what_was_changed_is_not_used_and_no_fault(url: str, ring: Path, harm: str) -> None:
    await filled(url, ring)
    with opened(url) as engine, engine.begin() as connection:
        connection.execute(text(harm))
    assert await used(url, ring) == 0
    assert check_store(url, silent, ring).faults == ()


async def test_without_the_keys_there_are_none(url: str, ring: Path) -> None:
    await filled(url, ring)
    for keys in (None, ring.with_name("others.keys")):
        async with open_store(url, ring=keys) as store:
            assert await store.snapshots.newest("t1") is None


async def test_a_snapshot_that_is_not_what_the_log_says_is_a_fault(url: str, ring: Path) -> None:
    await filled(url, ring)
    log = corrected(3)
    state, chain = replay(log), _chain(Chain("t1").seal(log), len(log))
    state.results[max(state.results)] = state.results[max(state.results)]._replace(winner=0, reason="made up")
    async with open_store(url, ring=ring) as store:
        await store.snapshots.keep(take_snapshot(state, chain))
    [fault] = check_store(url, silent, ring).faults
    assert fault.startswith("the snapshot of tournament t1 is not what its log says (")


async def test_damage_far_from_the_beginning_of_a_log_is_named(url: str, ring: Path) -> None:
    await filled(url, ring)
    with opened(url) as engine, engine.begin() as connection:
        connection.execute(
            text("UPDATE event SET body = (SELECT body FROM event WHERE revision = 3) WHERE revision = 30")
        )
    faults = check_store(url, silent, ring).faults
    assert any("t1" in fault and "30" in fault for fault in faults), faults


async def test_snapshots_are_kept_side_by_side(url: str, ring: Path) -> None:
    state, chain = await filled(url, ring)
    async with open_store(url, ring=ring) as store:
        made = take_snapshot(state, chain)
        others = [made._replace(tournament=f"t{n}") for n in range(2, 6)]
        await asyncio.gather(*map(store.snapshots.keep, others))
        assert [await store.snapshots.newest(each.tournament) for each in others] == others
        assert await store.snapshots.newest("t9") is None
        assert made.code == code_version()


async def test_a_process_that_is_killed_leaves_a_snapshot_of_its_log(url: str, ring: Path) -> None:
    log, before, said = corrected(3), 0, FORKING.Value("i")
    for statement, times in product(("DELETE FROM tournament_snapshot", "INSERT INTO tournament_snapshot"), (2, 5)):
        assert exit_code(keep_snapshots, url, ring, statement, times, log, said) == -signal.SIGKILL
        async with open_store(url, ring=ring) as store:
            snapshot, records, why = await snapshot_and_rest(store.journal, store.snapshots, "t1")
        assert (why, snapshot and snapshot.revision) == ("", said.value)
        assert snapshot is not None
        assert snapshot.revision == before + times - 1
        assert [record.revision for record in records] == [snapshot.revision, snapshot.revision + 1]
        found = go_on_from(snapshot, [record.body for record in records])
        assert found is not None
        assert difference(found.tournament, replay(log[: records[-1].revision])) == ""
        before = records[-1].revision
    Watermark(ring, shown(url)).reached(before, 0)
    assert check_store(url, silent, ring).faults == ()
