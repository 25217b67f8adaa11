"""A server removes by itself what is old, and moves old matches to the archive: the section `retention`."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import structlog
from arbiter_protos.v1 import match_pb2, player_pb2
from structlog.testing import capture_logs

from arbiter.bootstrap import retention
from arbiter.bootstrap.archiving import count_archivable
from arbiter.bootstrap.store import open_store
from arbiter.bootstrap.world import open_world
from arbiter.config import load
from arbiter.errors import OperatorError
from arbiter.service.ports.directory import Player, Token
from arbiter.testing.served import Served, served
from tests.processes import WAIT_S
from tests.rpc.calls import Stubs
from tests.store.test_directory import CHALLENGE
from tests.store.test_tournaments import append, row
from tests.store.test_web_hooks import HOOK

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


KINDS = ("token", "challenge", "session", "hook")


@pytest.mark.long
@pytest.mark.parametrize(
    ("days", "left"),
    [
        ({"tokens_days": 2}, {"token": [8, 9]}),
        ({"challenges_days": 3}, {"challenge": [7, 8, 9]}),
        ({"sessions_days": 5}, {"session": [5, 6, 7, 8, 9]}),
        ({"sessions_days": 1}, {"session": [7, 8, 9]}),
        ({"web_hooks_days": 4}, {"hook": [6, 7, 8, 9]}),
        ({}, {}),
    ],
    ids=["tokens", "challenges", "sessions", "sessions that are not over", "web hooks", "for ever"],
)
async def test_each_kind_has_its_days_and_none_keeps_it_for_ever(
    days: dict[str, int], left: dict[str, list[int]], sqlite: str
) -> None:
    """On day 10, of what nobody needs one is of each day before; no session is removed before it is over."""
    day = retention.DAY_MS
    never = dict.fromkeys(("tokens_days", "challenges_days", "sessions_days", "web_hooks_days"), 0)
    settings = load(None, retention=never | days, limits={"session_idle_ms": 3 * day})
    async with open_store(sqlite) as store:
        directory = store.directory
        await directory.add_player(Player("ann", 0), None)
        for on in range(10):
            token = Token(f"t{on}", "ann", f"t{on}", (), "", on * day)
            assert await directory.add_token(token, 10)
            await directory.revoke_token(f"t{on}")
            session = Token(f"s{on}", "ann", f"s{on}", (), "", 0, session=True, used_ms=on * day)
            assert await directory.add_token(session, 10)
            made = replace(CHALLENGE, challenge_id=f"c{on}", request_id=f"c{on}", created_ms=on * day)
            await directory.add_challenge(made, 10)
            assert await directory.change_challenge(replace(made, state="declined"), ("open",))
            ended = row(f"tournament{on}", phase="ended", ended_ms=on * day + 1)
            await store.journal.append(append(ended, 1))
            hook = replace(HOOK, hook_id=f"h{on}", request_id=f"h{on}", tournament_id=ended.tournament_id)
            assert await directory.web_hooks.add(hook, 1)
        await store.journal.append(append(row("running", phase="running"), 1))
        assert await directory.web_hooks.add(replace(HOOK, tournament_id="running"), 1)
        await retention._tidy(settings, store, 10 * day, structlog.get_logger())
        found = {
            "token": [on for on in range(10) if await directory.token(f"t{on}")],
            "challenge": [on for on in range(10) if await directory.challenge(f"c{on}")],
            "hook": [on for on in range(10) if await directory.web_hooks.get(f"h{on}")],
            "session": [int(each.token_id[1:]) for each in reversed(await directory.sessions("ann"))],
        }
        assert await directory.web_hooks.get(HOOK.hook_id), "its tournament goes on"
    every = list(range(10))
    assert {kind: sorted(which) for kind, which in found.items()} == {kind: left.get(kind, every) for kind in KINDS}


@pytest.mark.parametrize("name", ["matches_days", "challenges_days", "tokens_days", "sessions_days", "web_hooks_days"])
def test_wrong_days_are_refused(name: str) -> None:
    for wrong in (-1, 100_001, "soon"):
        with pytest.raises(OperatorError, match=rf"retention\.{name}"):
            load(None, retention={name: wrong})
