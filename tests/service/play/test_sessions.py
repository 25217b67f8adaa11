"""Play streams: which session is live, which items it receives, and which requests it may send."""

from __future__ import annotations

import asyncio

import pytest

from arbiter.bootstrap.store import Store
from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.matches.match import Match, Phase
from arbiter.service.matches.live import DRAINING
from arbiter.service.play.challenges import Terms
from arbiter.service.play.session import (
    AnswerItem,
    ChallengeItem,
    EndedItem,
    Hello,
    NoticeItem,
    OfferItem,
    PingItem,
    StateItem,
    TurnItem,
)
from arbiter.testing.clock import settle, virtually
from arbiter.testing.in_memory import InMemoryArbiter, StreamReader, items_of
from arbiter.testing.memory import MemoryDirectory, MemoryJournal
from tests.refusals import refusing
from tests.service.play.streams import AT_ONCE, of, resign


async def phase(server: InMemoryArbiter, match: Match) -> Phase:
    return (await server.arbiter.matches.match(match.id)).phase


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
            with refusing(reason):
                await server.arbiter.sessions.open(caller, hello)
        await server.arbiter.sessions.open(caller, Hello("bot", "2", ("pods",), 7))
        player = await server.arbiter.accounts.player("alice")
        assert (player.bot_name, player.bot_version, player.games, player.most_matches) == ("bot", "2", ("pods",), 7)


class TestEnds:
    @virtually
    async def test_a_stopping_server_says_so_and_accepts_no_new_stream(self) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice")
        await server.arbiter.matches.drain()
        server.arbiter.sessions.end_all(DRAINING)
        assert of(NoticeItem, await alice.receive())[0].refusal.reason is Reason.DRAINING
        with refusing(Reason.DRAINING):
            await server.connect("bob")

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
    async def test_of_many_results_the_newest_are_sent_and_older_ones_count_as_acknowledged(self) -> None:
        store = Store(MemoryJournal(), MemoryDirectory())
        server = InMemoryArbiter(store, limits=Limits(unacknowledged_results=2, open_matches_of_player=1))
        matches = []
        for _ in range(5):
            matches.append(await server.create(policy=AT_ONCE))
            await resign(server, matches[-1], "bob")
        alice = await server.connect("alice")
        await alice.receive()
        assert [result.match_id for result in alice.results] == [match.id for match in matches[2:]]
        known = await store.directory.player("alice")
        assert known is not None
        assert 0 < known.acknowledged < alice.results[0].cursor
        matches.append(await server.create(policy=AT_ONCE))
        await resign(server, matches[-1], "bob")
        again = await server.connect("alice")
        await again.receive()
        assert [result.match_id for result in again.results] == [match.id for match in matches[3:]]
        server.arbiter.sessions.acknowledge(again.session, str(again.results[1].cursor))
        await settle()
        last = await server.connect("alice")
        await last.receive()
        assert [result.match_id for result in last.results] == [matches[5].id]

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
