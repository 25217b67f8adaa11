"""Commands on matches whose rules run elsewhere and are late: they wait in their order, and nobody is charged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from arbiter.errors import Reason, RulesAwaited, RulesFailed
from arbiter.games import registry
from arbiter.matches.commands import Abort
from arbiter.matches.match import Match, Phase
from arbiter.testing.clock import settle, virtually
from arbiter.testing.in_memory import InMemoryArbiter
from tests.matches.heap import Heap, HeapPosition
from tests.plugins.installed import forget_packages
from tests.service.matches.live_matches import AT_ONCE, submit

THINKING_MS = 1_000
LATE_S = 600.0


class Late(Heap):
    """A game whose rules answer when `answer` is called; before the first play they are prompt."""

    late = False
    failed = False
    waiting: list[Callable[[], object]] = []  # noqa: RUF012 - the tests' own

    def play(self, position: HeapPosition, move: str) -> HeapPosition:
        if Late.late:
            raise RulesAwaited("heap", Late.waiting.append)
        if Late.failed:
            raise RulesFailed("heap", "no answer within 5000 ms")
        return super().play(position, move)


def answer(late: bool = False, failed: bool = False) -> None:
    """Let the rules answer; `late` and `failed` say what they do next."""
    Late.late, Late.failed = late, failed
    waiting, Late.waiting = Late.waiting, []
    for callback in waiting:
        callback()


@pytest.fixture(autouse=True)
def _late(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have a game whose rules are late."""
    entry = EntryPoint("heap", f"{__name__}:Late", registry.GROUP)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda *, group: [entry])
    forget_packages()
    yield
    answer()
    monkeypatch.undo()
    forget_packages()


async def begun(server: InMemoryArbiter, time: str = "5s") -> Match:
    """Begin a match of two connected players."""
    for name in ("alice", "bob"):
        await server.connect(name)
    return await server.create("heap", time=time, policy=AT_ONCE)


@virtually
async def test_a_move_waits_and_no_flag_falls() -> None:
    server = InMemoryArbiter()
    match = await begun(server)
    await asyncio.sleep(THINKING_MS / 1_000)
    answer(late=True)
    moving = submit(server, "alice", match, "a", "1")
    await asyncio.sleep(LATE_S)
    assert not moving.done()
    assert (await server.arbiter.matches.match(match.id)).phase is Phase.ACTIVE
    answer()
    receipt: Any = await moving
    after = await server.arbiter.matches.match(match.id)
    assert (receipt.ply, after.ply) == (1, 1)
    assert after.clocks[0].remaining_ms == 5_000 - THINKING_MS
    await asyncio.sleep(6)  # the other player's clock runs from now on
    assert (await server.arbiter.matches.match(match.id)).phase is Phase.ENDED


@virtually
async def test_commands_are_decided_in_the_order_in_which_they_came() -> None:
    server = InMemoryArbiter()
    match = await begun(server)
    answer(late=True)
    moving = [submit(server, player, match, player, "1", ply) for ply, player in enumerate(("alice", "bob", "alice"))]
    await settle()
    answer(late=True)  # not yet
    await settle()
    assert not any(move.done() for move in moving)
    answer()
    receipts: list[Any] = await asyncio.gather(*moving)
    assert [receipt.ply for receipt in receipts[:2]] == [1, 2]
    assert receipts[2].reason is Reason.REQUEST_ID_REUSED
    assert (await server.arbiter.matches.match(match.id)).moves == ("1", "1")


@virtually
async def test_an_organiser_ends_a_match_that_waits() -> None:
    server = InMemoryArbiter()
    match = await begun(server)
    answer(late=True)
    moving = submit(server, "alice", match, "a", "1")
    await settle()
    await server.arbiter.matches.answer(match.id, Abort("org", "stop"))
    assert (await server.arbiter.matches.match(match.id)).phase is Phase.ENDED
    answer()
    refused: Any = await moving
    assert refused.reason is Reason.MATCH_NOT_ACTIVE


@virtually
async def test_rules_that_fail_end_their_match_with_a_note() -> None:
    server = InMemoryArbiter()
    match, other = await begun(server), await server.create(policy=AT_ONCE)
    answer(failed=True)
    receipt: Any = await submit(server, "alice", match, "a", "1")
    assert (receipt.result.reason, receipt.result.note) == (
        "arbiter_fault",
        "the rules of heap failed: no answer within 5000 ms",
    )
    assert (await submit(server, "alice", other, "b")).ply == 1


@virtually
async def test_a_match_whose_rules_are_late_after_a_start_goes_on_from_its_record() -> None:
    server = InMemoryArbiter()
    match = await begun(server, "1m")
    await submit(server, "alice", match, "a", "1")
    answer(late=True)
    await server.restart()
    moving = submit(server, "bob", match, "b", "2", 1)
    await asyncio.sleep(LATE_S)
    assert not moving.done()
    answer()
    receipt: Any = await moving
    assert receipt.ply == 2
    assert (await server.arbiter.matches.match(match.id)).moves == ("1", "2")
