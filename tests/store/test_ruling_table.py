"""Rulings on ratings in a store: one of each number, with what it changes in lists and counts, and derived again."""

from __future__ import annotations

import asyncio
from itertools import count
from pathlib import Path
from random import Random

import pytest
from sqlalchemy import text

from arbiter.bootstrap.store import Store, check_store, open_record, open_store, rebuild_store
from arbiter.config import load
from arbiter.errors import OperatorError, Refusal
from arbiter.ratings.rulings import NO_GAMES, Command, Decision, Selection
from arbiter.service.ports.journal import RULINGS, Journal, JournalConflict, Record, Subject
from arbiter.service.ratings.ruling_on_ratings import RatingRulings
from arbiter.store.database import opened
from arbiter.testing.memory import MemoryJournal, NoKeys
from tests.store.records import PLAYERS, appends
from tests.store.test_derived import rows, silent

SELECTIONS = (
    *(Selection(players=(name,)) for name in PLAYERS),
    Selection(players=PLAYERS[:2]),
    Selection(label="cup"),
    Selection(players=PLAYERS[1:], label="league"),
    Selection(players=(PLAYERS[0],), game="circle-of-life"),
)


class Counter:
    """A clock that counts, so that two journals get the same rulings."""

    def __init__(self) -> None:
        self._next = count(1)

    def now_ms(self) -> int:
        """Return the next number."""
        return next(self._next)


async def ruled(journal: Journal, seed: int) -> None:
    """Store matches and rulings, in random order."""
    dice, rulings = Random(seed), RatingRulings(journal, Counter(), NoKeys(), 100)
    for number, append in enumerate(appends(seed)):
        await journal.append(append)
        if dice.random() < 0.3:
            back = (await rulings.log()).revision and dice.random() < 0.3
            decision = Decision.TAKEN_BACK if back else dice.choice((Decision.UNRATED, Decision.RATED))
            selection = NO_GAMES if back else dice.choice(SELECTIONS)
            ruling = dice.randint(1, (await rulings.log()).revision) if back else 0
            try:
                await rulings.rule(Command("org", f"r{number}", decision, selection, ruling, ""), preview=False)
            except Refusal:
                continue  # no game meets the conditions, or the ruling was taken back already


async def seen(journal: Journal) -> list[object]:
    """Return what a journal says of ratings."""
    return [
        await journal.rated_games(()),
        await journal.rated_games(("circle-of-life",)),
        [each for each in await journal.tallies() if each.games],
        await journal.dated_tallies("", 1_000),
        [await journal.first_rated(name, "") for name in PLAYERS],
        [row.match_id for row, _ in await journal.encounters(*PLAYERS[:2], "")],
        [await journal.rated_matches(each, 5) for each in SELECTIONS],
        [(record.revision, record.body) for record in await journal.rulings()],
        [record.revision for record in await journal.rulings(2)],
    ]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
async def test_every_store_has_the_ratings_of_the_one_in_memory(store: Store, seed: int) -> None:
    memory = MemoryJournal()
    await ruled(memory, seed)
    await ruled(store.journal, seed)
    assert await seen(store.journal) == await seen(memory)
    assert len(await memory.rulings()) > 3


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
async def test_what_rulings_change_is_derived_again(url: str, seed: int) -> None:
    async with open_store(url) as store:
        await ruled(store.journal, seed)
    assert check_store(url, silent).faults == ()
    with opened(url) as engine:
        before = rows(engine)
        with engine.begin() as connection:
            connection.execute(text('UPDATE "match" SET ruling = 1 - ruling WHERE ruling < 2'))
        assert len(check_store(url, silent).faults) > 1
        rebuild_store(url, silent)
        after = rows(engine)
        assert after["match"] == before["match"]
        assert after["tally"] == [row for row in before["tally"] if row[8]], "games are in column 8"
        with engine.begin() as connection:
            connection.execute(text("DELETE FROM rating_ruling WHERE number = 2"))
    assert check_store(url, silent).faults[0].startswith("ruling 2 on ratings is damaged")
    with pytest.raises(OperatorError, match="nothing was rebuilt: ruling 2 on ratings is damaged"):
        rebuild_store(url, silent)


@pytest.mark.long
async def test_a_store_without_its_newest_rulings_is_named_and_not_served(url: str, tmp_path: Path) -> None:
    settings = load(None, store=url, keys=tmp_path / "arbiter.keys")
    async with open_record(settings) as (store, _):
        await ruled(store.journal, 1)
        last = len(await store.journal.rulings())
    assert check_store(url, silent, settings.key_ring).faults == ()
    with opened(url) as engine, engine.begin() as connection:
        connection.execute(text(f"DELETE FROM rating_ruling WHERE number = {last}"))
    missing = f"holds {last - 1} rulings on ratings, and has held {last} before"
    assert missing in check_store(url, silent, settings.key_ring).faults[0]
    with pytest.raises(OperatorError, match=missing):
        async with open_record(settings):
            pass


async def test_a_number_is_given_once(store: Store) -> None:
    first = Record(RULINGS, 1, b"first", Subject.RATINGS)
    both = [store.journal.rule_on_ratings(first._replace(body=body), {}) for body in (b"one", b"two")]
    found = await asyncio.gather(*both, return_exceptions=True)
    assert {type(each) for each in found} == {JournalConflict, type(None)}
    (record,) = await store.journal.rulings()
    assert (record.sequence, record.revision, record.subject) == (1, 1, Subject.RATINGS)
    assert record.body == (b"one" if found[0] is None else b"two")
