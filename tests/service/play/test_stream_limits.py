"""Play streams: which of them end or have to wait, because of too many acts, silence, unread items or reconnections."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from arbiter.bootstrap.store import Store
from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.matches import Receipt
from arbiter.matches.commands import Play
from arbiter.matches.events import EventKind
from arbiter.matches.record import read
from arbiter.service.play.session import AnswerItem, Hello, NoticeItem, PingItem, StateItem, TurnItem
from arbiter.service.ports.journal import StoredRecord, Subject
from arbiter.testing.clock import settle, virtually
from arbiter.testing.in_memory import InMemoryArbiter, StreamReader
from arbiter.testing.memory import MemoryDirectory, MemoryJournal
from tests.service.play.streams import AT_ONCE, of


def answered(bot: StreamReader, request: str) -> Reason:
    answer = bot.answer(request)
    assert isinstance(answer, Refusal)
    return answer.reason


def reason_of(bot: StreamReader) -> Reason:
    assert bot.session.ended is not None
    return bot.session.ended.reason


class SlowJournal(MemoryJournal):
    """Answers once `answers` is set. most: how many asked it for a match at once."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = asyncio.Event()
        self.most = self._under_way = 0

    async def read(
        self, match_id: str, after: int = 0, most: int | None = None, subject: Subject = Subject.MATCH
    ) -> list[StoredRecord]:
        self._under_way += 1
        self.most = max(self.most, self._under_way)
        await self.answers.wait()
        self._under_way -= 1
        return await super().read(match_id, after, most, subject)


class TestSilence:
    @virtually
    async def test_a_silent_stream_ends_with_a_reason(self) -> None:
        server = InMemoryArbiter()
        silent, speaks = await server.connect("alice"), await server.connect("bob")
        for _ in range(5):
            await asyncio.sleep(5)
            server.arbiter.acts.arrived(speaks.session, own_count=False, at=server.clock.now_ms())
            server.arbiter.sessions.pings.sweep()
        assert reason_of(silent) is Reason.SESSION_SILENT
        assert of(NoticeItem, await silent.receive())
        assert speaks.session.ended is None
        assert [ping.number for ping in of(PingItem, await speaks.receive())] == [1, 2, 3, 4, 5, 6]


class TestRateLimits:
    @virtually
    async def test_too_many_acts_end_the_stream(self) -> None:
        server = InMemoryArbiter(limits=Limits(acts_a_second=10))
        alice = await server.connect("alice")
        for _ in range(10):
            server.arbiter.acts.arrived(alice.session, own_count=False, at=server.clock.now_ms())
        assert alice.session.ended is None
        server.arbiter.acts.arrived(alice.session, own_count=False, at=server.clock.now_ms())
        assert reason_of(alice) is Reason.RATE_LIMITED

    @virtually
    async def test_the_acts_of_each_second_are_counted_separately(self) -> None:
        server = InMemoryArbiter(limits=Limits(acts_a_second=10))
        alice = await server.connect("alice")
        for _ in range(5):
            for _ in range(10):
                server.arbiter.acts.arrived(alice.session, own_count=False, at=server.clock.now_ms())
            await asyncio.sleep(1)
        assert alice.session.ended is None

    @virtually
    async def test_moves_are_never_limited(self) -> None:
        server = InMemoryArbiter(limits=Limits(acts_a_second=1))
        alice, bob = await server.connect("alice"), await server.connect("bob")
        for _ in range(5):
            await server.create()
        for _ in range(4):  # twenty moves a player, in no time
            for bot in (alice, bob):
                for turn in of(TurnItem, await bot.receive()):
                    server.arbiter.acts.arrived(bot.session, own_count=True, at=server.clock.now_ms())
                    bot.reply(turn)
        await settle()
        assert alice.session.ended is None
        assert bob.session.ended is None
        await alice.receive()
        assert len(of(AnswerItem, alice.received)) == 20

    @virtually
    async def test_temporarily_refused_moves_and_repeated_ones_do_not_count(self) -> None:
        server = InMemoryArbiter(limits=Limits(acts_a_second=1))
        alice = await server.connect("alice")
        match = await server.create(policy=AT_ONCE)
        turn = await alice.turn()
        server.journal.refuse = True
        for _ in range(5):
            asked = alice.reply(turn)
            await alice.receive()
            assert answered(alice, asked) is Reason.STORE_UNAVAILABLE
        server.journal.refuse = False
        await asyncio.sleep(10)
        await alice.receive()
        for _ in range(5):
            alice.play(match.id, 0, min(match.game.moves(match.position)), "the same")
        await alice.receive()
        assert alice.receipt("the same").ply == 1
        assert alice.session.ended is None

    @virtually
    async def test_illegal_moves_are_handled_by_the_policy_of_their_match(self) -> None:
        server = InMemoryArbiter(limits=Limits(acts_a_second=1))
        alice = await server.connect("alice")
        match = await server.create(policy=AT_ONCE)
        for _ in range(4):
            alice.play(match.id, 0, "?")
        await alice.receive()
        assert [result.end.reason for result in alice.results] == ["illegal_moves"]
        assert alice.session.ended is None

    @virtually
    @pytest.mark.parametrize(
        ("ply", "request_id", "reason"),
        [
            (7, "", Reason.PLY_MISMATCH),
            (0, "used", Reason.REQUEST_ID_REUSED),
            (0, "x" * 101, Reason.ARGUMENT_INVALID),
        ],
    )
    async def test_wrong_moves_in_a_live_match_count_once_each(self, ply: int, request_id: str, reason: Reason) -> None:
        server = InMemoryArbiter(limits=Limits(acts_a_second=3))
        alice = await server.connect("alice")
        match = await server.create(policy=AT_ONCE)
        alice.play(match.id, 0, "?", "used")
        for n in range(4):
            assert alice.session.ended is None
            alice.play(match.id, ply, f"{n}", request_id)
            assert of(AnswerItem, await alice.receive())[-1].answer.reason is reason
        assert reason_of(alice) is Reason.RATE_LIMITED

    @virtually
    async def test_many_moves_for_matches_of_others_are_not_looked_up(self) -> None:
        server = InMemoryArbiter(limits=Limits(acts_a_second=3))
        bob = await server.connect("bob")
        for n in range(1_000):
            bob.play("nowhere", 0, "a1", f"{n}")
        assert reason_of(bob) is Reason.RATE_LIMITED
        await bob.receive()
        assert [item.request_id for item in of(AnswerItem, bob.received)] == []  # the stream ended first
        assert len(asyncio.all_tasks()) < 10

    @virtually
    async def test_requests_outside_of_live_matches_are_looked_up_one_after_the_other(self) -> None:
        journal = SlowJournal()
        server = InMemoryArbiter(Store(journal, MemoryDirectory()))
        bob = await server.connect("bob")
        for n in range(20):
            server.arbiter.acts.claim_draw(bob.session, f"{n}", f"nowhere{n % 3}")
        await settle()
        journal.answers.set()
        await settle()
        assert journal.most == 1
        await bob.receive()
        answers = of(AnswerItem, bob.received)
        assert [item.request_id for item in answers] == [f"{n}" for n in range(20)]
        assert {answered(bob, item.request_id) for item in answers} == {Reason.MATCH_NOT_FOUND}

    @virtually
    async def test_too_many_requests_without_an_answer_end_the_stream(self) -> None:
        limits = Limits(acts_a_second=5, open_matches_of_player=2)
        server = InMemoryArbiter(Store(SlowJournal(), MemoryDirectory()), limits=limits)
        bob = await server.connect("bob")
        for n in range(8):
            assert bob.session.ended is None
            server.arbiter.acts.claim_draw(bob.session, f"{n}", "nowhere")
            await asyncio.sleep(1)
        assert reason_of(bob) is Reason.RATE_LIMITED


