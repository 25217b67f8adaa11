from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbiter.bootstrap import open_store
from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.games.registry import game
from arbiter.matches import Receipt
from arbiter.matches.commands import Abort, Play, Resign
from arbiter.matches.events import EventKind, Interrupted, MatchEndReason, Resumed
from arbiter.matches.match import Match, Phase
from arbiter.matches.policy import ClockStart, Policy
from arbiter.matches.record import read
from arbiter.service.play.session import AnswerItem
from arbiter.testing.clock import settle, virtually
from arbiter.testing.in_memory import InMemoryArbiter

AT_ONCE = Policy(start=ClockStart.AT_ONCE)


def first_move(match: Match) -> str:
    return min(match.game.moves(match.position))


def submit(
    server: InMemoryArbiter, player: str, match: Match, request: str, move: str = "", ply: int | None = None
) -> Any:
    """Request a move by a unary call; by default the first legal one."""
    now = server.clock.now_ms()
    text, at = move or first_move(match), match.ply if ply is None else ply
    return server.arbiter.matches.request(player, match.id, lambda seat: Play(seat, request, at, text, now))


async def finished(server: InMemoryArbiter, match: Match) -> Match:
    async with server.arbiter.feed.of_match(match.id, 0) as stream:
        async for batch in stream:
            del batch
    return await server.arbiter.matches.match(match.id)


async def kinds(server: InMemoryArbiter, match: Match) -> list[str]:
    return [read(record.body).kind.value for record in await server.journal.read(match.id)]


class TestCreate:
    @virtually
    async def test_a_request_makes_one_match(self) -> None:
        server = InMemoryArbiter()
        made = await server.create(request="same")
        assert (await server.create(request="same")).id == made.id
        assert len(await server.journal.unfinished()) == 1

    @virtually
    async def test_a_request_makes_one_match_when_it_races_with_its_copy(self) -> None:
        server = InMemoryArbiter()
        made = await asyncio.gather(*(server.create(request="same") for _ in range(5)))
        assert len({match.id for match in made}) == 1
        await settle()
        assert await server.journal.unfinished() == [made[0].id]
        assert [match.id for match in server.arbiter.matches.unfinished("alice")] == [made[0].id]

    @virtually
    async def test_a_request_id_can_not_be_used_for_another_request(self) -> None:
        server = InMemoryArbiter()
        await server.create(request="same")
        for changed in (
            {"game": "pods"},
            {"players": ("bob", "alice")},
            {"time": "2m"},
            {"label": "cup"},
        ):
            with pytest.raises(Refusal) as caught:
                await server.create(request="same", **changed)
            assert caught.value.reason is Reason.REQUEST_ID_REUSED

    @virtually
    async def test_a_cancelled_call_leaves_no_half_made_match(self) -> None:
        server = InMemoryArbiter()
        bot = await server.connect("alice")
        server.journal.hold = True
        making = asyncio.create_task(server.create(request="r"))
        await settle()
        making.cancel()
        await settle()
        server.journal.release()
        await settle()
        made = await server.create(request="r")
        assert server.arbiter.matches.unfinished("alice")[0].id == made.id
        assert [type(item).__name__ for item in await bot.receive()][-1] == "StateItem"

    @virtually
    async def test_a_match_that_could_not_be_stored_leaves_nothing_behind(self) -> None:
        server = InMemoryArbiter()
        server.journal.refuse = True
        with pytest.raises(Refusal) as caught:
            await server.create(request="r")
        assert caught.value.reason is Reason.STORE_UNAVAILABLE
        assert server.arbiter.matches.unfinished("alice") == []
        server.journal.refuse = False
        assert (await server.create(request="r")).phase is Phase.PENDING

    @virtually
    async def test_a_store_that_can_not_be_read_makes_nothing(self) -> None:
        server = InMemoryArbiter()
        server.journal.mute = True
        with pytest.raises(Refusal) as caught:
            await server.create()
        assert caught.value.reason is Reason.STORE_UNAVAILABLE

    @virtually
    async def test_open_matches_are_limited(self) -> None:
        server = InMemoryArbiter(limits=Limits(open_matches_of_player=2, open_matches=3))
        first = await server.create()
        await server.create()
        with pytest.raises(Refusal) as caught:
            await server.create(players=("carol", "bob"))
        assert caught.value.reason is Reason.RATE_LIMITED
        await server.create(players=("carol", "dave"))
        with pytest.raises(Refusal):
            await server.create(players=("erin", "frank"))
        await server.arbiter.matches.act(first.id, Abort("org", "a"))
        await server.create(players=("erin", "frank"))

    @virtually
    async def test_a_mistake_is_named(self) -> None:
        server = InMemoryArbiter()
        for changed, reason in (
            ({"game": "ludo"}, Reason.GAME_UNKNOWN),
            ({"time": "soon"}, Reason.PARAMETER_INVALID),
            ({"opening": ("a1", "?")}, Reason.MOVE_MALFORMED),
            ({"request": "\n"}, Reason.ARGUMENT_INVALID),
        ):
            with pytest.raises(Refusal) as caught:
                await server.create(**changed)
            assert caught.value.reason is reason


