"""The rows of servers that share a store: one contract, in memory and on PostgreSQL."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from dataclasses import replace
from random import Random
from signal import SIGQUIT
from typing import NamedTuple

import pytest
from sqlalchemy.engine import make_url

from arbiter.bootstrap.store import open_store
from arbiter.service.ports.directory import AlreadyThere, Directory, Player
from arbiter.service.ports.notices import SHOWN, Notice, NoticeKind
from arbiter.service.ports.replicas import NOT_YET, HandOver, LostPlayer, PlaySession, Replicas
from arbiter.service.sharing.replica import BEAT_S
from arbiter.store.replicas import ENDED_MS, SAME_TIME_MS
from arbiter.testing.memory import MemoryDirectory, MemoryReplicas
from tests.store.postgres import Cluster
from tests.store.test_directory import ALICE, CHALLENGE, TOKEN

A_LONG_TIME_MS = 600_000
LONGEST_S = 240
INSTANTS = itertools.count(1)


@pytest.fixture(params=["memory", "postgres"])
async def replicas(request: pytest.FixtureRequest) -> AsyncIterator[Replicas]:
    if request.param == "memory":
        yield MemoryReplicas()
        return
    async with open_store(request.getfixturevalue(request.param), shared=True) as store:
        assert store.replicas is not None
        yield store.replicas


async def gone(replicas: Replicas, replica: str, number: int = 1) -> tuple[str, ...]:
    """Wait until a replica has to handle a number of dead ones; replicas without heartbeats are dead at once."""
    async with asyncio.timeout(LONGEST_S):
        while True:
            heartbeat = await replicas.beat(replica, 0)
            assert heartbeat is not None
            if len(heartbeat.gone) >= number:
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
    assert set(await gone(replicas, "c", 2)) == {"a", "b"}
    assert await replicas.beat("b", A_LONG_TIME_MS) is None


class Two(NamedTuple):
    """Two servers on one PostgreSQL, each with a replica of its name, `a` and `b`."""

    a: Replicas
    b: Replicas
    cluster: Cluster
    database: str

    def session(self, replica: str) -> int:
        """Return the session by which a replica says that it holds the store."""
        [(session,)] = self.cluster.ask(f"SELECT session FROM replica WHERE replica = '{replica}'", self.database)
        return int(session)

    async def silence(self, replica: str) -> None:
        """Wait until a replica has been silent for so long that it is dead if it has no session."""
        query = f"SELECT 1 FROM replica WHERE replica = '{replica}' AND {ENDED_MS + 50} < "
        async with asyncio.timeout(LONGEST_S):
            while not self.cluster.ask(f"{query} extract(epoch FROM now()) * 1000 - seen_ms", self.database):  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    async def others(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the dead and the other replicas as `b` sees them, by their sessions alone."""
        heartbeat = await self.b.beat("b", A_LONG_TIME_MS)
        assert heartbeat is not None
        return heartbeat.gone, heartbeat.others


@pytest.fixture
async def two(cluster: Cluster, postgres: str) -> AsyncIterator[Two]:
    async with open_store(postgres, shared=True) as one, open_store(postgres, shared=True) as other:
        assert one.replicas is not None
        assert other.replicas is not None
        made = Two(one.replicas, other.replicas, cluster, str(make_url(postgres).database))
        for name, replicas in (("a", made.a), ("b", made.b)):
            await replicas.enter(name)
            await replicas.beat(name, A_LONG_TIME_MS)
        yield made


async def test_a_replica_whose_session_has_ended_is_dead_once_a_heartbeat_is_missing(two: Two) -> None:
    assert ENDED_MS > BEAT_S * 1_000, "a replica that lives and lost its session writes a heartbeat in time"
    await two.silence("a")
    assert await two.others() == ((), ("a",)), "it is silent, and its session is there"
    await two.a.beat("a", A_LONG_TIME_MS)
    before = two.session("a")
    assert two.cluster.ask(f"SELECT pg_terminate_backend({before}, {LONGEST_S * 1_000})") == [(True,)]
    await two.silence("a")
    assert await two.others() == (("a",), ())
    assert await two.a.beat("a", A_LONG_TIME_MS) is None
    await two.a.enter("a2")
    assert two.session("a2") not in (0, before), "a new replica has a session"
    await two.silence("a2")
    assert await two.others() == (("a",), ("a2",))


async def test_the_restart_of_the_database_makes_no_replica_dead(two: Two) -> None:
    two.cluster.stop(SIGQUIT)
    two.cluster.start()
    await two.silence("a")
    assert await two.others() == ((), ("a",)), "no session has outlived the database"
    before = two.session("a")
    await two.a.beat("a", A_LONG_TIME_MS)
    assert two.session("a") != before
    assert two.cluster.ask(f"SELECT pg_terminate_backend({two.session('a')}, {LONGEST_S * 1_000})") == [(True,)]
    await two.silence("a")
    assert await two.others() == (("a",), ())


