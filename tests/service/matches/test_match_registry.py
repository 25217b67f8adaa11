from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbiter.bootstrap.store import open_store
from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.games.registry import game
from arbiter.matches import Receipt
from arbiter.matches.commands import Abort, Resign
from arbiter.matches.events import EventKind, MatchEndReason
from arbiter.matches.match import Phase
from arbiter.matches.policy import ClockStart, Policy
from arbiter.matches.record import read
from arbiter.testing.clock import settle, virtually
from arbiter.testing.in_memory import InMemoryArbiter
from tests.refusals import refusing
from tests.service.matches.live_matches import AT_ONCE, finished, first_move, submit


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
            with refusing(Reason.REQUEST_ID_REUSED):
                await server.create(request="same", **changed)

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
        with refusing(Reason.STORE_UNAVAILABLE):
            await server.create(request="r")
        assert server.arbiter.matches.unfinished("alice") == []
        server.journal.refuse = False
        assert (await server.create(request="r")).phase is Phase.PENDING

    @virtually
    async def test_a_store_that_can_not_be_read_makes_nothing(self) -> None:
        server = InMemoryArbiter()
        server.journal.mute = True
        with refusing(Reason.STORE_UNAVAILABLE):
            await server.create()

    @virtually
    async def test_open_matches_are_limited(self) -> None:
        server = InMemoryArbiter(limits=Limits(open_matches_of_player=2, open_matches=3))
        first = await server.create()
        await server.create()
        with refusing(Reason.RATE_LIMITED):
            await server.create(players=("carol", "bob"))
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
            with refusing(reason):
                await server.create(**changed)


class TestPresence:
    @virtually
    async def test_the_matches_of_a_player_are_notified_in_the_order_of_their_creation(self) -> None:
        server = InMemoryArbiter()
        made = [(await server.create()).id for _ in range(20)]
        await server.connect("alice")
        await settle()
        events = [(record.match_id, read(record.body).kind) for record in await server.journal.read_all(0, 100)]
        assert [match_id for match_id, kind in events if kind is EventKind.ARRIVED] == made


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
