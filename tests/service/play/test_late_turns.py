"""A turn of which its player could not be told for long, because the store kept the move before it: who pays?"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from arbiter.bootstrap import Store
from arbiter.config import Limits
from arbiter.matches.events import Ended, Event, Interrupted, Moved, Resumed
from arbiter.matches.match import Match, Phase
from arbiter.matches.policy import Policy
from arbiter.service.play.session import TurnItem
from arbiter.service.play.waits import AFTER_S, SILENCE_S
from arbiter.service.ports.directory import Challenge, Player
from arbiter.service.ports.journal import StoredRecord, StoreFailed, Subject
from arbiter.testing.clock import settle, virtually
from arbiter.testing.in_memory import InMemoryArbiter, StreamReader
from arbiter.testing.memory import MemoryDirectory, MemoryJournal, MemoryReplicas
from tests.service.sharing.servers import AT_ONCE, events, servers

LATE_S = Limits().stall_ms / 1_000
THINKS_S = 0.5
READS_S = 0.2


class KeepingDirectory(MemoryDirectory):
    """A directory that answers nobody who connects, as long as it keeps them. fails: it answers with an error."""

    def __init__(self) -> None:
        super().__init__()
        self.fails = False
        self.free = asyncio.Event()
        self.free.set()

    async def challenges(self, player: str, after: str, most: int) -> list[Challenge]:
        """Return what a player finds that connects."""
        await self.free.wait()
        return await super().challenges(player, after, most)

    async def change_player(self, name: str, **changes: Any) -> Player | None:
        """Store what is new about a player."""
        if self.fails:
            raise StoreFailed("a fault was asked for")
        await self.free.wait()
        return await super().change_player(name, **changes)


class KeepingJournal(MemoryJournal):
    """A log that nobody can read, as long as it is locked. fails: whether the records of a match can't be read."""

    def __init__(self) -> None:
        super().__init__()
        self.fails = False
        self.free = asyncio.Event()
        self.free.set()

    async def read(
        self, match_id: str, after: int = 0, most: int | None = None, subject: Subject = Subject.MATCH
    ) -> list[StoredRecord]:
        """Return the records of a match after a revision."""
        await asyncio.sleep(READS_S)
        if self.fails:
            raise StoreFailed("a fault was asked for")
        return await super().read(match_id, after, most, subject)

    async def read_all(self, after: int, most: int) -> list[StoredRecord]:
        """Return the records after a place."""
        await self.free.wait()
        return await super().read_all(after, most)


async def replied(bot: StreamReader) -> None:
    """Answer the next turn after a thought."""
    turn = await bot.turn()
    await asyncio.sleep(THINKS_S)
    bot.reply(turn)
    await settle()


async def turn_of_one_who_has_left(time: str, was_told: bool = True) -> tuple[InMemoryArbiter, KeepingDirectory, Match]:
    """Begin a turn of bob, who leaves once he was told of it, or before, and thinks. His new streams can be kept."""
    directory = KeepingDirectory()
    server = InMemoryArbiter(Store(MemoryJournal(), directory))
    alice, bob = await server.connect("alice"), await server.connect("bob")
    match = await server.create("pondlife", time=time, policy=AT_ONCE)
    if not was_told:
        server.arbiter.sessions.close(bob.session)
    alice.reply(await alice.turn())
    if was_told:
        await bob.turn()
        server.arbiter.sessions.close(bob.session)
    await asyncio.sleep(THINKS_S)
    return server, directory, match


async def coming_back(server: InMemoryArbiter, directory: KeepingDirectory) -> asyncio.Task[StreamReader]:
    """Have bob ask for a stream, which the store has kept for long when this returns."""
    directory.free.clear()
    opening = asyncio.create_task(server.connect("bob"))
    await asyncio.sleep(1.5 * LATE_S)
    return opening


async def held(server: InMemoryArbiter, match: Match, alice: StreamReader, seconds: float) -> None:
    """Have alice answer her turn while the store takes nothing, for so long."""
    server.journal.hold = True
    await replied(alice)
    await asyncio.sleep(seconds)
    live = server.arbiter.matches.live.find(match.id)
    assert live is not None
    assert live.newest.phase is Phase.ACTIVE, "no flag falls in a turn that nobody knows"
    server.journal.release()
    await settle()


async def with_a_lock() -> tuple[InMemoryArbiter, InMemoryArbiter, KeepingJournal, KeepingDirectory]:
    """Return two servers that share a store, and the parts of it that can be locked."""
    journal, directory = KeepingJournal(), KeepingDirectory()
    home = InMemoryArbiter(Store(journal, directory, replicas=MemoryReplicas()))
    away = home.beside()
    for server in (home, away):
        await server.share()
    return home, away, journal, directory


