"""Live matches: what is told only once it is stored, and what happens when the store fails."""

from __future__ import annotations

import asyncio

from arbiter.errors import Reason, Refusal
from arbiter.matches import Receipt
from arbiter.matches.commands import Resign
from arbiter.matches.policy import Policy
from arbiter.service.play.session import AnswerItem
from arbiter.testing.clock import settle, virtually
from arbiter.testing.in_memory import InMemoryArbiter
from tests.refusals import refusing
from tests.service.matches.live_matches import AT_ONCE, first_move, kinds, submit


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
        with refusing(Reason.STORE_UNAVAILABLE):
            await server.create(policy=AT_ONCE, request="r")
        server.journal.lie = False
        match = await server.create(policy=AT_ONCE, request="r")
        assert isinstance(await submit(server, "alice", match, "m1"), Receipt)
        assert (await kinds(server, match))[-1] == "moved"

    @virtually
    async def test_a_match_that_is_stored_late_waits_for_its_players_from_then_on(self) -> None:
        server = InMemoryArbiter()
        await server.connect("alice")
        server.journal.hold = True
        creating = asyncio.create_task(server.create(policy=Policy(no_show_ms=5_000)))
        await asyncio.sleep(7)
        server.journal.release()
        match = await creating
        await asyncio.sleep(4)
        await server.connect("bob")
        await settle()
        assert await kinds(server, match) == ["created", "interrupted", "arrived", "arrived", "started"]

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
