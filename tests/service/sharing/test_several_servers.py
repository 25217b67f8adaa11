"""Several servers over one store: a server that loses a race reads what the other has stored, and decides again.

`one.beside()` is a second server. A server whose journal is held waits with its append, so that the other one is first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from structlog.testing import capture_logs

from arbiter.errors import Reason, Refusal
from arbiter.games.contract import Seat
from arbiter.matches import Receipt
from arbiter.matches.commands import (
    Abort,
    AnswerDraw,
    Interrupt,
    Interruption,
    OfferDraw,
    Play,
    Resign,
    SeatRequest,
)
from arbiter.matches.events import Moved
from arbiter.matches.match import Match, Phase
from arbiter.matches.policy import ClockStart, Policy
from arbiter.matches.record import check_chain
from arbiter.service.matches.live_match import Answer
from arbiter.service.ports.journal import RecordDamaged
from arbiter.testing.clock import settle, virtually
from arbiter.testing.in_memory import InMemoryArbiter
from tests.service.matches.live_matches import said

AT_ONCE = Policy(start=ClockStart.AT_ONCE)


async def two(**given: Any) -> tuple[InMemoryArbiter, InMemoryArbiter, Match]:
    """Return two servers, and a match that the first has created and that both serve."""
    one = InMemoryArbiter()
    match = await one.create(**{"game": "pondlife", "policy": AT_ONCE, **given})
    other = one.beside()
    await other.arbiter.matches.match(match.id)
    return one, other, match


def play(server: InMemoryArbiter, player: str, match: Match, request: str, number: int = 0) -> asyncio.Future[Answer]:
    """Request one of the legal moves of a state of a match."""
    move, now = sorted(match.game.moves(match.position))[number], server.clock.now_ms()
    return server.arbiter.matches.request(player, match.id, lambda seat: Play(seat, request, match.ply, move, now))


def ask(
    server: InMemoryArbiter, player: str, match: Match, make: Callable[[Seat], SeatRequest]
) -> asyncio.Future[Answer]:
    return server.arbiter.matches.request(player, match.id, make)


async def record(server: InMemoryArbiter, match: Match) -> list[Any]:
    """Return the events of a match as they are stored; assert that their chain is valid."""
    return check_chain([stored.body for stored in await server.journal.read(match.id)])


async def kinds(server: InMemoryArbiter, match: Match) -> list[str]:
    return [event.kind.value for event in await record(server, match)]


class TestLostRaces:
    @virtually
    async def test_a_move_that_is_still_valid_is_played_after_the_events_of_the_other(self) -> None:
        one, other, match = await two()
        await asyncio.sleep(2)
        one.journal.hold = True
        with capture_logs() as logs:
            answer = play(one, "alice", match, "move")
            assert isinstance(await ask(other, "bob", match, lambda seat: OfferDraw(seat, "offer")), Receipt)
            await asyncio.sleep(5)
            one.journal.release()
            receipt = await answer
        assert isinstance(receipt, Receipt)
        assert (await kinds(one, match))[-2:] == ["draw_offered", "moved"]
        moved = (await record(one, match))[-1]
        assert isinstance(moved, Moved)
        assert moved.ledger.charged == 2_000, "the five seconds in which the race was lost are charged to nobody"
        assert [entry for entry in logs if entry["log_level"] in ("warning", "error")] == []

    @virtually
    async def test_a_move_after_the_end_is_refused_as_it_would_have_been(self) -> None:
        one, other, match = await two()
        alice = await one.connect("alice")
        one.journal.hold = True
        answer = play(one, "alice", match, "move")
        await ask(other, "bob", match, lambda seat: Resign(seat, "resign"))
        one.journal.release()
        refusal = await answer
        assert isinstance(refusal, Refusal)
        assert refusal.reason is Reason.MATCH_NOT_ACTIVE
        await alice.receive()
        assert [result.end.reason for result in alice.results] == ["resignation"]
        assert (await kinds(one, match))[-1] == "ended"
        assert one.arbiter.matches.live.find(match.id) is None
        assert await one.stuck_matches() == []

    @virtually
    async def test_the_same_request_on_both_servers_is_carried_out_once(self) -> None:
        one, other, match = await two()
        one.journal.hold = True
        first = play(one, "alice", match, "move")
        second = await play(other, "alice", match, "move")
        one.journal.release()
        assert await first == second
        assert (await kinds(one, match)).count("moved") == 1

    @virtually
    async def test_a_move_decided_on_an_old_state_is_decided_again_on_the_newest(self) -> None:
        """A decision on an old state is not stored: no player gets the refusal that it is not its turn."""
        one, other, match = await two()
        await play(one, "alice", match, "1")
        now = await one.arbiter.matches.match(match.id)
        assert isinstance(await play(other, "bob", now, "2"), Receipt)
        now = await other.arbiter.matches.match(match.id)
        assert isinstance(await play(one, "alice", now, "3"), Receipt)
        assert (await kinds(one, match))[-3:] == ["moved"] * 3

    @virtually
    async def test_a_player_against_itself_moves_for_the_seat_to_move_also_at_a_server_that_is_behind(self) -> None:
        """The server that is behind takes it for the other seat, until it has read what it missed."""
        one, other, match = await two(players=("alice", "alice"))
        now = match
        for number in range(4):
            server = (one, other)[number % 2]
            answer = await play(server, "alice", now, f"{number}")
            assert isinstance(answer, Receipt), number
            now = await server.arbiter.matches.match(match.id)
        moved = [event for event in await record(one, match) if isinstance(event, Moved)]
        assert [event.seat for event in moved] == [1, 2, 1, 2]

    @virtually
    async def test_commands_after_a_lost_race_keep_their_order(self) -> None:
        one, other, match = await two()
        one.journal.hold = True
        answers = [
            ask(one, "alice", match, lambda seat: OfferDraw(seat, "offer")),
            play(one, "alice", match, "move"),
            ask(one, "bob", match, lambda seat: AnswerDraw(seat, "no", False)),
        ]
        refused = await ask(other, "bob", match, lambda seat: AnswerDraw(seat, "too early", True))
        assert isinstance(refused, Refusal)
        one.journal.release()
        late = [ask(one, "bob", match, lambda seat: AnswerDraw(seat, "again", True))]
        assert [type(answer) for answer in await asyncio.gather(*answers)] == [Receipt, Receipt, Receipt]
        assert [type(answer) for answer in await asyncio.gather(*late)] == [Refusal]
        assert (await kinds(one, match))[-5:] == ["rejected", "draw_offered", "moved", "draw_declined", "rejected"]

    @virtually
    async def test_two_timers_that_expire_at_once_end_a_match_once(self) -> None:
        one, other, match = await two(time="1m")
        with capture_logs() as logs:
            await asyncio.sleep(120)
        assert (await kinds(one, match)).count("ended") == 1
        for server in (one, other):
            assert (await server.arbiter.matches.match(match.id)).phase is Phase.ENDED
            assert await server.stuck_matches() == []
        assert [entry for entry in logs if entry["log_level"] in ("warning", "error")] == []

    @virtually
    async def test_a_drain_of_the_first_server_interrupts_the_match_on_the_other(self) -> None:
        """A drain interrupts the newest state, and the player goes on at the other server."""
        one, other, match = await two()
        await play(other, "alice", match, "1")
        await one.arbiter.matches.drain()
        assert (await kinds(one, match))[-2:] == ["moved", "interrupted"]
        now = await other.arbiter.matches.match(match.id)
        assert isinstance(await play(other, "bob", now, "2"), Receipt)
        assert (await kinds(one, match))[-3:] == ["interrupted", "resumed", "moved"]

    @virtually
    async def test_a_hand_over_counts_for_its_own_turn_alone(self) -> None:
        """The other server has restarted the turn: the hand-over that was measured before is not in the ledger."""
        one, other, match = await two()
        alice = await one.connect("alice")
        await asyncio.sleep(1)
        turn = await alice.turn()
        one.journal.hold = True
        request = alice.reply(turn)
        await other.arbiter.matches.attendance.interrupt_all(Interruption.RESTART)
        one.journal.release()
        await alice.receive()
        alice.receipt(request)
        moved = next(event for event in await record(one, match) if isinstance(event, Moved))
        assert (moved.ledger.handed_over, moved.ledger.charged) == (None, 0)

    @virtually
    async def test_connected_players_are_present_again_after_another_server_recorded_them_as_absent(self) -> None:
        one, other, match = await two()
        alice, _ = await one.connect("alice"), await one.connect("bob")
        await settle()
        await other.arbiter.matches.attendance.interrupt_all(Interruption.RESTART)
        assert isinstance(await ask(one, "bob", match, lambda seat: OfferDraw(seat, "offer")), Receipt)
        await settle()
        assert (await kinds(one, match))[-5:] == ["interrupted", "draw_offered", "arrived", "resumed", "arrived"]
        assert (await alice.turn()).match.ply == 0


class TestFailuresWhileBehind:
    @virtually
    async def test_a_store_that_can_not_be_read_counts_as_an_outage(self) -> None:
        one, other, match = await two()
        one.journal.hold = one.journal.mute = True
        answer = play(one, "alice", match, "move")
        await ask(other, "bob", match, lambda seat: OfferDraw(seat, "offer"))
        one.journal.release()
        await settle()
        refusal = await answer
        assert isinstance(refusal, Refusal)
        assert refusal.reason is Reason.STORE_UNAVAILABLE
        one.journal.mute = False
        await asyncio.sleep(2)
        assert isinstance(await play(one, "alice", match, "move"), Receipt)
        assert (await kinds(one, match))[-4:] == ["draw_offered", "interrupted", "resumed", "moved"]

    @virtually
    async def test_waiting_callers_get_the_name_of_a_damaged_record(self, monkeypatch: pytest.MonkeyPatch) -> None:
        one, other, match = await two()
        one.journal.hold = True
        answer = play(one, "alice", match, "move")
        await ask(other, "bob", match, lambda seat: OfferDraw(seat, "offer"))

        async def damaged(*_: object, **__: object) -> list[Any]:
            raise RecordDamaged(match.id, 3, "its seal does not hold")

        monkeypatch.setattr(one.journal, "read", damaged)
        one.journal.release()
        refusal = await answer
        assert isinstance(refusal, Refusal)
        assert refusal.reason is Reason.RECORD_DAMAGED
        assert one.arbiter.matches.live.find(match.id) is None


class TestReading:
    @virtually
    async def test_reading_a_match_that_another_server_serves_changes_nothing(self) -> None:
        one = InMemoryArbiter()
        match = await one.create("pondlife", policy=AT_ONCE)
        before = await kinds(one, match)
        other = one.beside()
        assert (await other.arbiter.matches.match(match.id)).phase is Phase.ACTIVE
        await settle()
        assert await kinds(one, match) == before

    @virtually
    async def test_the_clock_runs_on_the_other_server(self) -> None:
        one, other, match = await two(time="1m")
        one.journal.hold = True  # this server stores nothing any more
        await asyncio.sleep(120)
        assert (await other.arbiter.matches.match(match.id)).phase is Phase.ENDED
        assert (await kinds(other, match))[-1] == "ended"

    @virtually
    async def test_a_match_whose_creation_failed_here_is_interrupted(self) -> None:
        server = InMemoryArbiter()
        server.journal.lie = True
        with pytest.raises(Refusal):
            await server.create(policy=AT_ONCE)
        server.journal.lie = False
        made = (await server.journal.unfinished())[0]
        match = await server.arbiter.matches.match(made)
        assert (await kinds(server, match))[-1] == "interrupted"


def some_request(dice: Random, request: str, match: Match, now: int) -> Callable[[Seat], SeatRequest]:
    """Return what makes a request of a player: mostly a move that is legal in a state of the match."""
    move = dice.choice(sorted(match.game.moves(match.position)))
    accepts = dice.random() < 0.2
    requests: list[Callable[[Seat], SeatRequest]] = [
        lambda seat: OfferDraw(seat, request),
        lambda seat: AnswerDraw(seat, request, accepts),
        lambda seat: Resign(seat, request),
    ]
    return dice.choice(requests) if dice.random() < 0.1 else lambda seat: Play(seat, request, match.ply, move, now)


@pytest.mark.parametrize("seed", range(25))
@virtually
async def test_every_request_has_one_answer_in_any_race(seed: int) -> None:
    """Players call two servers at random, whose writes are delayed at random; then all requests are repeated."""
    dice = Random(seed)
    one, other, match = await two()
    servers, asked = (one, other), dict[tuple[str, str], tuple[Callable[[Seat], SeatRequest], asyncio.Future[Answer]]]()
    with capture_logs() as logs:
        for number in range(60):
            server, player, request = dice.choice(servers), dice.choice(match.players), f"r{number}"
            known = await dice.choice(servers).arbiter.matches.match(match.id)
            if known.phase is Phase.ENDED:
                break
            make = some_request(dice, request, known, one.clock.now_ms())
            asked[player, request] = (make, server.arbiter.matches.request(player, match.id, make))
            server.journal.hold = dice.random() < 0.5
            if not server.journal.hold:
                server.journal.release()
            await asyncio.sleep(dice.choice((0, 0, 0.001, 0.5)))
        for server in servers:
            server.journal.release()
        answers = {key: await answer for key, (_, answer) in asked.items()}
        for (player, request), (make, _) in asked.items():
            again = await dice.choice(servers).arbiter.matches.request(player, match.id, make)
            assert said(again) == said(answers[player, request]), f"{request} of {player}"
    events = await record(one, match)
    carried_out = [event.request for event in events if isinstance(event, Moved)]
    assert len(carried_out) == len(set(carried_out))
    assert "interrupted" not in [event.kind.value for event in events]
    assert [entry for entry in logs if entry["log_level"] in ("warning", "error")] == []
    for server in servers:
        await server.arbiter.matches.answer(match.id, Abort("org", "end"))
        assert await server.stuck_matches() == []


@virtually
async def test_a_move_that_waited_behind_an_interruption_has_no_hand_over_of_the_turn_before_it() -> None:
    one, _, match = await two()
    live_matches, decisions = one.arbiter.matches.live, one.arbiter.matches.decisions
    live = live_matches.find(match.id)
    assert live is not None
    await asyncio.sleep(1)
    handed_over = one.clock.now_ms()
    await asyncio.sleep(1)
    move, arrived = min(match.game.moves(match.position)), one.clock.now_ms()
    live.waiting = []  # for what another server has stored, which turns out to be nothing
    stopped = decisions.decide(live, Interrupt(Interruption.RESTART))
    moved = decisions.decide(live, Play(match.turn, "r", 0, move, arrived, handed_over, 5))
    decisions.catch_up(live, match, [], [])
    await asyncio.gather(stopped, moved)
    event = next(event for event in await record(one, match) if isinstance(event, Moved))
    assert (event.ledger.charged, event.ledger.handed_over, event.ledger.round_trip) == (0, None, None)
