"""Tournament calls that bots receive on their Play streams, in virtual time."""

from __future__ import annotations

import dataclasses

from arbiter.service.play.session import CallItem, StateItem, TurnItem
from arbiter.testing.clock import NOON_MS, virtually
from arbiter.testing.in_memory import InMemoryArbiter, StreamReader
from arbiter.tournaments import commands as do
from arbiter.tournaments.schedule import Schedule
from arbiter.tournaments.spec import EntryRules, Format, Spec
from arbiter.tournaments.tournament import TournamentPhase
from tests.service.tournaments.contest import spec_of

CUP = spec_of(Format.ROUND_ROBIN)


async def made(server: InMemoryArbiter, spec: Spec, request: str = "make") -> str:
    return (await server.arbiter.tournaments.create(spec, "org", request)).id


async def act(server: InMemoryArbiter, tournament: str, command: do.Request) -> None:
    await server.arbiter.tournaments.act(tournament, command)


async def calls(bot: StreamReader) -> list[tuple[str, TournamentPhase, bool]]:
    """Return the calls that a bot has received now."""
    items = [item for item in await bot.receive() if isinstance(item, CallItem)]
    assert all(item.player == bot.session.player for item in items)
    return [(item.created.tournament, item.phase, item.entered) for item in items]


@virtually
async def test_an_open_tournament_is_sent_once_to_streams_that_ask_for_calls() -> None:
    server = InMemoryArbiter()
    eager, other = await server.connect("eager", tournaments=True), await server.connect("other")
    cup = await made(server, CUP)
    assert await made(server, CUP) == cup
    assert await calls(eager) == [(cup, TournamentPhase.ENTRY, False)]
    assert await calls(other) == []
    late = await server.connect("late", tournaments=True)
    assert await calls(late) == [(cup, TournamentPhase.ENTRY, False)]
    await act(server, cup, do.Enter("other", "org", "e1"))
    await act(server, cup, do.Withdraw("other", "org", "w1"))
    assert await calls(eager) == await calls(late) == []
    again = await server.connect("eager", tournaments=True)
    assert await calls(again) == [(cup, TournamentPhase.ENTRY, False)], "a new stream receives it again"


@virtually
async def test_a_player_that_can_not_enter_gets_no_call() -> None:
    server = InMemoryArbiter()
    bot = await server.connect("bot", tournaments=True, bot_version="1.2")
    for n, (rules, called) in enumerate(
        (
            (EntryRules(invited=("ann", "ben")), False),
            (EntryRules(invited=("ann", "bot")), True),
            (EntryRules(versions=("2",)), False),
            (EntryRules(versions=("1.",)), True),
        )
    ):
        await made(server, dataclasses.replace(CUP, entry=rules), f"make {n}")
        assert bool(await calls(bot)) is called, rules
    await made(server, dataclasses.replace(CUP, schedule=Schedule(entry_closes_ms=NOON_MS - 1)), "closed")
    assert await calls(bot) == []


@virtually
async def test_a_place_that_becomes_free_is_sent_as_a_call() -> None:
    server = InMemoryArbiter()
    cup = await made(server, dataclasses.replace(CUP, entry=EntryRules(capacity=2)))
    for name in ("ann", "ben"):
        await act(server, cup, do.Enter(name, "org", name))
    bot, ann = await server.connect("bot", tournaments=True), await server.connect("ann", tournaments=True)
    assert await calls(bot) == []
    assert await calls(ann) == [(cup, TournamentPhase.ENTRY, True)]
    await act(server, cup, do.Withdraw("ann", "org", "w"))
    assert await calls(bot) == [(cup, TournamentPhase.ENTRY, False)]
    assert await calls(ann) == [], "a player who has withdrawn gets no call"
    assert await calls(await server.connect("ann", tournaments=True)) == []


@virtually
async def test_a_player_receives_the_state_of_its_tournaments() -> None:
    server = InMemoryArbiter()
    cup = await made(server, CUP)
    ann, ben = await server.connect("ann"), await server.connect("ben")
    for name in ("ann", "ben"):
        await act(server, cup, do.Enter(name, "org", name))
    assert await calls(ann) == await calls(ben) == [(cup, TournamentPhase.ENTRY, True)]
    await act(server, cup, do.Start("org", "start"))
    await act(server, cup, do.Pause("org", "pause"))
    items = [phase for _, phase, _ in await calls(ann)]
    assert items == [TournamentPhase.RUNNING, TournamentPhase.PAUSED]
    again = await server.connect("ann")
    heard = await again.receive()
    kinds = [type(item) for item in heard if isinstance(item, CallItem | StateItem | TurnItem)]
    assert kinds == sorted(kinds, key=[StateItem, CallItem, TurnItem].index), "states, then calls, then turns"
    assert [item.phase for item in heard if isinstance(item, CallItem)] == [TournamentPhase.PAUSED]
    await act(server, cup, do.Continue("org", "continue"))
    await act(server, cup, do.Cancel("org", "cancel"))
    assert [phase for _, phase, _ in await calls(again)] == [TournamentPhase.RUNNING, TournamentPhase.ENDED]
    assert await calls(await server.connect("ann", tournaments=True)) == [], "the tournament has ended"


@virtually
async def test_after_a_restart_all_calls_are_sent_again() -> None:
    server = InMemoryArbiter()
    cup, ladder = await made(server, CUP), await made(server, spec_of(Format.LADDER), "ladder")
    for name in ("ann", "ben"):
        await act(server, cup, do.Enter(name, "org", name))
    await act(server, cup, do.Start("org", "start"))
    await act(server, ladder, do.Start("org", "start"))
    await server.restart()
    ann = await server.connect("ann", tournaments=True)
    assert await calls(ann) == [(cup, TournamentPhase.RUNNING, True), (ladder, TournamentPhase.RUNNING, False)]
