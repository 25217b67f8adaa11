"""A player against itself: its one stream receives the turns of both seats, and each event of the match once."""

from __future__ import annotations

import asyncio

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.matches.commands import Play
from arbiter.matches.events import Arrived, EventKind, Left
from arbiter.matches.match import Match, Phase
from arbiter.matches.record import read
from arbiter.matches.requests import Receipt
from arbiter.service.play.challenges import Terms
from arbiter.service.play.session import OfferItem, StateItem, TurnItem
from arbiter.service.ports.journal import Filter
from arbiter.testing.clock import settle, virtually
from arbiter.testing.in_memory import EVERYTHING, InMemoryArbiter, StreamReader
from tests.refusals import refusing

ALONE = ("alice", "alice")


async def begun(server: InMemoryArbiter, game: str = "pods(size=3)", time: str = "1m+1s") -> tuple[Match, StreamReader]:
    """Return a match of alice against itself, and its stream, which has received the first turn."""
    bot = await server.connect("alice")
    match = await server.create(game, ALONE, time)
    await bot.receive()
    return match, bot


async def played_out(bot: StreamReader, match: Match) -> list[TurnItem]:
    """Let a bot play the match to its end, and return all turns that it received."""
    turns = [item for item in bot.received if isinstance(item, TurnItem)]
    while not bot.results:
        bot.reply(turns[-1])
        turns += [item for item in await bot.receive() if isinstance(item, TurnItem)]
    assert {turn.match.id for turn in turns} == {match.id}
    return turns


async def kinds(server: InMemoryArbiter, match: Match, *types: type[Arrived | Left]) -> list[tuple[EventKind, int]]:
    events = [read(record.body) for record in await server.journal.read(match.id)]
    return [(event.kind, event.seat) for event in events if isinstance(event, types)]


@virtually
async def test_a_bot_plays_both_seats_on_one_stream() -> None:
    server = InMemoryArbiter()
    match, bot = await begun(server)
    turns = await played_out(bot, match)
    assert [turn.match.ply for turn in turns] == list(range(len(turns)))
    assert all(turn.seat == turn.match.turn for turn in turns)
    assert {turn.seat for turn in turns} == {1, 2}
    (ended,) = bot.results
    assert (ended.seat, ended.opponent, ended.end.cause) == (1, "alice", "rules")
    assert not [item for item in bot.received if isinstance(item, OfferItem)]
    assert (
        len([item for item in bot.received if isinstance(item, StateItem)]) == 2
    )  # as it was created, and as it started
    assert (await server.stuck_matches()) == []


@virtually
async def test_both_seats_have_their_own_credit_and_charge() -> None:
    server = InMemoryArbiter()
    match, bot = await begun(server)
    for think_s, left_ms in ((1, 60_000), (3, 58_000)):
        turn = last_turn(bot)
        await asyncio.sleep(think_s)
        ledger = bot.receipt(await replied(bot, turn)).ledger
        assert ledger is not None
        assert ledger.handed_over == ledger.started
        assert (ledger.charged, ledger.left) == (think_s * 1_000, 60_000 - think_s * 1_000)
        now = await server.arbiter.matches.match(match.id)
        assert now.clocks[turn.seat - 1].remaining_ms == left_ms


def last_turn(bot: StreamReader) -> TurnItem:
    return next(item for item in reversed(bot.received) if isinstance(item, TurnItem))


async def replied(bot: StreamReader, turn: TurnItem) -> str:
    request = bot.reply(turn)
    await bot.receive()
    return request


@virtually
async def test_both_seats_arrive_and_leave_together() -> None:
    server = InMemoryArbiter()
    match, bot = await begun(server)
    bot.leave()
    await settle()
    there = [(EventKind.ARRIVED, 1), (EventKind.ARRIVED, 2)]
    gone = [(EventKind.LEFT, 1), (EventKind.LEFT, 2)]
    assert await kinds(server, match, Arrived, Left) == [*there, *gone]
    await server.connect("alice")
    await settle()
    assert await kinds(server, match, Arrived, Left) == [*there, *gone, *there]


@virtually
async def test_a_call_shows_that_the_player_is_present() -> None:
    server = InMemoryArbiter()
    match = await server.create("pods(size=3)", ALONE, "none")
    now = server.clock.now_ms()
    answer = await server.arbiter.matches.request("alice", match.id, lambda seat: Play(seat, "r", 0, "a1", now))
    assert isinstance(answer, Receipt)
    again = await server.arbiter.matches.request("alice", match.id, lambda seat: Play(seat, "r", 0, "a1", now))
    assert again == answer
    stranger = await server.arbiter.matches.request("bob", match.id, lambda seat: Play(seat, "r", 1, "a1", now))
    assert isinstance(stranger, Refusal)
    assert stranger.reason is Reason.SEAT_NOT_YOURS


@virtually
async def test_it_goes_on_after_a_restart() -> None:
    server = InMemoryArbiter()
    match, bot = await begun(server)
    first = min(match.game.moves(match.position))
    request = await replied(bot, last_turn(bot))
    receipt = bot.receipt(request)
    assert await server.restart() == 1
    bot = await server.connect("alice")
    await bot.receive()
    turn = last_turn(bot)
    assert (turn.match.ply, turn.seat) == (1, 2)
    bot.play(match.id, 0, first, request)
    await bot.receive()
    assert bot.receipt(request) == receipt
    await played_out(bot, match)
    assert (await server.arbiter.matches.match(match.id)).phase is Phase.ENDED


@virtually
async def test_the_match_is_listed_and_sent_once() -> None:
    server = InMemoryArbiter()
    match, bot = await begun(server)
    matches = server.arbiter.matches
    assert [open_.id for open_ in matches.unfinished("alice")] == [match.id]
    await played_out(bot, match)
    assert [row.match_id for row in await matches.summaries(Filter(player="alice"), 0, 10)] == [match.id]
    assert [row.match_id for row in await matches.results("alice", 0, 10)] == [match.id]
    assert not matches.unfinished("alice")
    later = await server.connect("alice")
    await later.receive()
    assert later.results == bot.results  # the store and the live match agree


@virtually
async def test_a_turn_with_extras() -> None:
    server = InMemoryArbiter()
    bot = await server.connect("alice", extras=EVERYTHING)
    await server.create("pods(size=3)", ALONE)
    await bot.receive()
    await replied(bot, last_turn(bot))
    turn = last_turn(bot)
    assert turn.seat == 2
    assert turn.listing is not None


@virtually
async def test_it_counts_as_one_of_the_players_matches() -> None:
    server = InMemoryArbiter(limits=Limits(open_matches_of_player=2, open_matches=3))
    await server.create(players=ALONE)
    await server.create(players=ALONE)
    with refusing(Reason.RATE_LIMITED):
        await server.create(players=ALONE)


@virtually
async def test_nobody_challenges_itself() -> None:
    server = InMemoryArbiter()
    caller = await server.caller("alice")
    with refusing(Reason.ARGUMENT_INVALID):
        await server.arbiter.challenges.challenge(caller, "c", "alice", Terms("pods", "1m", False, 0))
