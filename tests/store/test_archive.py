"""The archive: every reader finds an archived match at its place, on every database, also after a kill."""

from __future__ import annotations

import asyncio
import json
import signal
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from arbiter_protos.v1 import match_pb2
from sqlalchemy import text

from arbiter.bootstrap import archiving
from arbiter.bootstrap.archiving import Archived, archive_store, count_archivable
from arbiter.bootstrap.backup import backup_store, restore_store
from arbiter.bootstrap.store import Store, check_store, open_store, rebuild_store
from arbiter.bootstrap.world import open_world
from arbiter.keys.watermark import Watermark
from arbiter.service.ports.journal import Append, MatchSummary, RecordDamaged, StoredRecord, StoreFailed
from arbiter.store import archive, gaps, sealing
from arbiter.store.database import opened, shown
from arbiter.testing.served import served
from tests.forked import run_script
from tests.observability.test_metrics import play
from tests.rpc.calls import Stubs
from tests.store.records import NOON, PLAYERS, appends
from tests.store.test_backup import transcript
from tests.store.test_derived import rows, silent
from tests.store.test_seals import change, fill, seals

FUTURE = NOON * 2


class Read(NamedTuple):
    """All records, as each kind of reader reads them."""

    log: list[StoredRecord]
    matches: dict[str, list[StoredRecord]]
    encounters: list[list[tuple[MatchSummary, bytes]]]


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    return tmp_path / "arbiter.keys"


@pytest.fixture
async def before(url: str, ring: Path) -> Read:
    """Return a sealed store with many matches, as it was read before any match was archived."""
    head = await fill(url, ring)
    Watermark(ring, shown(url)).reached(head, 0)
    return await read(url, ring)


async def read(url: str, ring: Path) -> Read:
    async with open_store(url, ring=ring) as store:
        return await read_of(store)


async def read_of(store: Store) -> Read:
    journal = store.journal
    log = await journal.read_all(0, 10_000)
    ids = sorted({record.match_id for record in log})
    assert await journal.read_many(ids) == sorted(log, key=lambda one: (one.match_id, one.revision))
    assert [record.sequence for record in log] == list(range(1, await journal.head() + 1))
    for after in range(0, len(log), 7):  # a reader that resumes anywhere, with a few records at a time
        assert await journal.read_all(after, 5) == log[after : after + 5]
        assert await journal.last_gap(after) == 0
    matches = {match_id: await journal.read(match_id) for match_id in ids}
    for match_id, records in matches.items():
        assert await journal.read(match_id, 2, 3) == records[2:5]
    pairs = [(one, other) for one in PLAYERS for other in PLAYERS if one < other]
    return Read(log, matches, [await journal.encounters(*pair, "") for pair in pairs])


def archived(url: str, ring: Path) -> Archived:
    return archive_store(url, ring, FUTURE, NOON, silent)


def in_log(url: str) -> set[str]:
    with opened(url) as engine, engine.connect() as connection:
        return set(connection.execute(text("SELECT DISTINCT match_id FROM event")).scalars())


@pytest.mark.long
async def test_every_reader_finds_an_archived_match_at_its_place(url: str, ring: Path, before: Read) -> None:
    whole = check_store(url, silent, ring)
    with opened(url) as engine:
        listed = rows(engine)
    old = count_archivable(url, FUTURE)
    done = archived(url, ring)
    assert (done.matches, done.damages) == (old, ())
    assert 0 < done.bytes_after < 0.6 * done.bytes_before  # these matches are short
    last = before.log[-1].match_id
    unfinished = {match_id for match_id, found in before.matches.items() if b'"kind":"ended"' not in found[-1].body}
    assert in_log(url) == unfinished | {last}
    assert old + len(in_log(url)) == len(before.matches)
    assert await read(url, ring) == before
    assert check_store(url, silent, ring) == whole
    assert whole.faults == ()
    rebuild_store(url, silent, ring)
    with opened(url) as engine:
        assert rows(engine) == listed
    assert archived(url, ring) == Archived()  # nothing is left to do