def last_move(found: list[Event]) -> Moved:
    return next(event for event in reversed(found) if isinstance(event, Moved))


@pytest.mark.parametrize("time", ["1m", "1s", "1s/move"])
@virtually
async def test_a_store_that_keeps_a_move_for_long_is_charged_to_nobody(time: str) -> None:
    server = InMemoryArbiter()
    alice, bob = await server.connect("alice"), await server.connect("bob")
    match = await server.create("pondlife", time=time, policy=AT_ONCE)
    with capture_logs() as logs:
        await held(server, match, alice, 3 * LATE_S)
    late = [line for line in logs if line["event"] == "turn_late"]
    assert [(line["ply"], line["late_ms"]) for line in late] == [(1, round(3_000 * LATE_S))]
    await replied(bob)
    found = await events(server, match.id)
    assert [type(event) for event in found if isinstance(event, Interrupted | Resumed)] == [Interrupted, Resumed]
    assert last_move(found).ply == 1
    assert last_move(found).ledger.charged == 1_000 * THINKS_S
    turns = [item.match.ply for item in bob.received if isinstance(item, TurnItem)]
    assert turns == [1], "the turn that came late is not sent too"


@pytest.mark.parametrize("comes", ["shortly before", "soon after", "elsewhere"])
@virtually
async def test_a_player_who_has_no_stream_is_not_charged_for_a_move_that_was_stored_late(comes: str) -> None:
    """Servers that can't use the log send their players away, so that a player may ask again and again meanwhile."""
    home, away = await servers(2)
    alice, bob = await home.connect("alice"), await home.connect("bob")
    match = await home.create("pondlife", time="1m", policy=AT_ONCE)
    home.arbiter.sessions.close(bob.session)
    home.journal.hold = True
    await replied(alice)
    await asyncio.sleep(2 * LATE_S)
    if comes == "shortly before":
        bob = await home.connect("bob")
        await asyncio.sleep(READS_S)
    home.journal.release()
    if comes != "shortly before":
        await asyncio.sleep(READS_S)
        bob = await (home if comes == "soon after" else away).connect("bob")
    await replied(bob)
    await asyncio.sleep(READS_S)
    moved = last_move(await events(home, match.id))
    assert (moved.ply, moved.ledger.charged) == (1, 1_000 * THINKS_S)


@pytest.mark.parametrize("comes", ["in vain", "in vain to another server", "too late"])
@virtually
async def test_a_player_who_asks_again_and_again_waits_since_the_log_fell_silent(comes: str) -> None:
    home, away, journal, directory = await with_a_lock()
    alice, bob = await home.connect("alice"), await home.connect("bob")
    match = await home.create("pondlife", time="1m", policy=AT_ONCE)
    home.arbiter.sessions.close(bob.session)
    await replied(alice)
    journal.free.clear()
    directory.free.clear()
    await asyncio.sleep(READS_S)
    for _ in range(3 if comes != "too late" else 0):
        server = away if comes == "in vain to another server" else home
        opening = asyncio.create_task(server.connect("bob"))
        await asyncio.sleep(0.5 * LATE_S)
        opening.cancel()
    if comes == "too late":
        await asyncio.sleep(1.5 * LATE_S)
    journal.free.set()
    directory.free.set()
    since_s = AFTER_S if comes == "too late" else 0.5
    await asyncio.sleep(READS_S + since_s)
    bob = await home.connect("bob")
    await replied(bob)
    await asyncio.sleep(READS_S)
    moved = last_move(await events(home, match.id))
    assert moved.ply == 1
    if comes == "too late":
        assert moved.ledger.charged >= 1_000 * (1.5 * LATE_S + since_s), "it was away"
    else:
        assert moved.ledger.charged == 1_000 * THINKS_S


@virtually
async def test_a_store_that_is_always_as_slow_lets_players_move() -> None:
    server = InMemoryArbiter()
    alice, bob = await server.connect("alice"), await server.connect("bob")
    match = await server.create("pondlife", time="1m", policy=AT_ONCE)
    server.journal.hold = True
    await replied(alice)
    for _ in range(2):
        await asyncio.sleep(2 * LATE_S)
        assert not [item for item in await bob.receive() if isinstance(item, TurnItem)]
        server.journal.release()
        server.journal.hold = True
        await settle()
    server.journal.release()
    await replied(bob)
    found = await events(server, match.id)
    assert [type(event) for event in found if isinstance(event, Interrupted | Resumed)] == [Interrupted, Resumed]
    assert last_move(found).ply == 1
    assert 1_000 * THINKS_S < last_move(found).ledger.charged < 1_000 * (2 * LATE_S + THINKS_S), "the second wait"


