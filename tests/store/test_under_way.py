"""Lists of the matches under way are read by their own index, however many matches have ended."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from sqlalchemy import Engine, event

from arbiter.bootstrap import open_store
from arbiter.service.ports.journal import Filter, Journal
from arbiter.store.database import opened

Listing = Callable[[Journal], Coroutine[Any, Any, list[Any]]]


@pytest.mark.parametrize(
    "listing",
    [
        lambda journal: journal.unfinished(),
        lambda journal: journal.unfinished_matches(),
        lambda journal: journal.summaries(Filter(ended=False), 0, 50),
        lambda journal: journal.summaries(Filter(game="hop-it", ended=False), 1_000, 50),
        lambda journal: journal.summaries(Filter(label="a label", ended=False), 0, 50),
    ],
    ids=["ids", "entries", "active", "of a game", "of a label"],
)
async def test_sqlite_begins_with_the_matches_under_way(sqlite: str, listing: Listing) -> None:
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
    assert any("INDEX match_under_way" in step for step in plan), plan