@pytest.mark.long
async def test_only_matches_that_ended_before_the_time_are_archived(url: str, ring: Path, before: Read) -> None:
    ends = sorted(
        json.loads(found[-1].body)["at"] for found in before.matches.values() if b'"kind":"ended"' in found[-1].body
    )
    middle = ends[len(ends) // 2]
    count = sum(end < middle for end in ends)
    assert count_archivable(url, middle) == count
    assert archive_store(url, ring, middle, NOON, silent).matches == count
    assert count_archivable(url, middle) == 0
    assert await read(url, ring) == before


@pytest.mark.long
async def test_records_are_appended_meanwhile(url: str, ring: Path) -> None:
    whole = appends(1)
    async with open_store(url, ring=ring) as store:
        Watermark(ring, shown(url)).reached(0, 0)

        async def append(some: tuple[Append, ...]) -> None:
            await asyncio.gather(*(store.journal.append(one) for one in some))

        for number in range(8):
            first, last = number * len(whole) // 8, (number + 1) * len(whole) // 8
            await append(whole[first:last])
            archive_store(url, ring, FUTURE, NOON, silent)
        found = await read_of(store)
    assert len(found.log) == sum(len(one.records) for one in whole)
    Watermark(ring, shown(url)).reached(len(found.log), 0)
    assert check_store(url, silent, ring).faults == ()


@pytest.mark.long
async def test_a_reader_misses_no_record_that_is_moved_meanwhile(
    url: str, ring: Path, before: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archiving, "AT_ONCE", 1)
    async with open_store(url, ring=ring) as store:
        moving = asyncio.create_task(asyncio.to_thread(archived, url, ring))
        reads = 0
        while not moving.done() or reads < 2:
            assert await store.journal.read_all(0, 10_000) == before.log
            for match_id, found in before.matches.items():
                assert await store.journal.read(match_id) == found
            assert await store.journal.last_gap(0) == 0
            reads += 1
        assert (await moving).matches > 0


KILLED = """
import os, sys
from pathlib import Path
from sqlalchemy import event
from arbiter.bootstrap import archiving
from arbiter.bootstrap.archiving import archive_store
from arbiter.store import archive

after, store, keys = sys.argv[1:]
archiving.AT_ONCE = 2
moving = archive.move

def kill_after(connection, cursor, statement, *_):
    if statement.startswith(after):
        os.kill(os.getpid(), 9)

def move(engine, matches):
    event.listen(engine, "after_cursor_execute", kill_after)
    return moving(engine, matches)

def progress(done, of):
    if after == "two transactions" and done == 4:
        os.kill(os.getpid(), 9)

archive.move = move
archive_store(store, Path(keys), 2 * 1_800_000_000_000, 1_800_000_000_000, progress)
"""


def killed(after: str, url: str, ring: Path) -> None:
    assert run_script(KILLED, after, url, str(ring)) == -signal.SIGKILL


@pytest.mark.long
@pytest.mark.parametrize(
    ("url", "after"),
    [
        ("sqlite", "INSERT INTO archived_match"),
        ("sqlite", "DELETE FROM event"),
        ("sqlite", "two transactions"),
        pytest.param("postgres", "INSERT INTO archived_match", marks=pytest.mark.soak),
        ("postgres", "DELETE FROM event"),
        pytest.param("postgres", "two transactions", marks=pytest.mark.soak),
    ],
    indirect=["url"],
)
async def test_a_kill_in_the_middle_leaves_each_match_in_one_place(
    url: str, ring: Path, before: Read, after: str
) -> None:
    killed(after, url, ring)
    with opened(url) as engine, engine.connect() as connection:
        moved = set(connection.execute(text("SELECT match_id FROM archived_match")).scalars())
    assert len(moved) == (4 if after == "two transactions" else 0)
    assert moved.isdisjoint(in_log(url))
    assert await read(url, ring) == before
    assert check_store(url, silent, ring).faults == ()
    archived(url, ring)
    assert await read(url, ring) == before
    assert check_store(url, silent, ring).faults == ()


@pytest.mark.long
async def test_two_simultaneous_archivers_move_each_match_once(url: str, ring: Path, before: Read) -> None:
    old = count_archivable(url, FUTURE)
    done = await asyncio.gather(asyncio.to_thread(archived, url, ring), asyncio.to_thread(archived, url, ring))
    assert sum(one.matches for one in done) == old
    assert await read(url, ring) == before
    assert check_store(url, silent, ring).faults == ()


#: changes of one archived match by somebody without the keys, and the message about each
FORGERIES = {
    "records of another match": (
        "UPDATE archived_match SET records = (SELECT records FROM archived_match AS other "
        "WHERE other.match_id <> archived_match.match_id ORDER BY match_id LIMIT 1) WHERE match_id = :id",
        "its archive has other records than its entry says",
    ),
    "no seal": ("UPDATE archived_match SET seal = NULL WHERE match_id = :id", "it has no seal"),
    "an older entry": ("UPDATE archived_match SET entry = :forged WHERE match_id = :id", "its seal does not hold"),
    "records that are none": ("UPDATE archived_match SET records = :forged WHERE match_id = :id", "can't be read"),
    "another first number": (
        "UPDATE archived_match SET first_sequence = first_sequence + 1 WHERE match_id = :id",
        "its seal does not hold",
    ),
}


@pytest.mark.long
@pytest.mark.parametrize(
    ("url", "what"),
    [
        *(("sqlite", what) for what in FORGERIES),
        *(
            pytest.param("postgres", what, marks=pytest.mark.soak if number else ())
            for number, what in enumerate(FORGERIES)
        ),
    ],
    indirect=["url"],
)
async def test_an_edited_archive_is_refused_with_a_message(url: str, ring: Path, before: Read, what: str) -> None:
    archived(url, ring)
    statement, said = FORGERIES[what]
    with opened(url) as engine, engine.begin() as connection:
        victim = str(connection.execute(text("SELECT max(match_id) FROM archived_match")).scalar())
        forged = json.dumps({"at": 1, "places": [[1, 2]]}).encode()
        values = {"id": victim, "forged": forged} if ":forged" in statement else {"id": victim}
        connection.execute(text(statement), values)
    async with open_store(url, ring=ring) as store:
        with pytest.raises(RecordDamaged, match=f"revision 1 of match {victim} is damaged .*{said}"):
            await store.journal.read(victim)
        with pytest.raises(StoreFailed):
            await store.journal.read_all(0, 10_000)
        for other in before.matches.keys() - {victim}:
            assert await store.journal.read(other) == before.matches[other]
    faults = check_store(url, silent, ring).faults
    assert any(victim in fault and said in fault for fault in faults), faults


@pytest.mark.long
async def test_a_removed_record_is_found_though_others_are_archived(
    url: str, ring: Path, before: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    archived(url, ring)
    monkeypatch.setattr(gaps, "_WINDOW", 5)
    assert check_store(url, silent, ring).faults == ()
    with opened(url) as engine, engine.connect() as connection:
        gone = str(connection.execute(text("SELECT max(match_id) FROM archived_match")).scalar())
    removed = {record.sequence for record in before.matches[gone]} | {
        record.sequence for record in before.log[:-1] if record.match_id in in_log(url) and record.sequence % 3 == 0
    }
    change(url, f"DELETE FROM archived_match WHERE match_id = '{gone}'")
    change(url, f"DELETE FROM event WHERE sequence % 3 = 0 AND sequence < {before.log[-1].sequence}")
    with opened(url) as engine, engine.connect() as connection:
        found = list(gaps.gaps(connection, seals(ring)))
    assert {number for first, last in found for number in range(first, last + 1)} == removed
    assert all(gap[1] + 1 < following[0] for gap, following in pairwise(found))
    async with open_store(url, ring=ring) as store:
        for after in (0, max(removed) - 1, max(removed)):
            assert await store.journal.last_gap(after) == max((one for one in removed if one > after), default=0)


@pytest.mark.long
async def test_a_forged_entry_covers_no_gap(url: str, ring: Path, before: Read) -> None:
    gone = before.log[20].sequence
    change(url, f"DELETE FROM event WHERE sequence = {gone}")
    with opened(url) as engine, engine.begin() as connection:
        entry = json.dumps({"at": 1, "places": [[gone, 1]]}).encode()
        values = {"id": "m", "first": gone, "entry": entry, "seal": b"x" * 24}
        connection.execute(text("INSERT INTO archived_match VALUES (:id, :first, 0, 1, :entry, :seal, :entry)"), values)
    async with open_store(url, ring=ring) as store:
        assert await store.journal.last_gap(0) == gone
    faults = check_store(url, silent, ring).faults
    assert f"records {gone} to {gone} of the log are missing" in faults


@pytest.mark.long
async def test_a_damaged_match_stays_in_the_log(url: str, ring: Path, before: Read) -> None:
    old = count_archivable(url, FUTURE)
    victim = before.log[0].match_id
    change(url, "UPDATE event SET seal = (SELECT seal FROM event WHERE sequence = 2) WHERE sequence = 1")
    done = archived(url, ring)
    assert done.matches == old - 1
    assert [victim in damage for damage in done.damages] == [True]
    assert victim in in_log(url)


@pytest.mark.long
async def test_lost_keys_are_replaced_in_the_archive_too(
    url: str, ring: Path, before: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    archived(url, ring)
    new = ring.with_name("new.keys")
    monkeypatch.setattr(archive, "_AT_ONCE", 3)
    with opened(url) as engine:
        assert sealing.seal_records(engine, seals(new), everything=True) == len(before.log)
    assert await read(url, new) == before
    Watermark(new, shown(url)).reached(len(before.log), 0)
    assert check_store(url, silent, new).faults == ()


@pytest.mark.long
async def test_a_backup_has_the_archive(url: str, ring: Path, before: Read, tmp_path: Path) -> None:
    archived(url, ring)
    backup_store(url, ring, tmp_path / "copy", silent)
    other, keys = f"sqlite:///{tmp_path}/other.db", tmp_path / "other.keys"
    restore_store(tmp_path / "copy", other, keys, silent)
    assert await read(other, keys) == before
    assert in_log(other) == in_log(url)


async def everything(stubs: Stubs, count: int) -> list[bytes]:
    """Return what an observer of all matches receives from the first record on."""
    request = match_pb2.ObserveRequest(all=match_pb2.ObserveAll(after_token="0"), with_record=True)
    received: list[bytes] = []
    stream = stubs.matches.Observe(request, metadata=stubs.org)
    async for part in stream:
        received += [item.event.record for item in part.items if item.WhichOneof("item") == "event"]
        if len(received) >= count:
            break
    stream.cancel()
    return received[:count]


@pytest.mark.long
async def test_players_and_observers_see_no_difference(url: str, tmp_path: Path) -> None:
    keys = tmp_path / "arbiter.keys"
    async with served(open_world, store=url, keys=keys, rules_workers=1) as server:
        stubs = await Stubs(server).enter()
        match = await stubs.match(game="hop-it")
        await play(stubs, match, 4)
        resign = match_pb2.ResignRequest(request_id="r", match_id=match.match_id)
        await stubs.matches.Resign(resign, metadata=stubs.bob)
        other = await stubs.match("other")
        signed = await signed_transcript(stubs, match.match_id)
        seen = await transcript(stubs, match.match_id, stubs.org)
        with opened(url) as engine, engine.connect() as connection:
            head = int(connection.execute(text("SELECT max(sequence) FROM event")).scalar_one())
        received = await everything(stubs, head)
        archive_store(url, keys, FUTURE, NOON, silent)
        assert in_log(url) == {other.match_id}
        assert await everything(stubs, head) == received
        assert await signed_transcript(stubs, match.match_id) == signed
        assert await transcript(stubs, match.match_id, stubs.org) == seen
        again = await stubs.matches.Resign(resign, metadata=stubs.bob)  # a repeated request has its answer
        assert again == await stubs.matches.Resign(resign, metadata=stubs.bob)
    async with served(open_world, store=url, keys=keys, rules_workers=1) as server:
        fresh = Stubs(server)
        fresh.alice, fresh.bob, fresh.org = stubs.alice, stubs.bob, stubs.org
        assert await signed_transcript(fresh, match.match_id) == signed
        assert await transcript(fresh, match.match_id, fresh.org) == seen
        assert await fresh.matches.Resign(resign, metadata=fresh.bob) == again
        assert await everything(fresh, head) == received
        await play(fresh, other, 2)  # and the others go on


async def signed_transcript(stubs: Stubs, match_id: str) -> bytes:
    request = match_pb2.GetTranscriptRequest(match_id=match_id)
    return b"".join([part.lines async for part in stubs.matches.GetTranscript(request, metadata=stubs.org)])