class TestReconnections:
    @virtually
    async def test_frequent_reconnections_have_to_wait_and_are_not_recorded(self) -> None:
        server = InMemoryArbiter(limits=Limits(play_streams_a_minute=10))
        match = await server.create(policy=AT_ONCE)
        caller = await server.caller("alice")
        sessions = server.arbiter.sessions
        refusals: list[Refusal] = []
        for _ in range(200):
            try:
                sessions.close(await sessions.open(caller, Hello()))
            except Refusal as refusal:
                refusals.append(refusal)
            await settle()
        assert len(refusals) == 190
        assert {refusal.reason for refusal in refusals} == {Reason.RATE_LIMITED}
        facts = refusals[-1].facts
        assert (facts["limit"], 0 < int(facts["retry_after_ms"]) <= 6_000) == ("10", True)
        kinds = [read(record.body).kind for record in await server.arbiter.matches.record(match.id, 0, 1_000)]
        assert Counter(kinds)[EventKind.ARRIVED] == Counter(kinds)[EventKind.LEFT] == 10
        await asyncio.sleep(int(facts["retry_after_ms"]) / 1000)
        alice = StreamReader(server, await sessions.open(caller, Hello()))
        request = alice.reply(await alice.turn())
        await alice.receive()
        assert alice.receipt(request).ply == 1

    @virtually
    async def test_on_streams_of_other_kinds_the_moves_are_played_nevertheless(self) -> None:
        server = InMemoryArbiter(limits=Limits(play_streams_a_minute=3))
        match = await server.create(policy=AT_ONCE)
        await server.caller("alice")
        for _ in range(50):
            with server.arbiter.sessions.attending("alice"):
                await settle()
        kinds = [read(record.body).kind for record in await server.arbiter.matches.record(match.id, 0, 1_000)]
        assert Counter(kinds)[EventKind.ARRIVED] == Counter(kinds)[EventKind.LEFT] == 3
        with server.arbiter.sessions.attending("alice"):
            move = min(match.game.moves(match.position))
            played = server.arbiter.matches.request(
                "alice", match.id, lambda seat: Play(seat, "r", 0, move, server.clock.now_ms())
            )
            assert isinstance(await played, Receipt)

    @virtually
    async def test_a_bot_that_crashes_now_and_then_is_not_delayed(self) -> None:
        server = InMemoryArbiter()
        for _ in range(20):
            await server.connect("alice")
            await server.restart()

    @virtually
    async def test_other_players_are_counted_separately(self) -> None:
        server = InMemoryArbiter(limits=Limits(play_streams_a_minute=1))
        await server.connect("alice")
        await server.connect("bob")
        with pytest.raises(Refusal):
            await server.connect("alice")


class TestSlowReaders:
    @virtually
    async def test_an_unread_stream_ends_with_a_reason(self) -> None:
        server = InMemoryArbiter(limits=Limits(session_items=10))
        alice = await server.connect("alice")
        for _ in range(20):
            await server.create()
        assert alice.session.waiting == 1  # waiting items are dropped: a new stream gets them all
        notice = (await alice.receive())[0]
        assert isinstance(notice, NoticeItem)
        assert notice.refusal.reason is Reason.READER_TOO_SLOW
        alice.leave()
        again = await server.connect("alice")
        assert len(of(StateItem, await again.receive())) == 20