class TestPresence:
    @virtually
    async def test_the_matches_of_a_player_are_notified_in_the_order_of_their_creation(self) -> None:
        server = InMemoryArbiter()
        made = [(await server.create()).id for _ in range(20)]
        await server.connect("alice")
        await settle()
        events = [(record.match_id, read(record.body).kind) for record in await server.journal.read_all(0, 100)]
        assert [match_id for match_id, kind in events if kind is EventKind.ARRIVED] == made


class TestDurability:
    @virtually
    async def test_a_move_is_answered_once_it_is_durable(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE)
        server.journal.hold = True
        answer = submit(server, "alice", match, "m1")
        again = submit(server, "alice", match, "m1")
        reply = submit(server, "bob", match, "m2", ply=7)  # a refusal that depends on what is not durable yet
        await settle()
        assert not any(each.done() for each in (answer, again, reply))
        assert (await server.arbiter.matches.match(match.id)).ply == 0
        server.journal.release()
        receipt = await answer
        assert isinstance(receipt, Receipt)
        assert await again == receipt
        assert (await reply).reason is Reason.PLY_MISMATCH
        assert (await server.arbiter.matches.match(match.id)).ply == 1

    @virtually
    async def test_commands_are_decided_on_the_newest_state(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE)
        server.journal.hold = True
        moved = submit(server, "alice", match, "m1")
        position = match.game.play(match.position, first_move(match))
        answered = submit(server, "bob", match, "m2", min(match.game.moves(position)), ply=1)
        late = submit(server, "alice", match, "m3")  # for a ply that is over, though not durably
        await settle()
        assert server.journal.held == 3  # the refusal is recorded too
        assert not late.done()
        server.journal.release()
        assert [type(await each) for each in (moved, answered)] == [Receipt, Receipt]
        assert (await late).reason is Reason.PLY_MISMATCH

    @virtually
    async def test_answers_come_in_the_order_of_the_requests(self) -> None:
        """Also where an answer has no events of its own, and only waits for the writes of those before it."""
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE)
        server.journal.hold = True
        order: list[str] = []

        def ask(name: str, player: str, request: str, move: str, ply: int) -> None:
            submit(server, player, match, request, move, ply).add_done_callback(lambda _: order.append(name))

        first = first_move(match)
        second = min(match.game.moves(match.game.play(match.position, first)))
        ask("moved", "alice", "m1", first, 0)
        ask("again", "alice", "m1", first, 0)
        ask("refused", "bob", "m2", second, 7)
        ask("answered", "bob", "m3", second, 1)
        ask("again, later", "alice", "m1", first, 0)
        await settle()
        assert order == []
        server.journal.release()
        await settle()
        assert order == ["moved", "again", "refused", "answered", "again, later"]

    @virtually
    async def test_a_listener_that_fails_keeps_no_answer_back(self) -> None:
        server, raised = InMemoryArbiter(), list[BaseException]()
        match = await server.create(policy=AT_ONCE)
        asyncio.get_running_loop().set_exception_handler(lambda _, context: raised.append(context["exception"]))

        def fail(*_: object) -> None:
            raise RuntimeError("in a listener")

        server.arbiter.match_listeners.append(fail)
        moved, again = submit(server, "alice", match, "m1"), submit(server, "alice", match, "m1")
        assert isinstance(await moved, Receipt)
        assert await again == await moved
        assert [str(error) for error in raised] == ["in a listener"]

    @virtually
    async def test_an_event_is_published_once_it_is_durable(self) -> None:
        server = InMemoryArbiter()
        alice, bob = await server.connect("alice"), await server.connect("bob")
        match = await server.create()
        turn = await alice.turn()
        await bob.receive()
        server.journal.hold = True
        alice.play(match.id, 0, first_move(turn.match))
        assert await bob.receive() == []
        assert await alice.receive() == []
        server.journal.release()
        assert (await bob.turn()).match.ply == 1
        assert isinstance((await alice.receive())[0].answer, Receipt)  # type: ignore[union-attr]


