"""The ladder that `arbiter bench growth` writes straight into a store is one that a server could have written."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from arbiter.bench.old_ladder import PLIES, write_ladder
from arbiter.bench.stores import NewStore
from arbiter.bootstrap.store import check_store, open_store
from arbiter.keys.watermark import Watermark
from arbiter.service.ports.journal import Filter
from arbiter.service.record.match_log import load_match
from arbiter.service.record.snapshots import go_on_from, snapshot_and_rest
from arbiter.store.database import shown
from tests.store.test_derived import silent

pytestmark = pytest.mark.long

GAMES = 1_900  #: enough for a snapshot, and for old games after it


async def test_the_store_is_sound(tmp_path: Path) -> None:
    store, ring = NewStore(f"sqlite:///{tmp_path}/arbiter.db", tmp_path), tmp_path / "arbiter.keys"
    ladder = await write_ladder(store, GAMES)
    async with open_store(store.url, ring=ring) as opened:
        Watermark(ring, shown(store.url)).reached(await opened.journal.head(), 0)
        rows = await opened.journal.summaries(Filter(label=ladder), 0, 2 * GAMES)
        for player in (rows[0].player_1, rows[0].player_2):
            known = await opened.directory.player(player)
            assert known is not None
            assert not await opened.journal.results(player, known.acknowledged, 1), "nothing is left to be sent"
        match = load_match(await opened.journal.read(rows[0].match_id))
        begun = await snapshot_and_rest(opened.journal, opened.snapshots, ladder)
    assert (len(rows), match.ply, match.created.request) == (GAMES, PLIES, f"{GAMES}/1")
    assert begun.snapshot is not None
    found = go_on_from(begun.snapshot, [record.body for record in begun.records])
    assert found is not None
    assert len(found.tournament.games) == GAMES
    assert (await asyncio.to_thread(check_store, store.url, silent, ring)).faults == ()