@virtually
async def test_a_store_that_is_slow_for_less_is_charged_beyond_the_credit() -> None:
    server = InMemoryArbiter()
    alice, bob = await server.connect("alice"), await server.connect("bob")
    match = await server.create("pondlife", time="1m", policy=AT_ONCE)
    await held(server, match, alice, LATE_S - 0.1)
    await replied(bob)
    found = await events(server, match.id)
    assert not any(isinstance(event, Interrupted) for event in found)
    credited = server.arbiter.policy.credit.hand_over_most_ms
    assert last_move(found).ledger.charged == round(1_000 * (LATE_S - 0.1 + THINKS_S)) - credited


@virtually
async def test_a_flag_falls_once_a_turn_is_known_that_its_player_was_told_of_in_time() -> None:
    server = InMemoryArbiter()
    alice, _ = await server.connect("alice"), await server.connect("bob")
    match = await server.create("pondlife", time="1s", policy=AT_ONCE)
    await held(server, match, alice, 1.9)  # longer than the clock has, and all credit
    await settle()
    ended = (await events(server, match.id))[-1]
    assert isinstance(ended, Ended)
    assert ended.reason == "time"


@virtually
async def test_a_player_who_comes_in_the_middle_of_a_turn_does_not_begin_it_again() -> None:
    server = InMemoryArbiter()
    alice = await server.connect("alice")
    match = await server.create("pondlife", time="1m", policy=AT_ONCE)
    alice.reply(await alice.turn())
    await asyncio.sleep(3 * LATE_S)
    bob = await server.connect("bob")
    await replied(bob)
    found = await events(server, match.id)
    assert not any(isinstance(event, Interrupted) for event in found)
    assert last_move(found).ledger.charged == 1_000 * (3 * LATE_S + THINKS_S)


@pytest.mark.parametrize("was_told", [True, False])
@virtually
async def test_a_player_whose_stream_the_store_keeps_for_long_is_not_charged(was_told: bool) -> None:
    server, directory, match = await turn_of_one_who_has_left("1m", was_told)
    opening = await coming_back(server, directory)
    directory.free.set()
    await replied(await opening)
    moved = last_move(await events(server, match.id))
    assert (moved.ply, moved.ledger.charged) == (1, 1_000 * THINKS_S), "the turn began again"


@virtually
async def test_a_turn_that_begins_while_the_store_keeps_the_stream_of_its_player_begins_again() -> None:
    directory = KeepingDirectory()
    server = InMemoryArbiter(Store(MemoryJournal(), directory))
    alice = await server.connect("alice")
    bob = await server.connect("bob")
    match = await server.create("pondlife", time="1m", policy=AT_ONCE)
    server.arbiter.sessions.close(bob.session)
    directory.free.clear()
    opening = asyncio.create_task(server.connect("bob"))
    await asyncio.sleep(THINKS_S)
    await replied(alice)
    await asyncio.sleep(1.5 * LATE_S)
    directory.free.set()
    await replied(await opening)
    moved = last_move(await events(server, match.id))
    assert (moved.ply, moved.ledger.charged) == (1, 1_000 * THINKS_S)


@virtually
async def test_a_player_whose_stream_the_store_keeps_does_not_lose_on_time() -> None:
    server, directory, match = await turn_of_one_who_has_left("1s/move")
    opening = await coming_back(server, directory)
    directory.free.set()
    await replied(await opening)
    moved = last_move(await events(server, match.id))
    assert (moved.ply, moved.ledger.charged) == (1, 1_000 * THINKS_S), "the turn began again"


@virtually
async def test_a_player_whose_stream_the_store_keeps_is_no_no_show() -> None:
    directory = KeepingDirectory()
    server = InMemoryArbiter(Store(MemoryJournal(), directory))
    await server.connect("alice")
    match = await server.create("pondlife", time="1m", policy=Policy(no_show_ms=1_000))
    directory.free.clear()
    opening = asyncio.create_task(server.connect("bob"))
    await asyncio.sleep(LATE_S)
    directory.free.set()
    await opening
    await settle()
    assert [event.kind for event in await events(server, match.id)][-1] == "started"