class TestStoreFailures:
    @virtually
    async def test_a_match_goes_on_when_the_store_is_back(self) -> None:
        server = InMemoryArbiter()
        alice, bob = await server.connect("alice"), await server.connect("bob")
        match = await server.create()
        turn = await alice.turn()
        server.journal.refuse = True
        await asyncio.sleep(20)
        asked = alice.play(match.id, 0, first_move(turn.match))
        also = bob.play(match.id, 1, "a1")
        await alice.receive()
        await bob.receive()
        for refusal in (alice.answer(asked), bob.answer(also)):
            assert isinstance(refusal, Refusal)
            assert refusal.reason is Reason.STORE_UNAVAILABLE
        await asyncio.sleep(300)  # longer than the match's clock
        server.journal.refuse = False
        await asyncio.sleep(2)
        again = await alice.turn()
        assert again.match.ply == 0
        assert again.match.clocks == turn.match.clocks  # neither the outage nor the time before it is charged
        asked = alice.play(match.id, 0, first_move(turn.match), asked)
        await alice.receive()
        assert alice.received[-1].answer.ply == 1  # type: ignore[union-attr]
        assert (await bob.turn()).match.ply == 1
        stored = await kinds(server, match)
        assert stored[stored.index("interrupted") :] == ["interrupted", "arrived", "resumed", "arrived", "moved"]

    @virtually
    async def test_only_one_attempt_at_a_time_tries_to_go_on(self) -> None:
        server = InMemoryArbiter()
        await server.connect("alice")
        match = await server.create(policy=AT_ONCE)
        server.journal.refuse = True
        submit(server, "alice", match, "m1")
        await asyncio.sleep(100)
        assert len(asyncio.all_tasks()) <= 3  # this task, and the one that reads again; no others
        server.journal.refuse = False
        await asyncio.sleep(2)
        assert (await kinds(server, match)).count("interrupted") == 1

    @virtually
    async def test_a_store_that_can_not_be_read(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE)
        server.journal.refuse = server.journal.mute = True
        answer = await submit(server, "alice", match, "m1")
        assert answer.reason is Reason.STORE_UNAVAILABLE
        await asyncio.sleep(10)
        assert (await submit(server, "alice", match, "m1")).reason is Reason.STORE_UNAVAILABLE
        server.journal.refuse = server.journal.mute = False
        await asyncio.sleep(2)
        assert isinstance(await submit(server, "alice", match, "m1"), Receipt)

    @virtually
    async def test_events_that_were_stored_after_all_are_published(self) -> None:
        server = InMemoryArbiter()
        alice, bob = await server.connect("alice"), await server.connect("bob")
        match = await server.create()
        turn = await alice.turn()
        server.journal.lie = True
        asked = alice.play(match.id, 0, first_move(turn.match))
        await settle()
        server.journal.lie = False
        await asyncio.sleep(2)
        assert (await bob.turn()).match.ply == 1
        alice.play(match.id, 0, first_move(turn.match), asked)
        await alice.receive()
        answers = [item.answer for item in alice.received if isinstance(item, AnswerItem)]
        assert [isinstance(answer, Receipt) for answer in answers] == [False, True]

    @virtually
    async def test_a_match_whose_creation_was_stored_after_all(self) -> None:
        server = InMemoryArbiter()
        server.journal.lie = True
        with pytest.raises(Refusal) as refused:
            await server.create(policy=AT_ONCE, request="r")
        assert refused.value.reason is Reason.STORE_UNAVAILABLE
        server.journal.lie = False
        match = await server.create(policy=AT_ONCE, request="r")
        assert isinstance(await submit(server, "alice", match, "m1"), Receipt)
        assert (await kinds(server, match))[-1] == "moved"

    @virtually
    async def test_an_end_that_was_stored_after_all(self) -> None:
        server = InMemoryArbiter()
        alice, bob = await server.connect("alice"), await server.connect("bob")
        match = await server.create()
        await alice.turn()
        server.journal.lie = True
        answer = await server.arbiter.matches.request("alice", match.id, lambda seat: Resign(seat, "r"))
        assert isinstance(answer, Refusal)
        server.journal.lie = False
        await asyncio.sleep(2)
        await bob.receive()
        await alice.receive()
        assert [result.end.reason for result in bob.results + alice.results] == ["resignation"] * 2
        assert server.arbiter.matches.unfinished("alice") == []
        repeated = await server.arbiter.matches.request("alice", match.id, lambda seat: Resign(seat, "r"))
        assert isinstance(repeated, Receipt)

    @virtually
    async def test_another_server_that_starts_interrupts_the_match_and_nothing_fails(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE)
        await server.beside().restart()
        assert isinstance(await submit(server, "alice", match, "m1"), Receipt)
        assert (await kinds(server, match))[-3:] == ["interrupted", "resumed", "moved"]


