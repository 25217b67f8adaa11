"""Play streams: which session is live, which items it receives, and which requests it may send."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.matches import Receipt
from arbiter.matches.clock import Ledger
from arbiter.matches.commands import Play, Resign
from arbiter.matches.events import EventKind, Moved
from arbiter.matches.match import Match, Phase
from arbiter.matches.policy import ClockStart, Policy
from arbiter.matches.record import read
from arbiter.service.matches.live import DRAINING
from arbiter.service.play.challenges import Terms
from arbiter.service.play.session import (
    AnswerItem,
    ChallengeItem,
    EndedItem,
    Extras,
    Hello,
    Item,
    NoticeItem,
    OfferItem,
    PingItem,
    StateItem,
    TurnItem,
)
from arbiter.testing.clock import settle, virtually
from arbiter.testing.in_memory import EVERYTHING, InMemoryArbiter, StreamReader, items_of

AT_ONCE = Policy(start=ClockStart.AT_ONCE)


def of(kind: type[Any], items: list[Item]) -> list[Any]:
    return [item for item in items if isinstance(item, kind)]


async def ledger(server: InMemoryArbiter, match: Match, ply: int) -> Ledger:
    events = [read(record.body) for record in await server.journal.read(match.id)]
    return next(event.ledger for event in events if isinstance(event, Moved) and event.ply == ply)


async def phase(server: InMemoryArbiter, match: Match) -> Phase:
    return (await server.arbiter.matches.match(match.id)).phase


async def resign(server: InMemoryArbiter, match: Match, player: str) -> None:
    answer = await server.arbiter.matches.request(player, match.id, lambda seat: Resign(seat, f"{player} resigns"))
    assert isinstance(answer, Receipt)


def answered(bot: StreamReader, request: str) -> Reason:
    answer = bot.answer(request)
    assert isinstance(answer, Refusal)
    return answer.reason


def reason_of(bot: StreamReader) -> Reason:
    assert bot.session.ended is not None
    return bot.session.ended.reason


class TestOneStreamAPlayer:
    @virtually
    async def test_the_newest_stream_wins_and_the_older_ends_with_a_reason(self) -> None:
        server = InMemoryArbiter()
        old = await server.connect("alice")
        new = await server.connect("alice")
        notice = of(NoticeItem, await old.receive())[0].refusal
        assert (notice.reason, notice.facts) == (Reason.SESSION_SUPERSEDED, {"resume_from": ""})
        assert not await items_of(old.session)  # the stream has ended
        assert old.session.over.is_set()
        assert new.session.ended is None
        old.leave()
        assert server.arbiter.sessions.is_live("alice")
        new.leave()
        assert not server.arbiter.sessions.is_live("alice")

    @virtually
    async def test_no_player_is_absent_while_one_stream_replaces_another(self) -> None:
        server = InMemoryArbiter()
        old = await server.connect("alice")
        match = await server.create(policy=AT_ONCE)
        await server.connect("alice")
        old.leave()
        await settle()
        assert (await server.arbiter.matches.match(match.id)).present[0]

    @virtually
    async def test_of_many_simultaneous_streams_one_is_left(self) -> None:
        server = InMemoryArbiter()
        bots = await asyncio.gather(*(server.connect("alice") for _ in range(10)))
        assert sum(bot.session.ended is None for bot in bots) == 1

    @virtually
    async def test_a_request_of_an_older_stream_is_answered_when_it_is_repeated(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE)
        old = await server.connect("alice")
        turn = await old.turn()
        server.journal.hold = True
        asked = old.reply(turn)
        new = await server.connect("alice")
        server.journal.release()
        await new.receive()
        new.play(match.id, 0, min(match.game.moves(match.position)), asked)
        await new.receive()
        assert new.receipt(asked).ply == 1


class TestPresence:
    @virtually
    async def test_a_match_waits_for_both_players(self) -> None:
        server = InMemoryArbiter()
        match = await server.create()
        alice = await server.connect("alice")
        await settle()
        assert await phase(server, match) is Phase.PENDING
        bob = await server.connect("bob")
        await settle()
        assert await phase(server, match) is Phase.ACTIVE
        alice.leave()
        bob.leave()
        await settle()
        assert (await server.arbiter.matches.match(match.id)).present == (False, False)

    @virtually
    async def test_a_paused_match_goes_on_when_its_player_is_back(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE)
        await server.restart()
        await server.connect("bob")
        await settle()
        assert await phase(server, match) is Phase.PAUSED
        alice = await server.connect("alice")
        assert (await alice.turn()).match.phase is Phase.ACTIVE

    @virtually
    async def test_a_stream_of_another_kind_shows_presence_too(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE)
        bot = await server.connect("alice")
        with server.arbiter.sessions.attending("alice"):
            with server.arbiter.sessions.attending("alice"):
                bot.leave()
            await settle()
            assert (await server.arbiter.matches.match(match.id)).present[0]
        await settle()
        assert not (await server.arbiter.matches.match(match.id)).present[0]


class TestFirstMessages:
    @virtually
    async def test_a_new_stream_receives_everything_that_waits(self) -> None:
        server = InMemoryArbiter()
        over = await server.create(policy=AT_ONCE)
        await resign(server, over, "bob")
        goes_on = await server.create(policy=AT_ONCE)
        waits = await server.create(players=("carol", "alice"))
        dave = await server.caller("dave")
        await server.caller("alice")
        made = await server.arbiter.challenges.challenge(dave, "r", "alice", Terms("pods", "1m", False, 1))
        await server.arbiter.challenges.seek(dave, "s", Terms("pods", "1m", False, 1))
        alice = await server.connect("alice")
        received = await alice.receive()
        assert of(PingItem, received) == [PingItem(1)]
        assert [item.match.id for item in of(StateItem, received)] == [goes_on.id, waits.id]
        result = of(EndedItem, received)[0]
        assert (result.match_id, result.seat, result.opponent, result.end.winner) == (over.id, 1, "bob", 1)
        assert of(ChallengeItem, received) == [ChallengeItem(made)]
        turns = of(TurnItem, received)
        assert [(turn.match.id, turn.seat, turn.first_ply) for turn in turns] == [(goes_on.id, 1, 0)]

    @virtually
    async def test_more_results_than_one_page(self) -> None:
        server = InMemoryArbiter()
        for _ in range(201):
            await resign(server, await server.create(policy=AT_ONCE), "bob")
        alice = await server.connect("alice")
        await alice.receive()
        cursors = [result.cursor for result in alice.results]
        assert len(cursors) == 201
        assert cursors == sorted(set(cursors))

    @virtually
    async def test_a_result_that_comes_while_the_stream_opens(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE)
        caller = await server.caller("alice")
        opening = asyncio.create_task(server.arbiter.sessions.open(caller, Hello()))
        for _ in range(2):
            await asyncio.sleep(0)
        await resign(server, match, "bob")
        alice = StreamReader(server, await opening)
        await alice.receive()
        assert [result.match_id for result in alice.results] == [match.id]

    @virtually
    async def test_the_first_messages_may_exceed_the_limit_of_waiting_items(self) -> None:
        server = InMemoryArbiter(limits=Limits(session_items=10))
        for _ in range(12):
            await server.create()
        alice = await server.connect("alice")
        assert len(of(StateItem, await alice.receive())) == 12
        assert alice.session.ended is None

    @virtually
    async def test_an_offer_made_while_the_opponent_was_away(self) -> None:
        server = InMemoryArbiter()
        match = await server.create("pondlife", policy=AT_ONCE)
        alice = await server.connect("alice")
        server.arbiter.acts.offer_draw(alice.session, "d", match.id)
        await alice.receive()
        assert alice.receipt("d").revision
        bob = await server.connect("bob")
        state = of(StateItem, await bob.receive())[0]
        assert state.match.offer == (1, 0)

    @virtually
    async def test_the_options_of_a_hello(self) -> None:
        server = InMemoryArbiter()
        caller = await server.caller("alice")
        for hello, reason in (
            (Hello(games=("ludo",)), Reason.GAME_UNKNOWN),
            (Hello(games=("pods",) * 101), Reason.ARGUMENT_INVALID),
            (Hello(most_matches=-1), Reason.ARGUMENT_INVALID),
            (Hello(bot_name="n" * 101), Reason.ARGUMENT_INVALID),
        ):
            with pytest.raises(Refusal) as caught:
                await server.arbiter.sessions.open(caller, hello)
            assert caught.value.reason is reason
        await server.arbiter.sessions.open(caller, Hello("bot", "2", ("pods",), 7))
        player = await server.arbiter.accounts.player("alice")
        assert (player.bot_name, player.bot_version, player.games, player.most_matches) == ("bot", "2", ("pods",), 7)


class TestTurns:
    @virtually
    async def test_a_turn_has_the_moves_since_the_last_turn(self) -> None:
        server = InMemoryArbiter()
        alice, bob = await server.connect("alice"), await server.connect("bob")
        await server.create()
        for _ in range(3):
            alice.reply(await alice.turn())
            bob.reply(await bob.turn())
        await alice.receive()
        turns = of(TurnItem, alice.received)
        assert [(turn.first_ply, turn.match.ply) for turn in turns] == [(0, 0), (0, 2), (2, 4), (4, 6)]
        assert all(turn.listing is None for turn in turns)

    @virtually
    async def test_a_turn_with_all_options(self) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice", extras=EVERYTHING)
        await server.create(policy=AT_ONCE)
        turn = await alice.turn()
        assert turn.listing is not None
        legal = sorted(turn.match.game.moves(turn.match.position))
        assert turn.listing.total == len(legal) <= 100
        assert [move.text for move in turn.listing.moves] == legal
        assert all(move.steps for move in turn.listing.moves)

    @virtually
    async def test_a_list_longer_than_wanted_is_left_out(self) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice", extras=Extras(legal_moves_up_to=1))
        await server.create(policy=AT_ONCE)
        turn = await alice.turn()
        assert turn.listing is not None
        assert turn.listing.total > 1
        assert turn.listing.moves == ()

    @virtually
    async def test_a_list_longer_than_the_server_sends_is_left_out(self) -> None:
        server = InMemoryArbiter(limits=Limits(turn_moves=1))
        alice = await server.connect("alice", extras=EVERYTHING)
        await server.create(policy=AT_ONCE)
        turn = await alice.turn()
        assert turn.listing is not None
        assert turn.listing.moves == ()

    @virtually
    async def test_the_number_of_legal_moves_alone(self) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice", extras=Extras(legal_move_count=True))
        await server.create(policy=AT_ONCE)
        turn = await alice.turn()
        assert turn.listing is not None
        assert turn.listing.total == len(list(turn.match.game.moves(turn.match.position)))
        assert turn.listing.moves == ()

    @virtually
    async def test_a_list_that_takes_too_long_does_not_delay_the_turn(self) -> None:
        server = InMemoryArbiter()
        server.rules.gate = asyncio.Event()
        alice = await server.connect("alice", extras=EVERYTHING)
        match = await server.create(policy=AT_ONCE)
        assert of(TurnItem, await alice.receive()) == []
        await asyncio.sleep(0.1)
        turn = await alice.turn()
        assert turn.listing is None
        asked = alice.reply(turn)
        await alice.receive()
        assert alice.receipt(asked).ply == 1
        reckoned = await ledger(server, match, 0)
        assert (reckoned.credited, reckoned.charged) == (100, 0)  # the server's delay

    @virtually
    @pytest.mark.parametrize(
        "error",
        [RuntimeError("a rules worker failed"), Refusal(Reason.BUDGET_SPENT, "spent", limit=1, retry_after_ms=0)],
    )
    async def test_a_list_that_fails_does_not_stop_the_turn(
        self, error: Exception, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def fail(*_: object) -> None:
            raise error

        server = InMemoryArbiter()
        monkeypatch.setattr(server.rules, "legal_moves", fail)
        alice = await server.connect("alice", extras=EVERYTHING)
        await server.create(policy=AT_ONCE)
        assert (await alice.turn()).listing is None

    @virtually
    async def test_a_turn_that_ends_before_its_list_is_ready_is_dropped(self) -> None:
        server = InMemoryArbiter()
        server.rules.gate = asyncio.Event()
        alice = await server.connect("alice", extras=EVERYTHING)
        match = await server.create(policy=AT_ONCE)
        await alice.receive()
        await resign(server, match, "alice")
        server.rules.gate.set()
        assert of(TurnItem, await alice.receive()) == []

    @virtually
    async def test_the_moves_of_a_dropped_turn_come_with_the_next(self) -> None:
        server = InMemoryArbiter()
        alice, bob = await server.connect("alice", extras=EVERYTHING), await server.connect("bob")
        match = await server.create()
        alice.reply(await alice.turn())
        server.rules.gate = asyncio.Event()
        bob.reply(await bob.turn())
        await alice.receive()
        stands = await server.arbiter.matches.match(match.id)
        alice.play(match.id, 2, min(match.game.moves(stands.position)))  # the position was known nevertheless
        await alice.receive()
        server.rules.gate.set()
        bob.reply(await bob.turn())
        turn = await alice.turn()
        assert (turn.first_ply, turn.match.ply) == (0, 4)


class TestHandOver:
    @virtually
    async def test_the_delay_up_to_the_hand_over_is_credited(self) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice")
        match = await server.create(policy=AT_ONCE)
        await asyncio.sleep(0.06)
        turn = await alice.turn()
        await asyncio.sleep(0.5)
        alice.reply(turn)
        await alice.receive()
        reckoned = await ledger(server, match, 0)
        assert reckoned.handed_over == reckoned.started + 60
        assert (reckoned.credited, reckoned.charged, reckoned.round_trip) == (60, 500, None)

    @virtually
    async def test_the_delay_counts_once(self) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice")
        match = await server.create(policy=AT_ONCE)
        turn = await alice.turn()
        await asyncio.sleep(0.09)
        server.arbiter.delivery.turn_sent(alice.session, turn, server.clock.now_ms())  # the same turn again
        alice.reply(turn)
        await alice.receive()
        reckoned = await ledger(server, match, 0)
        assert (reckoned.handed_over, reckoned.credited, reckoned.charged) == (reckoned.started, 0, 90)

    @virtually
    async def test_reconnecting_gains_nothing(self) -> None:
        server = InMemoryArbiter()
        await server.connect("alice")  # and does not read
        match = await server.create(policy=AT_ONCE)
        await asyncio.sleep(0.08)
        alice = await server.connect("alice")
        await asyncio.sleep(0.01)
        turn = await alice.turn()
        assert turn.match.since == match.since
        alice.reply(turn)
        await alice.receive()
        reckoned = await ledger(server, match, 0)
        assert (reckoned.credited, reckoned.charged) == (0, 90)

    @virtually
    async def test_reconnecting_after_the_hand_over_gains_nothing(self) -> None:
        server = InMemoryArbiter()
        old = await server.connect("alice")
        match = await server.create(policy=AT_ONCE)
        await asyncio.sleep(0.02)
        await old.turn()
        await asyncio.sleep(0.05)
        alice = await server.connect("alice")
        alice.reply(await alice.turn())
        await alice.receive()
        reckoned = await ledger(server, match, 0)
        assert reckoned.handed_over == reckoned.started + 20
        assert (reckoned.credited, reckoned.charged) == (20, 50)

    @virtually
    async def test_turns_that_begin_in_the_same_millisecond_are_not_confused(self) -> None:
        server = InMemoryArbiter()
        alice, bob = await server.connect("alice"), await server.connect("bob")
        match = await server.create(policy=AT_ONCE)
        asked = alice.reply(await alice.turn())  # in no time
        await alice.receive()
        assert alice.receipt(asked).ply == 1
        await asyncio.sleep(0.07)
        bob.reply(await bob.turn())
        await bob.receive()
        first, second = await ledger(server, match, 0), await ledger(server, match, 1)
        assert first.started == second.started
        assert second.handed_over == second.started + 70
        assert (second.credited, second.charged) == (70, 0)

    @virtually
    async def test_without_a_hand_over_there_is_no_credit(self) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice")
        match = await server.create(policy=AT_ONCE)
        await asyncio.sleep(0.05)
        alice.play(match.id, 0, min(match.game.moves(match.position)))  # before it received the turn
        await alice.receive()
        reckoned = await ledger(server, match, 0)
        assert (reckoned.handed_over, reckoned.credited, reckoned.charged) == (None, 0, 50)


class TestRoundTrip:
    @virtually
    async def test_the_smallest_of_the_last_eight(self) -> None:
        server = InMemoryArbiter()
        session = (await server.connect("alice")).session
        for number, took in enumerate((5, 90, 80, 70, 60, 50, 40, 30), start=1):
            session.ping_sent(number, 1_000)
            session.pong_arrived(number, 1_000 + took)
        assert session.round_trip_ms == 5
        session.ping_sent(9, 1_000)
        session.pong_arrived(9, 1_100)
        assert session.round_trip_ms == 30

    @virtually
    async def test_an_unrequested_pong_is_ignored(self) -> None:
        server = InMemoryArbiter()
        session = (await server.connect("alice")).session
        session.pong_arrived(1, 1_000)  # the ping has not been sent yet
        session.ping_sent(1, 2_000)
        session.pong_arrived(1, 2_200)
        session.pong_arrived(1, 2_000)  # for the second time
        session.pong_arrived(77, 2_000)
        session.pong_arrived(-1, 2_000)
        assert session.round_trip_ms == 200

    @virtually
    async def test_unanswered_pings_are_forgotten(self) -> None:
        server = InMemoryArbiter()
        session = (await server.connect("alice")).session
        for number in range(1, 20):
            session.ping_sent(number, 1_000)
        session.pong_arrived(1, 1_001)
        session.pong_arrived(19, 1_007)
        assert session.round_trip_ms == 7

    @virtually
    async def test_the_network_is_credited_on_the_stream_that_measured_it(self) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice")
        alice.session.ping_sent(1, 0)
        alice.session.pong_arrived(1, 120)
        match = await server.create(policy=AT_ONCE)
        turn = await alice.turn()
        await asyncio.sleep(0.4)
        alice.reply(turn)
        await alice.receive()
        reckoned = await ledger(server, match, 0)
        assert (reckoned.round_trip, reckoned.credited, reckoned.charged) == (120, 120, 280)


class TestSilence:
    @virtually
    async def test_a_silent_stream_ends_with_a_reason(self) -> None:
        server = InMemoryArbiter()
        silent, speaks = await server.connect("alice"), await server.connect("bob")
        for _ in range(5):
            await asyncio.sleep(5)
            server.arbiter.acts.arrived(speaks.session, moves=False, at=server.clock.now_ms())
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
            server.arbiter.acts.arrived(alice.session, moves=False, at=server.clock.now_ms())
        assert alice.session.ended is None
        server.arbiter.acts.arrived(alice.session, moves=False, at=server.clock.now_ms())
        assert reason_of(alice) is Reason.RATE_LIMITED

    @virtually
    async def test_the_acts_of_each_second_are_counted_separately(self) -> None:
        server = InMemoryArbiter(limits=Limits(acts_a_second=10))
        alice = await server.connect("alice")
        for _ in range(5):
            for _ in range(10):
                server.arbiter.acts.arrived(alice.session, moves=False, at=server.clock.now_ms())
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
                    server.arbiter.acts.arrived(bot.session, moves=True, at=server.clock.now_ms())
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


class TestEnds:
    @virtually
    async def test_a_stopping_server_says_so_and_accepts_no_new_stream(self) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice")
        await server.arbiter.matches.drain()
        server.arbiter.sessions.end_all(DRAINING)
        assert of(NoticeItem, await alice.receive())[0].refusal.reason is Reason.DRAINING
        with pytest.raises(Refusal) as caught:
            await server.connect("bob")
        assert caught.value.reason is Reason.DRAINING

    @virtually
    async def test_a_client_that_closes_its_side_gets_its_answers(self) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice")
        await server.create(policy=AT_ONCE)
        turn = await alice.turn()
        server.journal.hold = True
        asked = alice.reply(turn)
        alice.session.half_close()
        taking = asyncio.create_task(items_of(alice.session))
        await settle()
        assert not taking.done()
        server.journal.release()
        answers = of(AnswerItem, await taking)
        assert [answer.request_id for answer in answers] == [asked]
        assert not await items_of(alice.session)


class TestDraws:
    @virtually
    async def test_an_offer_reaches_the_opponent_and_is_answered(self) -> None:
        server = InMemoryArbiter()
        alice, bob = await server.connect("alice"), await server.connect("bob")
        match = await server.create("pondlife")
        await alice.receive()
        server.arbiter.acts.offer_draw(alice.session, "d1", match.id)
        assert of(OfferItem, await alice.receive()) == []
        assert of(OfferItem, await bob.receive()) == [OfferItem(match.id, 0)]
        server.arbiter.acts.answer_draw(bob.session, "a1", match.id, True)
        for bot in (alice, bob):
            await bot.receive()
            assert [(result.end.result, result.end.cause) for result in bot.results] == [("draw", "agreement")]

    @virtually
    async def test_a_game_without_draws_by_agreement_or_claim(self) -> None:
        server = InMemoryArbiter()
        alice, _ = await server.connect("alice"), await server.connect("bob")
        match = await server.create("pondlife")
        await settle()
        server.arbiter.acts.answer_draw(alice.session, "a", match.id, True)
        server.arbiter.acts.claim_draw(alice.session, "c", match.id)
        await alice.receive()
        for request in ("a", "c"):
            refusal = alice.answer(request)
            assert isinstance(refusal, Refusal)
            assert refusal.reason is Reason.DRAW_NOT_AVAILABLE
        assert alice.session.ended is None

    @virtually
    async def test_resigning(self) -> None:
        server = InMemoryArbiter()
        alice, bob = await server.connect("alice"), await server.connect("bob")
        match = await server.create()
        await settle()
        server.arbiter.acts.resign(bob.session, "r", match.id)
        await alice.receive()
        assert alice.results[0].end.winner == 1


class TestAcknowledging:
    @virtually
    async def test_results_are_sent_until_they_are_acknowledged(self) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice")
        matches = [await server.create(policy=AT_ONCE) for _ in range(3)]
        for match in matches:
            await resign(server, match, "bob")
        await alice.receive()
        cursors = [result.cursor for result in alice.results]
        server.arbiter.sessions.acknowledge(alice.session, str(cursors[1]))
        server.arbiter.sessions.acknowledge(alice.session, str(cursors[0]))  # late: the cursor never goes back
        await settle()
        again = await server.connect("alice")
        await again.receive()
        assert [result.match_id for result in again.results] == [matches[2].id]

    @virtually
    @pytest.mark.parametrize("cursor", ["", "x", "-1", "²", "9" * 18, "9" * 400])
    async def test_a_cursor_that_was_never_sent_acknowledges_nothing(self, cursor: str) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice")
        await resign(server, await server.create(policy=AT_ONCE), "bob")
        await alice.receive()
        server.arbiter.sessions.acknowledge(alice.session, cursor)
        await settle()
        again = await server.connect("alice")
        await again.receive()
        assert len(again.results) == 1
        server.arbiter.sessions.acknowledge(again.session, str(again.results[0].cursor))  # received on both streams
        await settle()
        last = await server.connect("alice")
        await last.receive()
        assert last.results == []
