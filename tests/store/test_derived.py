"""Tables that are derived from the log can be derived again, with the same rows."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from sqlalchemy import Engine, text

from arbiter.bootstrap.store import check_store, open_store, rebuild_store
from arbiter.errors import OperatorError
from arbiter.ratings.counts import Counts, RatedGame
from arbiter.service.ports.directory import Player
from arbiter.service.ports.journal import Append, Filter
from arbiter.store import derived, tables
from arbiter.store.database import opened
from tests.store.records import PLAYERS, appends
from tests.store.test_journal import opening

pytestmark = pytest.mark.long

HARM = {
    "an empty list of matches": 'DELETE FROM "match"',
    "half of the list": "DELETE FROM \"match\" WHERE match_id < 'm008'",
    "no tallies": "DELETE FROM tally",
    "a wrong tally": "UPDATE tally SET games = games + 1 WHERE winner = 1",
    "a tally of nothing": "INSERT INTO tally VALUES ('x', 'pods', true, 'a', 'b', 'win', 1, 'rules', 1, '', '')",
    "wrong winners": "UPDATE \"match\" SET winner = 3 - winner WHERE result = 'win'",
    "all at an end": "UPDATE \"match\" SET ended_sequence = 1, result = 'void' WHERE ended_sequence = 0",
    "nothing at an end": 'UPDATE "match" SET ended_sequence = 0',
    "requests that are each other's": 'UPDATE "match" SET request_id = match_id',
    "a match without a record": (
        'INSERT INTO "match" (match_id, game, player_1, player_2, time_control, rated, label, creator, request_id, '
        "created_ms, sequence) VALUES ('ghost', 'pods', 'a', 'b', '1m', true, '', 'org', 'never asked', 1, 1)"
    ),
}


def silent(done: int, of: int) -> None:
    """Do a job without progress messages."""


async def filled(url: str, seed: int = 1) -> tuple[Append, ...]:
    """Fill a store with the records of many matches."""
    everything = appends(seed)
    async with open_store(url) as store:
        for name in PLAYERS[:2]:
            await store.directory.add_player(Player(name, 5, about="was here before"), None)
        await asyncio.gather(*(store.journal.append(append) for append in everything))
    return everything


def rows(engine: Engine) -> dict[str, list[Any]]:
    """Return all derived rows."""
    with engine.connect() as connection:
        return {
            table.name: [tuple(row) for row in connection.execute(table.select().order_by(*table.primary_key))]
            for table in (tables.match, tables.tally)
        }


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_rows_derived_with_the_events_are_those_derived_from_the_log(url: str, seed: int) -> None:
    everything = await filled(url, seed)
    done: list[tuple[int, int]] = []
    found = check_store(url, lambda *progress: done.append(progress))
    assert found == derived.Found(16, sum(len(append.records) for append in everything))
    assert done == [(number, 16) for number in range(1, 17)]
    ends = Counter(append.closed.result for append in everything if append.closed)
    assert set(ends) == {"win", "draw", "void"}
    assert sum(ends.values()) < 16, "some matches have not ended"


@pytest.mark.parametrize("harm", HARM)
async def test_damage_is_found_and_repaired(url: str, harm: str) -> None:
    await filled(url)
    with opened(url) as engine:
        before = rows(engine)
        with engine.begin() as connection:
            connection.execute(text(HARM[harm]))
        assert rows(engine) != before
        found = check_store(url, silent)
        assert found.faults
        assert len(found.faults) <= derived.MOST_FAULTS
        mended = rebuild_store(url, silent)
        assert rows(engine) == before
    assert (mended.matches, mended.records) == (found.matches, found.records)
    assert check_store(url, silent).faults == ()


async def test_players_in_the_log_are_added_and_the_others_not_changed(url: str) -> None:
    everything = await filled(url)
    first = {
        name: min(
            a.opened.created_ms for a in everything if a.opened and name in (a.opened.player_1, a.opened.player_2)
        )
        for name in PLAYERS
    }
    assert rebuild_store(url, silent).players == 2
    assert rebuild_store(url, silent).players == 0
    async with open_store(url) as store:
        players = {player.name: player for player in await store.directory.players("", 10)}
        for name in PLAYERS[:2]:
            assert players[name] == Player(name, 5, about="was here before")
        for name in PLAYERS[2:]:
            assert players[name] == Player(name, first[name])


async def test_ratings_and_standings_are_functions_of_the_tallies(url: str) -> None:
    """The tallies give the same counts as all single matches."""
    await filled(url)
    async with open_store(url) as store:
        tallies = [tally for tally in await store.journal.tallies() if tally.rated and tally.result != "void"]
        ended = await store.journal.summaries(Filter(ended=True), 0, 100)
    games = [RatedGame(tally.player_1, tally.player_2, tally.winner) for tally in tallies for _ in range(tally.games)]  # type: ignore[arg-type]
    single = [
        RatedGame(row.player_1, row.player_2, row.end.winner)  # type: ignore[arg-type]
        for row in ended
        if row.end is not None and row.rated and row.end.result != "void"
    ]
    assert games
    assert Counts.of(games) == Counts.of(single)


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        ("UPDATE event SET body = ? WHERE match_id = 'm003' AND revision = 2", "the record of match m003 is damaged"),
        (
            "DELETE FROM event WHERE match_id = 'm003' AND revision = 2",
            "match m003 is damaged: record 2: has revision 3",
        ),
        (
            "DELETE FROM event WHERE match_id = 'm003' AND revision = 1",
            "match m003 is damaged: record 1: has revision 2",
        ),
        (
            "UPDATE event SET match_id = 'mxxx' WHERE match_id = 'm003'",
            "match mxxx is damaged: it is that of match m003",
        ),
        (
            "UPDATE event SET revision = revision + 100 WHERE match_id = 'm003'",
            "match m003 is damaged: its revisions are not 1, 2, 3",
        ),
    ],
)
async def test_a_damaged_record_is_named_and_no_row_is_derived_from_it(url: str, harm: str, says: str) -> None:
    await filled(url)
    with opened(url) as engine:
        with engine.begin() as connection:
            connection.execute(text("UPDATE tally SET games = games + 1"))
            connection.execute(text(harm.replace("?", ":body")), {"body": b'{"kind":"moved"'} if "?" in harm else {})
        before = rows(engine)
        assert any(says in fault for fault in check_store(url, silent).faults)
        with pytest.raises(OperatorError, match="nothing was rebuilt: the record of match") as caught:
            rebuild_store(url, silent)
        assert says in str(caught.value)
        assert rows(engine) == before


async def test_malformed_events_are_named(url: str) -> None:
    async with open_store(url) as store:
        await store.journal.append(opening("a"))
    assert "match a is damaged" in check_store(url, silent).faults[0]


async def test_an_empty_store_is_rebuilt(url: str) -> None:
    with opened(url):
        pass
    assert rebuild_store(url, silent) == derived.Found(0, 0)
    assert check_store(url, silent) == derived.Found(0, 0)
