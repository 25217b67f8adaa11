"""After a start, matches become live when they are asked for; until then no clock of them runs, and none is lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.matches import Receipt
from arbiter.matches.commands import Play
from arbiter.matches.match import Match, Phase
from arbiter.matches.policy import ClockStart, Policy
from arbiter.service.matches import revival, unfinished
from arbiter.service.play.session import StateItem, TurnItem
from arbiter.service.ports.journal import StoreFailed
from arbiter.testing.clock import settle, virtually
from arbiter.testing.in_memory import InMemoryArbiter
from tests.refusals import refusing
from tests.service.matches.live_matches import kinds

AT_ONCE = Policy(start=ClockStart.AT_ONCE)


async def restarted(*pairs: tuple[str, str], **given: Any) -> tuple[InMemoryArbiter, list[Match]]:
    """Return a server that was killed while a match of each pair went on, and has just begun to serve again."""
    server = InMemoryArbiter(**given)
    made = [await server.create(players=pair, policy=AT_ONCE, time="1m") for pair in pairs]
    await asyncio.sleep(10)
    assert await server.restart(at_once=False) == len(pairs)
    return server, made


def live(server: InMemoryArbiter) -> set[str]:
    return {each.newest.id for each in server.arbiter.matches.live}


def submit(server: InMemoryArbiter, match: Match) -> asyncio.Future[Any]:
    """Play the first legal move of the first player, by a unary call."""
    move, now = min(match.game.moves(match.position)), server.clock.now_ms()
    return server.arbiter.matches.request(
        match.players[0], match.id, lambda seat: Play(seat, "m1", match.ply, move, now)
    )


@virtually
async def test_a_match_becomes_live_when_it_is_asked_for_and_its_clocks_have_stood_still() -> None:
    server, made = await restarted(("anna", "ben"), ("carl", "dora"))
    assert live(server) == set()
    await asyncio.sleep(300)  # more than anybody's time
    found = await server.arbiter.matches.match(made[0].id)
    assert (found.phase, found.clocks) == (Phase.PAUSED, made[0].clocks)
    assert live(server) == {made[0].id}
    assert await kinds(server, made[1]) == ["created", "started"]
    await server.arbiter.matches.revive_rest()
    assert live(server) == {match.id for match in made}
    assert (await kinds(server, made[1]))[-1] == "interrupted"


@virtually
async def test_a_move_is_the_first_thing_that_a_match_hears_of() -> None:
    server, made = await restarted(("anna", "ben"))
    answers = await asyncio.gather(submit(server, made[0]), submit(server, made[0]))
    assert isinstance(answers[0], Receipt)
    assert answers[0] == answers[1]
    assert await kinds(server, made[0]) == ["created", "started", "interrupted", "resumed", "moved"]


@virtually
async def test_a_player_who_connects_finds_all_its_matches_and_its_turn() -> None:
    server, made = await restarted(("anna", "ben"), ("carl", "dora"), ("eve", "anna"))
    anna = await server.connect("anna")
    items = await anna.receive()
    states = [item.match.id for item in items if isinstance(item, StateItem)]
    assert states == [made[0].id, made[2].id]
    assert live(server) == set(states)
    request = anna.reply(next(item for item in items if isinstance(item, TurnItem)))
    await anna.receive()
    assert isinstance(anna.answer(request), Receipt)


@virtually
async def test_a_stream_that_is_open_resumes_the_match_when_it_becomes_live() -> None:
    server, made = await restarted(("anna", "ben"))
    with server.arbiter.sessions.attending("anna"):
        await server.arbiter.matches.revive_rest()
        assert (await server.arbiter.matches.match(made[0].id)).phase is Phase.ACTIVE


@virtually
async def test_matches_that_are_not_live_yet_count_towards_the_limits() -> None:
    server, _ = await restarted(("anna", "ben"), ("anna", "carl"), limits=Limits(open_matches_of_player=2))
    with refusing(Reason.RATE_LIMITED):
        await server.create(players=("dora", "anna"))
    server, _ = await restarted(("anna", "ben"), ("anna", "carl"), limits=Limits(open_matches=2))
    with refusing(Reason.RATE_LIMITED):
        await server.create(players=("dora", "eve"))


@virtually
async def test_a_damaged_match_is_found_before_it_is_served_and_the_others_go_on() -> None:
    server, made = await restarted(("anna", "ben"), ("anna", "carl"))
    records = server.journal._journal._of_match[made[0].id]  # type: ignore[attr-defined]
    records[1] = replace_body(records[1])
    for _ in range(2):
        with refusing(Reason.RECORD_DAMAGED) as refused:
            await server.arbiter.matches.match(made[0].id)
        assert refused.value.facts["id"] == made[0].id
    anna = await server.connect("anna")
    assert [item.match.id for item in await anna.receive() if isinstance(item, StateItem)] == [made[1].id]
    await server.arbiter.matches.revive_rest()
    assert live(server) == {made[1].id}


def replace_body(record: Any) -> Any:
    return record._replace(body=record.body.replace(b'"started"', b'"resumed"'))


@virtually
async def test_while_the_store_is_silent_callers_are_refused_and_later_everything_is_read() -> None:
    server, made = await restarted(("anna", "ben"), ("carl", "dora"))
    server.journal.mute = True
    rest = asyncio.create_task(server.arbiter.matches.revive_rest())
    with pytest.raises(StoreFailed):
        await server.arbiter.matches.match(made[0].id)
    with pytest.raises(StoreFailed):
        await server.arbiter.matches.revive_of("anna")
    server.journal.mute = False
    await rest
    assert live(server) == {match.id for match in made}


@virtually
async def test_a_caller_that_leaves_does_not_keep_a_match_from_becoming_live() -> None:
    server, made = await restarted(("anna", "ben"))
    asking = asyncio.create_task(server.arbiter.matches.match(made[0].id))
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await settle()
    assert live(server) == {made[0].id}


@virtually
async def test_nobody_sees_a_match_before_its_interruption_is_stored() -> None:
    server, made = await restarted(("anna", "ben"))
    server.journal.hold = True
    asking = [asyncio.create_task(server.arbiter.matches.match(made[0].id)) for _ in range(2)]
    reviving = asyncio.create_task(server.arbiter.matches.revive_of("ben"))
    await settle()
    asking += [asyncio.create_task(server.arbiter.matches.match(made[0].id))]
    await settle()
    assert not any(task.done() for task in (*asking, reviving))
    server.journal.release()
    found = await asyncio.gather(*asking)
    await reviving
    assert {each.phase for each in found} == {Phase.PAUSED}


@virtually
async def test_a_server_that_stops_leaves_the_rest_to_the_next_start() -> None:
    server, made = await restarted(("anna", "ben"), ("carl", "dora"))
    await server.arbiter.matches.match(made[0].id)
    asking = asyncio.create_task(server.arbiter.matches.match(made[1].id))
    rest = asyncio.create_task(server.arbiter.matches.revive_rest())
    await asyncio.sleep(0)
    assert await server.arbiter.matches.drain()
    await rest
    with pytest.raises(Refusal, match="DRAINING"):
        await asking
    assert await kinds(server, made[1]) == ["created", "started"]
    await asyncio.sleep(300)
    assert await server.restart() == 2
    assert (await server.arbiter.matches.match(made[1].id)).clocks == made[1].clocks


@virtually
async def test_more_matches_than_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revival, "READ_AT_ONCE", 2)
    server, made = await restarted(*[("anna", f"p{number}") for number in range(5)], ("carl", "dora"))
    rest = asyncio.create_task(server.arbiter.matches.revive_rest())
    anna = await server.connect("anna")
    assert len([item for item in await anna.receive() if isinstance(item, StateItem)]) == 5
    await rest
    assert live(server) == {match.id for match in made}
    for match in made:
        assert (await kinds(server, match)).count("interrupted") == 1


@virtually
async def test_other_tasks_run_while_matches_are_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty matches, each with up to fifty records, would take the event loop a tenth of a second."""
    monkeypatch.setattr(unfinished, "LOADED_AT_ONCE", 1)
    server, made = await restarted(*[("anna", f"p{number}") for number in range(5)])
    turns = 0

    async def take_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    others = asyncio.create_task(take_turns())
    found, damages = await unfinished.read_unfinished(server.journal, [match.id for match in made], 0)
    others.cancel()
    assert (len(found), damages) == (len(made), [])
    assert turns > sum(match.revision for match in made)


@virtually
async def test_a_flag_falls_once_the_match_is_live_again() -> None:
    server, made = await restarted(("anna", "ben"))
    await server.arbiter.matches.revive_rest()
    await asyncio.sleep(3_600)
    ended = await server.arbiter.matches.match(made[0].id)
    assert ended.result is not None
    assert ended.result.reason == "time"