@virtually
async def test_a_turn_that_can_not_begin_again_is_offered_after_all() -> None:
    """A match that may be behind the log decides nothing until it was read, and that fails."""
    home, _, journal, directory = await with_a_lock()
    alice, bob = await home.connect("alice"), await home.connect("bob")
    match = await home.create("pondlife", time="1m", policy=AT_ONCE)
    home.arbiter.sessions.close(bob.session)
    await replied(alice)
    directory.free.clear()
    opening = asyncio.create_task(home.connect("bob"))
    await asyncio.sleep(1.5 * LATE_S)
    live = home.arbiter.matches.live.find(match.id)
    assert live is not None
    journal.fails = True
    home.arbiter.matches.decisions.fall_behind(live, lost=False)
    directory.free.set()
    bob = await opening
    await asyncio.sleep(2 * READS_S)
    journal.fails = False
    assert (await bob.turn()).match.ply == 1


@virtually
async def test_a_player_who_was_told_in_time_gains_nothing_by_a_new_stream_after_a_silence_of_the_log() -> None:
    home, _, journal, _ = await with_a_lock()
    alice, bob = await home.connect("alice"), await home.connect("bob")
    match = await home.create("pondlife", time="1m", policy=AT_ONCE)
    await replied(alice)
    await bob.turn()
    journal.free.clear()
    await asyncio.sleep(2 * LATE_S)
    journal.free.set()
    home.arbiter.sessions.close(bob.session)
    bob = await home.connect("bob")
    await replied(bob)
    await asyncio.sleep(READS_S)
    moved = last_move(await events(home, match.id))
    assert moved.ply == 1
    assert moved.ledger.charged >= 1_000 * (2 * LATE_S + THINKS_S) - home.arbiter.policy.credit.hand_over_most_ms


@pytest.mark.parametrize("comes", [True, False])
@virtually
async def test_nobody_is_absent_who_may_wait_elsewhere_for_a_log_that_does_not_answer(comes: bool) -> None:
    home, away, journal, directory = await with_a_lock()
    await home.connect("alice")
    bob = await home.connect("bob")
    match = await home.create("pondlife", time="1m", policy=replace(AT_ONCE, abandon_ms=3_000))
    home.arbiter.sessions.close(bob.session)
    await asyncio.sleep(READS_S)
    journal.free.clear()
    directory.free.clear()
    opening = asyncio.create_task(away.connect("bob"))
    await asyncio.sleep(2.5 * LATE_S)
    if not comes:
        opening.cancel()
    assert (await events(home, match.id))[-1].kind == "left"
    journal.free.set()
    directory.free.set()
    await asyncio.sleep(1)
    assert ((await events(home, match.id))[-1].kind == "ended") is not comes


@pytest.mark.parametrize("comes", ["with a stream", "in vain"])
@virtually
async def test_a_player_at_another_server_that_can_store_nothing_is_no_no_show(comes: str) -> None:
    home, away = await servers(2)
    await home.connect("alice")
    match = await home.create("pondlife", time="1m", policy=Policy(no_show_ms=1_000))
    await asyncio.sleep(READS_S)
    away.journal.hold = True
    bob = await away.connect("bob")
    if comes == "in vain":
        away.arbiter.sessions.close(bob.session)
    await asyncio.sleep(1.5 * LATE_S)
    away.journal.release()
    await asyncio.sleep(READS_S)
    ended = (await events(home, match.id))[-1].kind == "ended"
    assert ended is (comes == "in vain")


async def in_vain(server: InMemoryArbiter, seconds: float) -> None:
    """Have bob ask for a stream that he does not get, and give up after so long if he has no answer."""
    opening = asyncio.create_task(server.connect("bob"))
    await asyncio.sleep(seconds)
    opening.cancel()
    await asyncio.gather(opening, return_exceptions=True)


@pytest.mark.parametrize("was_told", [True, False])
@pytest.mark.parametrize("store", ["hangs", "fails"])
@virtually
async def test_a_player_whom_the_store_keeps_from_its_stream_waits_since_its_first_request(
    store: str, was_told: bool
) -> None:
    server, directory, match = await turn_of_one_who_has_left("1s/move", was_told)
    directory.free.clear()
    directory.fails = store == "fails"
    for _ in range(4):
        await in_vain(server, 0.25 * LATE_S)
        await asyncio.sleep(0.5 * AFTER_S)
    directory.fails = False
    directory.free.set()
    await replied(await server.connect("bob"))
    moved = last_move(await events(server, match.id))
    assert (moved.ply, moved.ledger.charged) == (1, 1_000 * THINKS_S), "the turn began again"


