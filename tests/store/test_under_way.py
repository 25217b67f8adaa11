"""What is asked often is read by an index, however many matches have ended."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from sqlalchemy import Engine, event

from arbiter.bootstrap.store import open_store
from arbiter.service.ports.journal import Filter, Journal
from arbiter.store.database import opened

Listing = Callable[[Journal], Coroutine[Any, Any, list[Any]]]


@pytest.mark.parametrize(
    ("listing", "index"),
    [
        (lambda journal: journal.unfinished(), "match_under_way"),
        (lambda journal: journal.unfinished_matches(), "match_under_way"),
        (lambda journal: journal.summaries(Filter(ended=False), 0, 50), "match_under_way"),
        (lambda journal: journal.summaries(Filter(game="hop-it", ended=False), 1_000, 50), "match_under_way"),
        (lambda journal: journal.summaries(Filter(label="a label", ended=False), 0, 50), "match_under_way"),
        (lambda journal: journal.dated_tallies("", 1_000, 1_700_000_000), "match_by_end (ended_ms>?)"),
        (lambda journal: journal.dated_tallies("hop-it", 1_000, 1_700_000_000), "match_by_end (ended_ms>?)"),
        (lambda journal: journal.first_rated("ann", ""), "match_by_player_1 (player_1=? AND ended_sequence>?)"),
    ],
    ids=["ids", "entries", "active", "of a game", "of a label", "by time", "of a game by time", "first of a player"],
)
async def test_sqlite_begins_with_an_index(sqlite: str, listing: Listing, index: str) -> None:
    asked: list[tuple[str, Any]] = []

    def note(_connection: object, _cursor: object, said: str, values: Any, *_: object) -> None:
        asked.append((said, values))

    async with open_store(sqlite) as store:
        event.listen(Engine, "after_cursor_execute", note)
        try:
            await listing(store.journal)
        finally:
            event.remove(Engine, "after_cursor_execute", note)
    statement, values = next((said, values) for said, values in asked if "FROM" in said)
    with opened(sqlite) as engine, engine.connect() as connection:
        plan = [row.detail for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)]
    assert any(f"INDEX {index}" in step for step in plan), plan
