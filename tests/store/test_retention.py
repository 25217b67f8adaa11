"""A server removes by itself what is old, and moves old matches to the archive: the section `retention`."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from arbiter_protos.v1 import match_pb2, player_pb2
from structlog.testing import capture_logs

from arbiter.bootstrap import count_archivable, open_world, retention
from arbiter.config import Settings, load
from arbiter.errors import OperatorError
from arbiter.testing.served import Served, served
from tests.processes import WAIT_S
from tests.rpc.calls import Stubs

LONG_AGO = 1_000_000_000_000


async def until_tidy(said: list[Any], event: str) -> None:
    """Wait until a server has said something."""
    async with asyncio.timeout(WAIT_S):
        while not any(line["event"] == event for line in said):  # noqa: ASYNC110 - a log tells nobody
            await asyncio.sleep(0.01)


async def fill(server: Served) -> str:
    """Play a match to its end, begin another one, and revoke a token; return the id of the first match."""
    stubs = await Stubs(server).enter()
    match_id = (await stubs.match()).match_id
    await stubs.matches.Resign(match_pb2.ResignRequest(match_id=match_id, request_id="x"), metadata=stubs.alice)
    await stubs.match("another")  # the last record of a log is not archived
    made = await stubs.players.CreateToken(player_pb2.CreateTokenRequest(player="bob"), metadata=stubs.bob)
    await stubs.players.RevokeToken(player_pb2.RevokeTokenRequest(token_id=made.token.token_id), metadata=stubs.bob)
    return match_id


@pytest.mark.long
async def test_old_matches_move_to_the_archive_and_old_tokens_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path}/arbiter.db"
    async with served(open_world, store=url) as server:
        match_id = await fill(server)
    with closing(sqlite3.connect(tmp_path / "arbiter.db")) as raw, raw:
        raw.execute("UPDATE match SET ended_ms = ? WHERE ended_ms > 0", (LONG_AGO,))
        raw.execute("UPDATE token SET created_ms = ?", (LONG_AGO,))
        tokens = raw.execute("SELECT count(*) FROM token WHERE NOT revoked").fetchone()
    monkeypatch.setattr(retention, "FIRST_S", 0.0)
    assert count_archivable(url, 2 * LONG_AGO) == 1
    with capture_logs() as said:
        async with served(open_world, store=url, retention={"matches_days": 1, "tokens_days": 1}) as server:
            await until_tidy(said, "archived")
            read = match_pb2.GetMatchRequest(match_id=match_id)
            found = await Stubs(server).matches.GetMatch(read, metadata=await server.token("reader"))
            assert found.match.phase == match_pb2.PHASE_ENDED
    assert any(line["event"] == "tidied" and line["removed"] == 1 for line in said)
    assert count_archivable(url, 2 * LONG_AGO) == 0
    with closing(sqlite3.connect(tmp_path / "arbiter.db")) as raw:
        assert raw.execute("SELECT count(*) FROM token WHERE revoked").fetchone() == (0,)
        assert raw.execute("SELECT count(*) FROM token WHERE NOT revoked AND player <> 'reader'").fetchone() == tokens


async def test_each_kind_has_its_days_and_none_keeps_it_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, ...]] = []
    archived: list[int] = []

    class Asked:
        async def forget(self, *before: int) -> int:
            asked.append(before)
            return 0

    async def archive(settings: Settings, days: int, log: Any) -> None:
        archived.append(days)

    monkeypatch.setattr(retention, "_archive", archive)
    for days in (
        {"tokens_days": 2, "challenges_days": 0, "sessions_days": 0, "matches_days": 5},
        {"tokens_days": 0, "challenges_days": 3, "sessions_days": 4, "matches_days": 0},
        {"tokens_days": 0, "challenges_days": 0, "sessions_days": 1},
    ):
        settings = load(None, retention=days, limits={"session_idle_ms": 3 * retention.DAY_MS})
        directory: Any = Asked()
        log: Any = None
        await retention._tidy(settings, directory, 10 * retention.DAY_MS, log)
    day = retention.DAY_MS
    assert asked == [(8 * day, 0, 0), (0, 7 * day, 6 * day), (0, 0, 7 * day)], "no session is removed before it is over"
    assert archived == [5], "of matches, only where they have a number of days"


@pytest.mark.parametrize("name", ["matches_days", "challenges_days", "tokens_days", "sessions_days"])
def test_wrong_days_are_refused(name: str) -> None:
    for wrong in (-1, 100_001, "soon"):
        with pytest.raises(OperatorError, match=rf"retention\.{name}"):
            load(None, retention={name: wrong})