@pytest.mark.parametrize("why", ["it gave up what was answered in time", "it came back late"])
@virtually
async def test_a_player_whom_the_store_does_not_keep_is_charged(why: str) -> None:
    server, directory, match = await turn_of_one_who_has_left("1m")
    directory.free.clear()
    tries, each_s, then_s = (4, 0.9 * SILENCE_S, 1.0) if why != "it came back late" else (1, LATE_S, AFTER_S + 1)
    for _ in range(tries):
        await in_vain(server, each_s)
    directory.free.set()
    await asyncio.sleep(then_s)
    await replied(await server.connect("bob"))
    moved = last_move(await events(server, match.id))
    assert (moved.ply, moved.ledger.charged) == (1, 1_000 * (THINKS_S + tries * each_s + then_s + THINKS_S))


@virtually
async def test_a_player_who_has_got_its_stream_waits_no_longer() -> None:
    server, directory, match = await turn_of_one_who_has_left("1m")
    directory.free.clear()
    await in_vain(server, LATE_S)
    directory.free.set()
    bob = await server.connect("bob")
    await bob.turn()
    await asyncio.sleep(LATE_S)
    server.arbiter.sessions.close(bob.session)
    await replied(await server.connect("bob"))
    moved = last_move(await events(server, match.id))
    assert (moved.ply, moved.ledger.charged) == (1, 1_000 * (LATE_S + THINKS_S))


@virtually
async def test_a_flag_falls_once_a_player_does_not_ask_again_for_a_stream_that_could_not_be_opened() -> None:
    server, directory, match = await turn_of_one_who_has_left("1s/move")
    opening = await coming_back(server, directory)
    opening.cancel()
    await asyncio.sleep(AFTER_S - 0.1)
    assert not isinstance((await events(server, match.id))[-1], Ended)
    await asyncio.sleep(0.3)
    assert isinstance((await events(server, match.id))[-1], Ended)


@virtually
async def test_a_turn_that_a_stream_has_in_time_does_not_begin_again_when_its_match_is_read_again() -> None:
    server = InMemoryArbiter()
    alice, bob = await server.connect("alice"), await server.connect("bob")
    match = await server.create("pondlife", time="1m", policy=AT_ONCE)
    alice.reply(await alice.turn())
    await bob.turn()
    await asyncio.sleep(THINKS_S)
    server.arbiter.sessions.close(bob.session)
    bob = await server.connect("bob")
    await asyncio.sleep(2 * LATE_S)
    live = server.arbiter.matches.live.find(match.id)
    assert live is not None
    server.arbiter.delivery.match_adopted(live.newest)
    await replied(bob)
    found = await events(server, match.id)
    assert not any(isinstance(event, Interrupted) for event in found)
    assert last_move(found).ledger.charged == 1_000 * (2 * LATE_S + 2 * THINKS_S)


@virtually
async def test_no_flag_falls_as_soon_as_a_turn_is_known_whose_player_waits_at_another_server() -> None:
    """Nobody but that server knows that the player waits there, as long as nothing of it can be stored."""
    directory = KeepingDirectory()
    home = InMemoryArbiter(Store(MemoryJournal(), directory, replicas=MemoryReplicas()))
    away = home.beside()
    for server in (home, away):
        await server.share()
    alice = await home.connect("alice")
    await home.create("pondlife", time="1s/move", policy=AT_ONCE)
    match = home.arbiter.matches.unfinished("alice")[0]
    turn = await alice.turn()
    directory.free.clear()
    opening = asyncio.create_task(away.connect("bob"))
    home.journal.hold = True
    await asyncio.sleep(THINKS_S)
    alice.reply(turn)
    await asyncio.sleep(1.5 * LATE_S)
    home.journal.release()
    await asyncio.sleep(READS_S)
    directory.free.set()
    await replied(await opening)
    await asyncio.sleep(READS_S)
    moved = last_move(await events(home, match.id))
    assert (moved.ply, moved.ledger.charged) == (1, 1_000 * THINKS_S)


@virtually
async def test_a_player_at_another_server_is_not_charged_either() -> None:
    home, away = await servers(2)
    alice, bob = await home.connect("alice"), await away.connect("bob")
    match = await home.create("pondlife", time="1s", policy=AT_ONCE)
    await held(home, match, alice, 1.5 * LATE_S)
    await asyncio.sleep(READS_S)  # until the other server has read the log, and begun the turn again
    await replied(bob)
    await asyncio.sleep(READS_S)
    found = await events(home, match.id)
    assert [type(event) for event in found if isinstance(event, Interrupted | Resumed)] == [Interrupted, Resumed]
    moved = last_move(found)
    assert moved.ply == 1
    assert moved.ledger.charged <= 1_000 * (READS_S + THINKS_S)