async def test_a_server_of_the_version_before_has_no_session_and_is_dead_by_silence_alone(two: Two) -> None:
    two.cluster.ask("UPDATE replica SET session = 0 WHERE replica = 'a'", two.database)
    await two.silence("a")
    assert await two.others() == ((), ("a",))


async def sessions(replicas: Replicas, replica: str) -> tuple[PlaySession, ...]:
    """Return what a replica is told of Play streams."""
    heartbeat = await replicas.beat(replica, A_LONG_TIME_MS)
    assert heartbeat is not None
    return heartbeat.sessions


async def take(replicas: Replicas, player: str, replica: str) -> tuple[int, bool]:
    """Open a Play stream; return its epoch, and whether it is in doubt."""
    taken = await replicas.take(player, replica, "", 0)
    assert taken is not None
    await replicas.arrive(player, replica, taken.epoch, next(INSTANTS))
    return taken.epoch, taken.left_ms is not None


async def lost(replicas: Replicas, replica: str) -> list[str]:
    """Return the names of the players who were on a replica when it was last alive."""
    return [player for player, _ in await replicas.lost_players(replica)]


async def in_doubt(replicas: Replicas, replica: str) -> list[str]:
    """Return the players of whom a replica is told that they may come from a dead one."""
    return [session.player for session in await sessions(replicas, replica) if session.left_ms is not None]


async def test_a_player_has_one_stream_which_is_the_last_one(replicas: Replicas) -> None:
    for name in ("a", "b"):
        await replicas.enter(name)
    assert await take(replicas, "alice", "a") == (1, False)
    assert await take(replicas, "alice", "b") == (2, True), "a may be dead"
    await replicas.take("alice", "b", "1.2", 4)
    assert await in_doubt(replicas, "b") == ["alice"], "as far as anybody knows"
    assert not await replicas.give_back("alice", "a", 1)
    assert not await replicas.give_back("alice", "b", 2)
    assert await sessions(replicas, "a") == (PlaySession("alice", "b", 3, "1.2", 4),), "a is alive"
    assert await replicas.give_back("alice", "b", 3)
    assert not await replicas.give_back("alice", "b", 3)
    assert await sessions(replicas, "a") == ()
    assert await take(replicas, "alice", "a") == (1, False)


def turns(player: str) -> list[HandOver]:
    """Return what a replica says of the turns that it has handed over."""
    return [HandOver(player, f"m-{player}-{number}", number, 1_000, 1_010 + number) for number in range(2)]


async def test_the_next_replica_of_a_player_is_told_once_when_its_turns_were_handed_over(replicas: Replicas) -> None:
    for name in ("a", "b"):
        await replicas.enter(name)
    for player in ("alice", "bob"):
        await take(replicas, player, "a")
    assert await replicas.give_back("alice", "a", 1, turns("alice"))
    taken = await replicas.take("alice", "b", "", 0)
    assert taken is not None
    assert taken.left_ms is None
    assert sorted(taken.hand_overs) == turns("alice")
    await take(replicas, "bob", "b")
    assert not await replicas.give_back("bob", "a", 1, turns("bob")), "another replica has bob's stream"
    asked: list[str] = []

    def hand_overs(player: str) -> list[HandOver]:
        asked.append(player)
        return turns(player)

    before = await replicas.beat("b", A_LONG_TIME_MS)
    assert before is not None
    assert before.hand_overs == ()
    assert before.sessions[1].left_ms is not None
    assert await replicas.beat("a", A_LONG_TIME_MS, hand_overs)
    assert asked == ["bob"]
    told = [await replicas.beat("b", A_LONG_TIME_MS) for _ in range(2)]
    assert [sorted(beat.hand_overs) for beat in told if beat is not None] == [turns("bob"), []]
    assert told[0] is not None
    assert told[0].sessions[1].left_ms is None, "from then on, bob is not in doubt"


async def test_a_heartbeat_that_has_not_seen_that_its_player_has_left_lets_no_hand_over_be_lost(two: Two) -> None:
    def heard(after_ms: int) -> None:
        """Have `a` write a heartbeat that long after the row, and without seeing it."""
        two.cluster.ask(
            f"UPDATE replica SET seen_ms = taken_ms + {after_ms} FROM left_replica WHERE {mine}", two.database
        )

    mine = "replica.replica = 'a' AND left_replica.replica = 'a'"
    assert SAME_TIME_MS < BEAT_S * 1_000, "the next heartbeat is a sign of life"
    await take(two.a, "alice", "a")
    await take(two.b, "alice", "b")
    for after_ms, doubtful in ((-1, ["alice"]), (3, ["alice"]), (SAME_TIME_MS + 1, [])):
        heard(after_ms)
        assert await in_doubt(two.b, "b") == doubtful
    heard(3)
    assert await two.a.beat("a", A_LONG_TIME_MS, turns)
    told = await two.b.beat("b", A_LONG_TIME_MS)
    assert told is not None
    assert sorted(told.hand_overs) == turns("alice")
    assert [session.left_ms for session in told.sessions] == [None]