class TestTimers:
    @virtually
    async def test_neither_player_connects(self) -> None:
        server = InMemoryArbiter()
        ended = await finished(server, await server.create(policy=Policy(no_show_ms=90_000)))
        assert ended.result is not None
        assert ended.result.reason == MatchEndReason.NO_SHOW
        assert ended.result.at - ended.created.at == 90_000

    @virtually
    async def test_one_player_does_not_connect(self) -> None:
        server = InMemoryArbiter()
        await server.connect("bob")
        ended = await finished(server, await server.create())
        assert ended.result is not None
        assert (ended.result.winner, ended.result.reason) == (2, MatchEndReason.NO_SHOW)

    @virtually
    async def test_a_flag_falls(self) -> None:
        server = InMemoryArbiter()
        await server.connect("alice"), await server.connect("bob")
        match = await server.create(time="10s")
        ended = await finished(server, match)
        assert ended.result is not None
        assert (ended.result.winner, ended.result.reason) == (2, MatchEndReason.TIME)
        credit = match.created.policy.credit
        assert ended.result.at - ended.created.at == 10_000 + credit.hand_over_most_ms + credit.network_most_ms

    @virtually
    async def test_a_flag_falls_after_moves_that_set_no_timer(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(time="20s", policy=Policy(start=ClockStart.AT_ONCE, abandon_ms=0))
        for ply in range(4):
            await asyncio.sleep(2)
            stands = await server.arbiter.matches.match(match.id)
            assert isinstance(await submit(server, stands.players[ply % 2], stands, f"m{ply}"), Receipt)
        ended = await finished(server, match)
        assert ended.result is not None
        assert ended.result.reason == MatchEndReason.TIME
        assert ended.result.seat == ended.turn

    @virtually
    async def test_a_player_who_is_absent_for_long_has_lost(self) -> None:
        server = InMemoryArbiter()
        alice, bob = await server.connect("alice"), await server.connect("bob")
        match = await server.create(time="1h", policy=Policy(abandon_ms=30_000))
        await settle()
        bob.leave()
        await asyncio.sleep(29)
        bob = await server.connect("bob")
        await asyncio.sleep(29)
        bob.leave()
        ended = await finished(server, match)
        assert ended.result is not None
        assert (ended.result.winner, ended.result.reason) == (1, MatchEndReason.ABANDONMENT)
        await alice.receive()
        assert alice.results[0].end.winner == 1

    @virtually
    async def test_a_player_who_moves_by_calls_alone_counts_as_present(self) -> None:
        server = InMemoryArbiter()
        match = await server.create()
        refused = await submit(server, "bob", match, "b1")
        assert refused.reason is Reason.MATCH_NOT_ACTIVE  # alice has not connected yet, but bob has made a call
        assert isinstance(await submit(server, "alice", match, "a1"), Receipt)

    @virtually
    async def test_a_store_that_fails_when_a_flag_falls_is_not_called_in_a_loop(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(time="10s", policy=AT_ONCE)
        server.journal.refuse = True
        await asyncio.sleep(600)
        server.journal.refuse = False
        await asyncio.sleep(2)
        stands = await server.arbiter.matches.match(match.id)
        assert stands.phase is Phase.PAUSED


class TestRestart:
    @virtually
    async def test_matches_go_on_and_the_outage_is_charged_to_nobody(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE, time="1m")
        await asyncio.sleep(10)
        receipt = await submit(server, "alice", match, "m1")
        await asyncio.sleep(20)
        before = await server.arbiter.matches.match(match.id)
        assert await server.restart() == 1
        after = await server.arbiter.matches.match(match.id)
        assert after.phase is Phase.PAUSED
        assert (after.clocks, after.moves, after.text) == (before.clocks, before.moves, before.text)
        assert after.clocks[0].remaining_ms == 50_000
        assert await submit(server, "alice", match, "m1") == receipt  # the same request, the same answer
        bob = await server.connect("bob")
        turn = await bob.turn()
        assert turn.match.clocks == before.clocks
        events = [read(record.body) for record in await server.journal.read(match.id)]
        assert [type(event) for event in events][-3:] == [Interrupted, type(events[-2]), Resumed]

    @virtually
    async def test_moves_are_replayed_once_a_player_connects_and_not_at_the_start(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE, time="1m")
        await submit(server, "alice", match, "m1")
        before = await server.arbiter.matches.match(match.id)
        await server.restart()
        live = server.arbiter.matches.live.find(match.id)
        assert live is not None
        assert live.newest.position is None
        assert live.newest.text == before.text
        await server.connect("bob")
        assert live.newest.position == before.position
        assert live.newest.secret == before.secret

    @virtually
    async def test_the_clock_runs_again_for_a_player_who_does_not_come_back(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE, time="1m")
        await server.restart()
        ended = await finished(server, match)
        assert ended.result is not None
        assert ended.result.reason == MatchEndReason.TIME

    @virtually
    async def test_ended_matches_stay_readable_and_answer_again(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE)
        receipt = await server.arbiter.matches.act(match.id, Resign(1, "r"))
        assert await server.restart() == 0
        assert (await server.arbiter.matches.match(match.id)).phase is Phase.ENDED
        assert await server.arbiter.matches.act(match.id, Resign(1, "r")) == receipt
        refused = await submit(server, "bob", await server.arbiter.matches.match(match.id), "m", "a1")
        assert refused.reason in (Reason.MATCH_NOT_ACTIVE, Reason.NOT_YOUR_TURN)

    @virtually
    async def test_a_match_is_created_once_over_a_restart(self) -> None:
        server = InMemoryArbiter()
        made = await server.create(request="same")
        await server.restart()
        assert (await server.create(request="same")).id == made.id


class TestDrain:
    @virtually
    async def test_a_drain_stops_clocks_and_refuses_requests(self) -> None:
        server = InMemoryArbiter()
        alice = await server.connect("alice")
        match = await server.create(policy=AT_ONCE)
        await settle()
        server.journal.hold = True
        answer = submit(server, "alice", match, "m1")
        draining = asyncio.create_task(server.arbiter.matches.drain())
        await settle()
        assert not draining.done()
        server.journal.release()
        await draining
        assert isinstance(await answer, Receipt)
        for refused in (
            await submit(server, "bob", match, "m2"),
            await server.arbiter.matches.answer(match.id, Abort("org", "a")),
        ):
            assert isinstance(refused, Refusal)
            assert refused.reason is Reason.DRAINING
        with pytest.raises(Refusal, match="DRAINING"):
            await server.create()
        alice.leave()
        await asyncio.sleep(3_600)
        assert (await kinds(server, match))[-2:] == ["moved", "interrupted"]
        assert await server.restart() == 1
        assert (await server.arbiter.matches.match(match.id)).ply == 1

    @virtually
    async def test_no_recovery_begins_after_a_drain(self) -> None:
        """The store is closed next; the log's news and failed appends may still come until then."""
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE)
        live = server.arbiter.matches.live.find(match.id)
        assert live is not None
        assert await server.arbiter.matches.drain()
        server.arbiter.matches.decisions.fall_behind(live, lost=False)
        assert server.arbiter.matches.recoveries == 0


class TestFaults:
    @virtually
    async def test_an_error_in_the_arbiter_voids_the_match(self, monkeypatch: pytest.MonkeyPatch) -> None:
        server = InMemoryArbiter()
        alice, bob = await server.connect("alice"), await server.connect("bob")
        match = await server.create()
        turn = await alice.turn()

        def stumble(*_: object) -> None:
            raise ZeroDivisionError("a mistake")

        with monkeypatch.context() as patch:
            patch.setattr(type(game("circle-of-life")), "play", stumble)
            alice.play(match.id, 0, first_move(turn.match))
            await alice.receive()
        await bob.receive()
        for bot in (alice, bob):
            end = bot.results[0].end
            assert (end.result, end.reason, end.party) == ("void", "arbiter_fault", "arbiter")

    @virtually
    async def test_a_match_whose_moves_can_not_be_played_again_is_void_and_the_others_go_on(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server = InMemoryArbiter()
        broken, other = await server.create(policy=AT_ONCE), await server.create("pods", policy=AT_ONCE)
        await submit(server, "alice", broken, "m1")

        def stumble(*_: object) -> None:
            raise ZeroDivisionError("a mistake")

        with monkeypatch.context() as patch:
            patch.setattr(type(game("circle-of-life")), "play", stumble)
            assert await server.restart() == 2
            await server.connect("bob")
            result = (await finished(server, broken)).result
        assert result is not None
        assert result.reason == MatchEndReason.ARBITER_FAULT
        assert (await server.arbiter.matches.match(other.id)).result is None


class TestSeats:
    @virtually
    async def test_nobody_plays_for_another(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE)
        assert (await submit(server, "carol", match, "m1")).reason is Reason.SEAT_NOT_YOURS
        assert (await submit(server, "bob", match, "m1")).reason is Reason.NOT_YOUR_TURN
        await server.arbiter.matches.act(match.id, Abort("org", "a"))
        assert (await submit(server, "carol", match, "m1")).reason is Reason.SEAT_NOT_YOURS
        nowhere = server.arbiter.matches.request("alice", "m404", lambda seat: Resign(seat, "r"))
        assert (await nowhere).reason is Reason.MATCH_NOT_FOUND  # type: ignore[union-attr]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["alice", "bob"]), st.integers(0, 3), st.integers(0, 2)), max_size=12))
@virtually
async def test_the_same_request_is_never_carried_out_twice(acts: list[tuple[str, int, int]]) -> None:
    """Players send any requests in any order, simultaneously and repeatedly; each id has one final answer."""
    server = InMemoryArbiter()
    match = await server.create(policy=Policy(start=ClockStart.AT_ONCE, illegal_moves=100))
    receipts: dict[tuple[str, str], Receipt] = {}
    position, lines = match.position, []
    for _ in range(4):
        lines.append(min(match.game.moves(position)))
        position = match.game.play(position, lines[-1])
    for player, ply, again in acts:
        asked = [submit(server, player, match, f"p{ply}", lines[ply], ply) for _ in range(again + 1)]
        for answer in await asyncio.gather(*asked):
            if isinstance(answer, Receipt):
                assert receipts.setdefault((player, f"p{ply}"), answer) == answer
    events = [read(record.body) for record in await server.journal.read(match.id)]
    moves = [event for event in events if event.kind == "moved"]
    assert len(moves) == len(receipts)
    assert [receipt.ply for receipt in sorted(receipts.values(), key=lambda receipt: receipt.revision)] == list(
        range(1, len(moves) + 1)
    )


async def test_on_a_database_too(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/arbiter.db"
    async with open_store(url) as store:
        server = InMemoryArbiter(store)
        server.clock = RealClock()  # type: ignore[assignment]
        server.arbiter = server._wire()
        made = await asyncio.gather(*(server.create(request="same", policy=AT_ONCE) for _ in range(5)))
        assert len({match.id for match in made}) == 1
        receipt = await submit(server, "alice", made[0], "m1")
        assert isinstance(receipt, Receipt)
    async with open_store(url) as store:
        server._store = store
        assert await server.restart() == 1
        assert await submit(server, "alice", made[0], "m1") == receipt


class RealClock:
    def now_ms(self) -> int:
        return 1_800_000_000_000
