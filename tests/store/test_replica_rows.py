"""The rows of servers that share a store: one contract, in memory and on PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from arbiter.bootstrap import open_store
from arbiter.service.ports.directory import AlreadyThere, Directory, Player
from arbiter.service.ports.notices import Notice, NoticeKind
from arbiter.service.ports.replicas import PlaySession, Replicas
from arbiter.testing.memory import MemoryDirectory, MemoryReplicas
from tests.store.test_directory import ALICE, CHALLENGE, TOKEN

A_LONG_TIME_MS = 600_000


@pytest.fixture(params=["memory", "postgres"])
async def replicas(request: pytest.FixtureRequest) -> AsyncIterator[Replicas]:
    if request.param == "memory":
        yield MemoryReplicas()
        return
    async with open_store(request.getfixturevalue(request.param), shared=True) as store:
        assert store.replicas is not None
        yield store.replicas


async def gone(replicas: Replicas, replica: str) -> tuple[str, ...]:
    """Wait until a replica has to handle a dead one; replicas without heartbeats are dead at once."""
    while True:
        heartbeat = await replicas.beat(replica, 0)
        assert heartbeat is not None
        if heartbeat.gone:
            return heartbeat.gone
        await asyncio.sleep(0)


async def test_a_silent_replica_counts_as_dead_and_one_other_handles_it(replicas: Replicas) -> None:
    for name in ("a", "b", "c"):
        await replicas.enter(name)
    for name in ("a", "b", "c"):
        heartbeat = await replicas.beat(name, A_LONG_TIME_MS)
        assert heartbeat is not None
        assert heartbeat.gone == ()
    assert "a" in await gone(replicas, "b")
    assert await replicas.beat("a", A_LONG_TIME_MS) is None, "the dead replica learns it too"
    await replicas.forget("a")
    again = await replicas.beat("b", A_LONG_TIME_MS)
    assert again is not None
    assert "a" not in again.gone


async def test_the_next_replica_takes_over_from_one_that_dies_while_it_handles_another(replicas: Replicas) -> None:
    for name in ("a", "b"):
        await replicas.enter(name)
    assert await gone(replicas, "b") == ("a",)
    await replicas.enter("c")
    while set(await gone(replicas, "c")) != {"a", "b"}:
        pass
    assert await replicas.beat("b", A_LONG_TIME_MS) is None


async def sessions(replicas: Replicas, replica: str) -> tuple[PlaySession, ...]:
    """Return what a replica is told of Play streams."""
    heartbeat = await replicas.beat(replica, A_LONG_TIME_MS)
    assert heartbeat is not None
    return heartbeat.sessions


async def test_a_player_has_one_stream_which_is_the_last_one(replicas: Replicas) -> None:
    for name in ("a", "b"):
        await replicas.enter(name)
    assert await replicas.take("alice", "a", "1.0", 3) == (1, False)
    assert await replicas.take("alice", "b", "1.1", 0) == (2, True), "a may be dead"
    assert await replicas.take("alice", "b", "1.2", 4) == (3, True), "as far as anybody knows"
    assert [session.doubtful for session in await sessions(replicas, "b")] == [True]
    assert not await replicas.give_back("alice", "a", 1)
    assert not await replicas.give_back("alice", "b", 2)
    while (known := await sessions(replicas, "a"))[0].doubtful:  # noqa: ASYNC110
        await asyncio.sleep(0)  # until the heartbeat of a is later than the stream
    assert known == (PlaySession("alice", "b", 3, "1.2", 4),)
    assert await replicas.give_back("alice", "b", 3)
    assert not await replicas.give_back("alice", "b", 3)
    assert await sessions(replicas, "a") == ()
    assert (await replicas.take("alice", "a", "", 0))[1] is False


async def test_a_player_who_loses_the_new_stream_is_still_doubtful(replicas: Replicas) -> None:
    for name in ("a", "b", "c"):
        await replicas.enter(name)
    await replicas.take("alice", "a", "", 0)
    await replicas.take("alice", "b", "", 0)
    assert await replicas.give_back("alice", "b", 2)
    assert not await replicas.give_back("alice", "b", 2)
    assert await sessions(replicas, "b") == (PlaySession("alice", "", 2, "", 0, doubtful=True),)
    assert await replicas.lost_players("a") == ["alice"]
    for number, replica in enumerate(("c", "b", "c"), 3):
        assert await replicas.take("alice", replica, "", 0) == (number, True)
        assert await replicas.lost_players("a") == ["alice"]
    assert await replicas.give_back("alice", "c", 5)
    await replicas.forget("a")
    assert await sessions(replicas, "b") == ()
    assert await replicas.take("alice", "c", "", 0) == (1, False)


async def test_a_replica_knows_whether_there_are_others(replicas: Replicas) -> None:
    for name, alone in (("a", True), ("b", False)):
        await replicas.enter(name)
        heartbeat = await replicas.beat("a", A_LONG_TIME_MS)
        assert heartbeat is not None
        assert heartbeat.alone is alone


async def test_players_of_a_dead_replica_are_lost_and_so_are_those_who_have_just_left_it(replicas: Replicas) -> None:
    for name in ("a", "b"):
        await replicas.enter(name)
    for player in ("alice", "bob", "carol"):
        await replicas.take(player, "a", "", 0)
    await replicas.take("dave", "b", "", 0)
    await replicas.take("bob", "b", "", 0)
    assert await replicas.lost_players("a") == ["alice", "bob", "carol"]
    await replicas.forget("a")
    assert await replicas.lost_players("a") == []
    heartbeat = await replicas.beat("b", A_LONG_TIME_MS)
    assert heartbeat is not None
    assert [session.player for session in heartbeat.sessions] == ["bob", "dave"]


@pytest.fixture(params=["memory", "postgres"])
async def directory(request: pytest.FixtureRequest) -> AsyncIterator[Directory]:
    if request.param == "memory":
        yield MemoryDirectory()
        return
    async with open_store(request.getfixturevalue(request.param), shared=True) as store:
        yield store.directory


async def test_a_notice_is_written_in_the_transaction_of_its_change(directory: Directory) -> None:
    assert await directory.last_notice() == 0
    await directory.add_player(ALICE, TOKEN)
    assert await directory.last_notice() == 0, "a new player concerns no connected one"
    await directory.change_player("alice", about="new")
    await directory.change_player("alice", suspended=True)
    await directory.change_player("alice", suspended=False)
    await directory.change_player("nobody", suspended=True)
    await directory.revoke_token("t1")
    await directory.revoke_token("t2")
    await directory.add_challenge(CHALLENGE, 1)
    await directory.add_challenge(CHALLENGE, 1)
    await directory.notify(NoticeKind.CHALLENGE, "c1", "alice", "m1")
    expected = [
        Notice(1, NoticeKind.SHUT_OUT, "", "alice"),
        Notice(2, NoticeKind.SHUT_OUT, "t1", "alice"),
        Notice(3, NoticeKind.CHALLENGE, "c1", "bob"),
        Notice(4, NoticeKind.CHALLENGE, "c1", "alice", "m1"),
    ]
    assert await directory.notices(0, 100) == expected
    assert await directory.notices(1, 2) == expected[1:3]
    assert await directory.last_notice() == 4


async def test_limits_hold_and_notices_are_in_order_with_several_writers(postgres: str) -> None:
    async with open_store(postgres, shared=True) as one, open_store(postgres, shared=True) as other:
        stores = (one, other)
        named = [("rook", "r00k"), ("milo", "rnilo"), ("ally", "a11y")]
        for pair in named:
            asked = [
                store.directory.add_player(Player(name, 1), None) for store, name in zip(stores, pair, strict=True)
            ]
            found = await asyncio.gather(*asked, return_exceptions=True)
            assert sorted(isinstance(each, AlreadyThere) for each in found) == [False, True], "the names look alike"
        tokens = [replace(TOKEN, token_id=f"t{n}", digest=f"d{n}") for n in range(20)]
        added = await asyncio.gather(*(stores[n % 2].directory.add_token(token, 5) for n, token in enumerate(tokens)))
        assert sum(added) == 5
        challenges = [replace(CHALLENGE, challenge_id=f"c{n}", request_id=f"r{n}") for n in range(20)]
        made = await asyncio.gather(
            *(stores[n % 2].directory.add_challenge(challenge, 7) for n, challenge in enumerate(challenges))
        )
        assert sum(each is not None for each in made) == 7
        heard: list[Notice] = []
        telling = asyncio.gather(
            *(stores[n % 2].directory.notify(NoticeKind.CHALLENGE, f"c{n}", "bob", "") for n in range(60))
        )
        while len(heard) < 67:
            heard += await one.directory.notices(heard[-1].number if heard else 0, 10)
        await telling
        assert [notice.number for notice in heard] == list(range(1, 68))
