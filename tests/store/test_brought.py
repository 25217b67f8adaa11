"""What other servers have stored comes with a server's own commits, where they share a store."""

from __future__ import annotations

import asyncio
from random import Random

import psycopg
import pytest

from arbiter.bootstrap import Store, open_store
from arbiter.service.ports.journal import Append, JournalConflict, StoreDamaged, StoredRecord
from arbiter.store.appending import MOST_READ, UNDISTURBED
from tests.store.test_journal import opening, records


async def log_of(store: Store) -> list[StoredRecord]:
    return await store.journal.read_all(0, 1_000_000)


async def test_a_commit_brings_what_others_have_stored_since_the_last_one(postgres: str) -> None:
    async with open_store(postgres) as one, open_store(postgres) as other:
        one.journal.brought()
        await one.journal.append(opening("a"))
        theirs = [await other.journal.append(opening(name)) for name in ("b", "ä")]
        assert one.journal.brought() == []
        own = await one.journal.append(Append(records("a", 2)))
        brought = one.journal.brought()
        assert brought == [record for record in await log_of(one) if record.sequence in theirs]
        assert own == theirs[-1] + 1
        assert one.journal.brought() == []
        await one.journal.append(Append(records("a", 3)))
        assert one.journal.brought() == []


async def test_nothing_is_kept_before_somebody_asks(postgres: str) -> None:
    async with open_store(postgres) as one, open_store(postgres) as other:
        await one.journal.append(opening("a"))
        await other.journal.append(opening("b"))
        await one.journal.append(Append(records("a", 2)))
        assert one.journal.brought() == []


async def test_a_commit_that_first_guesses_the_last_number_brings_them_too(postgres: str) -> None:
    async with open_store(postgres) as one, open_store(postgres) as other:
        one.journal.brought()
        await one.journal.append(opening("a"))
        for revision in range(2, UNDISTURBED + 4):
            await one.journal.append(Append(records("a", revision)))
        place = await other.journal.append(opening("b"))
        await one.journal.append(Append(records("a", UNDISTURBED + 4)))
        assert [record.sequence for record in one.journal.brought()] == [place]


async def test_more_records_than_a_commit_may_bring_are_left_to_a_read(postgres: str) -> None:
    async with open_store(postgres) as one, open_store(postgres) as other:
        one.journal.brought()
        await one.journal.append(opening("a"))
        await other.journal.append(opening("b"))
        await other.journal.append(Append(records("b", 2, MOST_READ)))
        await one.journal.append(Append(records("a", 2)))
        assert one.journal.brought() == []
        place = await other.journal.append(Append(records("b", MOST_READ + 2)))
        await one.journal.append(Append(records("a", 3)))
        assert [record.sequence for record in one.journal.brought()] == [place]


async def test_an_append_that_loses_a_race_brings_no_wrong_records(postgres: str) -> None:
    async with open_store(postgres) as one, open_store(postgres) as other:
        one.journal.brought()
        await one.journal.append(opening("a"))
        await other.journal.append(Append(records("a", 2)))
        with pytest.raises(JournalConflict):
            await one.journal.append(Append(records("a", 2)))
        await other.journal.append(Append(records("a", 3)))
        await one.journal.append(Append(records("a", 4)))
        brought = one.journal.brought()
        assert [record.revision for record in brought] == [2]
        assert brought == (await log_of(one))[-3:-2]


async def test_a_damaged_record_is_not_brought_and_a_read_names_it(postgres: str) -> None:
    async with open_store(postgres) as one, open_store(postgres) as other:
        one.journal.brought()
        await one.journal.append(opening("a"))
        place = await other.journal.append(opening("b"))
        with psycopg.connect(postgres) as connection:
            connection.execute("UPDATE event SET subject = 'x' WHERE sequence = %s", (place,))
        await one.journal.append(Append(records("a", 2)))
        assert one.journal.brought() == []
        with pytest.raises(StoreDamaged, match="revision 1 of match b is damaged"):
            await one.journal.read_all(place - 1, 10)


@pytest.mark.parametrize("seed", range(4))
async def test_own_and_brought_records_have_no_gap_but_after_a_failure(postgres: str, seed: int) -> None:
    """Several servers append at random: groups of any size, openings of matches, appends that lose a race."""
    dice = Random(seed)
    async with open_store(postgres) as one, open_store(postgres) as two, open_store(postgres) as three:
        stores = (one, two, three)
        known: list[dict[int, StoredRecord]] = [{}, {}, {}]
        for store in stores:
            store.journal.brought()
        revisions: dict[str, int] = {}

        async def turn(number: int) -> None:
            journal = stores[number].journal
            appends = []
            for _ in range(dice.choice((1, 1, 2, 5))):
                name = f"{number} {dice.choice('abc')}"
                made = revisions.get(name, 0)
                if not made or dice.random() < 0.9:
                    revisions[name] = made + 1
                    appends.append(journal.append(Append(records(name, made + 1)) if made else opening(name)))
                else:  # of any server's match: this fails
                    appends.append(journal.append(Append(records(dice.choice(list(revisions)), 1))))
            for answer in await asyncio.gather(*appends, return_exceptions=True):
                assert isinstance(answer, int | JournalConflict), answer
            for record in journal.brought():
                assert record.sequence not in known[number]
                known[number][record.sequence] = record

        for _ in range(40):
            await asyncio.gather(*[turn(number) for number in dice.sample(range(3), dice.randint(1, 3))])
        log = {record.sequence: record for record in await log_of(one)}
        for brought in known:
            assert brought
            assert list(brought) == sorted(brought)
            assert all(log[sequence] == record for sequence, record in brought.items())