async def test_of_a_turn_that_went_from_replica_to_replica_the_last_word_counts(replicas: Replicas) -> None:
    await replicas.enter("a")
    for epoch, at_ms in ((1, 1_020), (1, 1_030)):
        await take(replicas, "alice", "a")
        hand_over = HandOver("alice", "m", 3, 1_000, at_ms)
        assert await replicas.give_back("alice", "a", epoch, [turns("alice")[0], hand_over])
        taken = await replicas.take("alice", "a", "", 0)
        assert taken is not None
        assert hand_over in taken.hand_overs
        assert await replicas.give_back("alice", "a", 1, [hand_over._replace(at_ms=1), hand_over])


async def test_a_player_who_loses_the_new_stream_is_still_doubtful(replicas: Replicas) -> None:
    for name in ("a", "b", "c"):
        await replicas.enter(name)
    await take(replicas, "alice", "a")
    await take(replicas, "alice", "b")
    assert await replicas.give_back("alice", "b", 2)
    assert not await replicas.give_back("alice", "b", 2)
    [row] = await sessions(replicas, "b")
    assert (row.player, row.replica, row.epoch) == ("alice", "", 2)
    assert row.left_ms is not None
    assert await lost(replicas, "a") == ["alice"]
    for number, replica in enumerate(("c", "b", "c"), 3):
        assert await take(replicas, "alice", replica) == (number, True)
        assert await lost(replicas, "a") == ["alice"]
    assert await replicas.give_back("alice", "c", 5)
    await sessions(replicas, "b")
    await replicas.forget("a")
    assert await sessions(replicas, "c") == ()
    assert await take(replicas, "alice", "c") == (1, False)


async def test_a_player_is_doubtful_until_each_server_that_it_came_from_is_known(replicas: Replicas) -> None:
    for name in ("a", "b", "c"):
        await replicas.enter(name)
        await take(replicas, "alice", name)
    [(_, left_a)], [(_, left_b)] = await replicas.lost_players("a"), await replicas.lost_players("b")
    assert left_a is not None
    assert left_b is not None
    assert left_a < left_b
    await replicas.forget("a")
    assert [session.left_ms for session in await sessions(replicas, "c")] == [left_b]
    assert await lost(replicas, "b") == ["alice"]
    await replicas.forget("b")
    assert await in_doubt(replicas, "c") == []


async def test_a_player_whose_server_is_forgotten_is_doubtful_because_of_the_one_before(replicas: Replicas) -> None:
    for name in ("a", "b", "c"):
        await replicas.enter(name)
    for name in ("a", "b"):
        await take(replicas, "alice", name)
    await replicas.forget("b")
    assert await lost(replicas, "a") == ["alice"]
    assert await take(replicas, "alice", "c") == (3, True)


async def test_a_replica_that_was_declared_dead_takes_no_stream(replicas: Replicas) -> None:
    for name in ("a", "b"):
        await replicas.enter(name)
    assert await gone(replicas, "b") == ("a",)
    assert await replicas.take("alice", "a", "", 0) is None
    await replicas.forget("a")
    assert await replicas.take("alice", "a", "", 0) is None
    assert await sessions(replicas, "b") == ()


class Told:
    """What was told of one player and three replicas, in order, and what follows from it.

    A replica that the player has left is in doubt until it gives a sign of life, or is forgotten. The player has left
    it when the next stream was opened.
    """

    def __init__(self) -> None:
        self.at = ""
        self.epoch = 0
        self._left: list[tuple[str, int]] = []  # from the first to the last

    def takes(self, replica: str) -> None:
        if self.at not in ("", replica):
            self._left.append((self.at, NOT_YET))
        self.resolved(replica)
        self.at = replica

    def resolved(self, replica: str) -> None:
        self._left = [(name, at) for name, at in self._left if name != replica]

    def arrives(self, opened_ms: int) -> None:
        self._left = [(name, min(at, opened_ms)) for name, at in self._left]

    def forgotten(self, replica: str) -> None:
        self.resolved(replica)
        self.at = "" if self.at == replica else self.at

    def lost(self, replica: str) -> list[LostPlayer]:
        if self.at == replica:
            return [LostPlayer("alice", None)]
        return [LostPlayer("alice", None if at == NOT_YET else at) for name, at in self._left if name == replica]

    @property
    def row(self) -> list[tuple[str, int | None]]:
        left = max((at for _, at in self._left), default=None)
        return [(self.at, left)] if self.at or left else []


