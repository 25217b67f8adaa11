"""Seals of records, on every database: an edited or removed record is noticed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import structlog
from sqlalchemy import text

from arbiter.bootstrap.store import Store, check_store, open_store
from arbiter.errors import Reason
from arbiter.keys.key_ring import open_ring
from arbiter.keys.seals import RingSeals
from arbiter.keys.watermark import Watermark
from arbiter.service.ports.journal import RecordDamaged, StoreFailed
from arbiter.store import sealing
from arbiter.store.database import opened, shown
from tests.store.records import appends
from tests.store.test_derived import silent


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    return tmp_path / "arbiter.keys"


async def fill(url: str, ring: Path | None) -> int:
    async with open_store(url, ring=ring) as store:
        await asyncio.gather(*(store.journal.append(append) for append in appends(1)))
        return await store.journal.head()


def seals(ring: Path) -> RingSeals:
    return RingSeals(open_ring(ring, structlog.get_logger()))


def change(url: str, statement: str) -> None:
    with opened(url) as engine, engine.begin() as connection:
        connection.execute(text(statement))


async def everything(store: Store) -> int:
    """Read every record in each way in which records are read; return how many there are."""
    all_records = await store.journal.read_all(0, 10_000)
    ids = sorted({record.match_id for record in all_records})
    assert await store.journal.read_many(ids) == sorted(all_records, key=lambda one: (one.match_id, one.revision))
    for match_id in ids:
        assert await store.journal.read(match_id) == [one for one in all_records if one.match_id == match_id]
    return len(all_records)


@pytest.mark.parametrize("url", ["sqlite", "unlocked", "postgres"], indirect=True)
async def test_records_appended_with_keys_are_sealed(url: str, ring: Path) -> None:
    head = await fill(url, ring)
    async with open_store(url, ring=ring) as store:
        assert await everything(store) == head
        assert await store.journal.last_gap(0) == 0
    with opened(url) as engine:
        assert sealing.seal_records(engine, seals(ring), everything=False) == 0


async def test_records_from_before_there_were_seals_are_sealed_once(
    url: str, ring: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = await fill(url, None)
    async with open_store(url, ring=ring) as store:
        with pytest.raises(RecordDamaged, match=r"revision 1 of match m000 is damaged \(it has no seal"):
            await store.journal.read_all(0, 10)
    monkeypatch.setattr(sealing, "_AT_ONCE", 10)
    with opened(url) as engine:
        assert sealing.seal_records(engine, seals(ring), everything=False) == head
        assert sealing.seal_records(engine, seals(ring), everything=False) == 0
    async with open_store(url, ring=ring) as store:
        assert await everything(store) == head
    with opened(url) as engine:
        stranger = seals(ring.with_name("new.keys"))
        assert sealing.seal_records(engine, stranger, everything=True) == head
    async with open_store(url, ring=ring.with_name("new.keys")) as store:
        assert await everything(store) == head


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE event SET body = (SELECT body FROM event WHERE sequence = 2) WHERE sequence = 1",
        "UPDATE event SET seal = (SELECT seal FROM event WHERE sequence = 2) WHERE sequence = 1",
        "UPDATE event SET seal = NULL WHERE sequence = 1",
        "UPDATE event SET subject = 'tournament' WHERE sequence = 1",
        "UPDATE event SET subject = 'x' WHERE sequence = 1",
        "UPDATE event SET revision = 1000 WHERE sequence = 1",
        "UPDATE event SET match_id = 'm0000' WHERE sequence = 1",
    ],
)
async def test_an_edited_record_is_refused_by_name(url: str, ring: Path, edit: str) -> None:
    head = await fill(url, ring)
    Watermark(ring, shown(url)).reached(head, 0)
    change(url, edit)
    async with open_store(url, ring=ring) as store:
        with pytest.raises(StoreFailed, match=r"revision \d+ of (match|tournament) m000.? is damaged") as refused:
            await store.journal.read_all(0, 10)
        assert refused.value.reason is Reason.RECORD_DAMAGED
        assert "retry_after_ms" not in refused.value.facts
        assert len(await store.journal.read_all(1, 10)) == 10, "other records are read"
    assert check_store(url, silent, ring).faults


async def test_a_removed_record_is_named_by_its_place(url: str, ring: Path) -> None:
    head = await fill(url, ring)
    Watermark(ring, shown(url)).reached(head, 0)
    assert check_store(url, silent, ring)[3:] == ((), 0, True)
    change(url, "DELETE FROM event WHERE sequence IN (1, 5, 6, 7, 90)")
    async with open_store(url, ring=ring) as store:
        assert await store.journal.last_gap(0) == 90
        assert await store.journal.last_gap(89) == 90
        assert await store.journal.last_gap(90) == 0
        assert await store.journal.last_gap(head) == 0
    faults = check_store(url, silent, ring).faults
    assert [fault for fault in faults if "of the log are missing" in fault] == [
        "records 1 to 1 of the log are missing",
        "records 5 to 7 of the log are missing",
        "records 90 to 90 of the log are missing",
    ]
    change(url, f"DELETE FROM event WHERE sequence > {head - 3}")
    assert any(f"has held {head} before" in fault for fault in check_store(url, silent, ring).faults)
