"""What a look at a store says of its growth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlalchemy import insert
from sqlalchemy.engine import make_url

from arbiter.store.database import opened
from arbiter.store.looking import DAY_MS, look
from arbiter.store.tables import event
from tests.store.postgres import Cluster

BEGAN_MS = 1_700_000_000_000


def record(number: int, at_ms: int, body: bytes | None = None) -> dict[str, object]:
    return {
        "sequence": number,
        "match_id": f"m{number}",
        "revision": 1,
        "body": body or json.dumps({"at": at_ms}).encode(),
    }


@pytest.mark.parametrize(("days", "recent", "recent_days"), [(10, 701, 7), (3, 301, 3), (0, 1, 0)])
def test_records_of_the_last_days_are_counted(tmp_path: Path, days: int, recent: int, recent_days: int) -> None:
    """A hundred a day; every third place is empty, as after a move to the archive."""
    url = f"sqlite:///{tmp_path}/arbiter.db"
    rows = [record(number + 1, BEGAN_MS + number * DAY_MS // 100) for number in range(100 * days + 1)]
    with opened(url) as engine, engine.begin() as connection:
        connection.execute(insert(event), [row for row in rows if days < 10 or rows.index(row) % 3 or row is rows[-1]])
    state = look(url)
    assert abs(state.recent - recent) <= 1
    assert state.recent_days == recent_days
    assert state.bytes == (tmp_path / "arbiter.db").stat().st_size


def test_an_empty_store_and_damaged_records(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/arbiter.db"
    with opened(url):
        pass
    assert look(url)[-2:] == (0, 0.0)
    with opened(url) as engine, engine.begin() as connection:
        connection.execute(insert(event), [record(number, BEGAN_MS, b"rubbish") for number in (1, 2, 3)])
    assert look(url)[-2:] == (0, 0.0)


@pytest.mark.long
def test_the_folder_of_a_database_is_known_to_roles_that_may_read_its_settings(cluster: Cluster, postgres: str) -> None:
    folder = look(postgres).folder
    assert folder is not None
    assert (folder / "PG_VERSION").exists()
    database = str(make_url(postgres).database)
    cluster.ask("CREATE ROLE small LOGIN", database)
    cluster.ask("GRANT SELECT ON ALL TABLES IN SCHEMA public TO small", database)
    assert look(postgres.replace("//arbiter@", "//small@")).folder is None