async def test_a_server_is_in_doubt_from_when_a_player_leaves_it_to_its_next_sign_of_life(
    replicas: Replicas, seeds: int
) -> None:
    """In whatever order a player goes to and fro, and servers live on and die."""
    await replicas.enter("watcher")
    dice, numbers = Random(seeds), itertools.count(1)
    for _ in range(seeds):
        told, names = Told(), [f"r{next(numbers)}" for _ in range(3)]
        for name in names:
            await replicas.enter(name)
        for _ in range(15):
            number = dice.randrange(3)
            match dice.choice(("take", "take", "arrive", "beat", "give back", "end", "forget")):
                case "take":
                    told.takes(names[number])
                    taken = await replicas.take("alice", names[number], "", 0)
                    assert taken is not None
                    told.epoch = taken.epoch
                case "arrive" if told.at:
                    opened_ms = next(INSTANTS)
                    told.arrives(opened_ms)
                    await replicas.arrive("alice", told.at, told.epoch - 1, 0)  # this stream has been replaced
                    await replicas.arrive("alice", told.at, told.epoch, opened_ms)
                case "beat":
                    told.resolved(names[number])
                    await replicas.beat(names[number], A_LONG_TIME_MS)
                case "give back" if told.at:  # it was never opened, or `arrive` has said when
                    assert await replicas.give_back("alice", told.at, told.epoch)
                    told.at = ""
                case "end" if told.at:
                    opened_ms = next(INSTANTS)
                    told.arrives(opened_ms)
                    assert await replicas.give_back("alice", told.at, told.epoch, (), opened_ms)
                    told.at = ""
                case "forget":
                    told.forgotten(names[number])
                    await replicas.forget(names[number])
                    names[number] = f"r{next(numbers)}"
                    await replicas.enter(names[number])
            assert [(row.replica, row.left_ms) for row in await sessions(replicas, "watcher")] == told.row
            for name in names:
                assert await replicas.lost_players(name) == told.lost(name)
        for name in names:
            await replicas.forget(name)
        assert await sessions(replicas, "watcher") == ()


async def test_a_replica_knows_whether_there_are_others(replicas: Replicas) -> None:
    for name, alone in (("a", True), ("b", False)):
        await replicas.enter(name)
        heartbeat = await replicas.beat("a", A_LONG_TIME_MS)
        assert heartbeat is not None
        assert heartbeat.alone is alone


async def test_players_of_a_dead_replica_are_lost_and_so_are_those_who_have_just_left_it(replicas: Replicas) -> None:
    for name in ("a", "b"):
        await replicas.enter(name)
    for player, replica in (("alice", "a"), ("bob", "a"), ("carol", "a"), ("dave", "b"), ("bob", "b")):
        await take(replicas, player, replica)
    found = await replicas.lost_players("a")
    assert [(player, left is not None) for player, left in found] == [("alice", False), ("bob", True), ("carol", False)]
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
    await directory.change_challenge(replace(CHALLENGE, state="accepting", reason="bob"), ("open",))
    accepted = replace(CHALLENGE, state="accepted", reason="bob", match_id="m1")
    await directory.change_challenge(accepted, ("open", "accepting"), "alice")
    await directory.change_challenge(accepted, ("open", "accepting"), "alice")
    expected = [
        Notice(1, NoticeKind.SHUT_OUT, "", "alice"),
        Notice(2, NoticeKind.SHUT_OUT, SHOWN, "alice"),
        Notice(3, NoticeKind.SHUT_OUT, "t1", "alice"),
        Notice(4, NoticeKind.CHALLENGE, "c1", "bob"),
        Notice(5, NoticeKind.CHALLENGE, "c1", "alice", "m1"),
    ]
    assert await directory.notices(0, 100) == expected
    assert await directory.notices(1, 2) == expected[1:3]
    assert await directory.last_notice() == 5


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
        await one.directory.add_player(ALICE, None)
        tokens = [replace(TOKEN, token_id=f"t{n}", digest=f"d{n}") for n in range(20)]
        added = await asyncio.gather(*(stores[n % 2].directory.add_token(token, 5) for n, token in enumerate(tokens)))
        assert sum(added) == 5
        challenges = [replace(CHALLENGE, challenge_id=f"c{n}", request_id=f"r{n}") for n in range(20)]
        made = await asyncio.gather(
            *(stores[n % 2].directory.add_challenge(challenge, 7) for n, challenge in enumerate(challenges))
        )
        assert sum(each is not None for each in made) == 7
        heard: list[Notice] = []
        telling = asyncio.gather(*(stores[n % 2].directory.change_player("alice", suspended=True) for n in range(60)))
        while len(heard) < 67:
            heard += await one.directory.notices(heard[-1].number if heard else 0, 10)
        await telling
        assert [notice.number for notice in heard] == list(range(1, 68))
