"""Work that is not play takes its steps in turn, and leaves the event loop to play."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from arbiter.service import background
from arbiter.service.background import SENDING_S, SLACK_S, Background, TimeCharge
from arbiter.service.ports.journal import Append, Stored
from arbiter.testing.clock import VirtualLoop, virtually

STEP_S = 0.003


def loop() -> VirtualLoop:
    found = asyncio.get_running_loop()
    assert isinstance(found, VirtualLoop)
    return found


@pytest.fixture(autouse=True)
def processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a step take as much processor time as it takes of the virtual loop's time."""
    monkeypatch.setattr(background, "thread_time", lambda: asyncio.get_running_loop().time())


class Work:
    """Coroutines of some steps, each of which takes the event loop for a while."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, float]] = []

    async def of(self, name: str, steps: int, takes_s: float = STEP_S) -> str:
        for _ in range(steps):
            self.steps.append((name, loop().time()))
            loop().hold_up(takes_s)
            await asyncio.sleep(0)
        return name


async def play(until: Callable[[], bool]) -> None:
    """Take half a millisecond of each turn of the event loop."""
    while not until():
        loop().hold_up(0.0005)
        await asyncio.sleep(0)


@virtually
async def test_while_play_needs_the_event_loop_all_steps_get_their_part_of_it() -> None:
    turns, work = Background(25), Work()
    running = [asyncio.create_task(_run(turns, work, f"p{n}", 20)) for n in range(5)]
    await play(lambda: all(task.done() for task in running))
    begins = [at for _, at in work.steps]
    assert len(begins) == 100
    assert (begins[-1] - begins[0]) * 0.25 >= 99 * STEP_S - SLACK_S
    assert min(after - before for before, after in pairwise(begins[5:])) > 2 * STEP_S


@virtually
async def test_what_the_event_loop_does_besides_the_steps_counts_once_for_each_work() -> None:
    turns, work, charged = Background(25), Work(), list[float]()

    async def short() -> None:
        await turns.run(work.of("ann", 2, 0.0), "ann", charged.append, besides_s=STEP_S)

    running = [asyncio.create_task(short()) for _ in range(20)]
    await play(lambda: all(task.done() for task in running))
    took_s = work.steps[-1][1] - work.steps[0][1]
    assert 19 * STEP_S - SLACK_S <= took_s * 0.25 <= 25 * STEP_S
    assert sum(charged) == 0


@virtually
async def test_a_step_counts_as_long_as_it_keeps_the_event_loop_and_its_caller_pays_for_the_processor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(background, "thread_time", lambda: 0.0)  # other programs have the processor
    turns, work, charged = Background(25), Work(), list[float]()
    running = asyncio.ensure_future(_awaited(turns.run(work.of("ann", 20), "ann", charged.append)))
    await play(running.done)
    assert (work.steps[-1][1] - work.steps[0][1]) * 0.25 >= 19 * STEP_S - SLACK_S
    assert sum(charged) == 0


@virtually
async def test_work_that_has_a_turn_waits_for_no_other_one() -> None:
    turns = Background(25)

    async with asyncio.timeout(1):
        await turns.run(turns.spend("ann", STEP_S), "ann")
        await turns.spend("ann", STEP_S)


@virtually
async def test_functions_are_steps_too_and_take_turns_with_others() -> None:
    turns, work, called = Background(25), Work(), list[float]()

    def again() -> None:
        called.append(loop().time())
        loop().hold_up(STEP_S)
        if len(called) < 10:
            turns.call("bob", again)

    turns.call("bob", again)
    assert not called
    running = asyncio.create_task(_run(turns, work, "ann", 10))
    await play(lambda: running.done() and len(called) == 10)
    begins = sorted(called + [at for _, at in work.steps])
    assert (begins[-1] - begins[0]) * 0.25 >= 19 * STEP_S - SLACK_S
    assert sum(at < called[4] for _, at in work.steps) in (3, 4, 5)


@virtually
async def test_a_function_that_fails_holds_nobody_up() -> None:
    turns, work = Background(25), Work()
    failed = list[dict[str, object]]()
    loop().set_exception_handler(lambda _, context: failed.append(context))

    def fail() -> None:
        raise LookupError("gone")

    turns.call("bob", fail)
    async with asyncio.timeout(60):
        assert await _run(turns, work, "ann", 3) == "ann"
    assert len(failed) == 1


@virtually
async def test_where_nothing_else_is_to_be_done_steps_follow_each_other() -> None:
    turns, work = Background(25), Work()
    await asyncio.gather(*(_run(turns, work, f"p{n}", 20) for n in range(5)))
    begins = [at for _, at in work.steps]
    assert begins[-1] - begins[0] == pytest.approx(99 * STEP_S)


@virtually
async def test_while_a_move_is_stored_and_sent_steps_get_no_more_than_their_part_of_an_idle_event_loop() -> None:
    turns, work, settle, answered = Background(25), Work(), list[Stored](), list[int]()

    async def took_s(step_s: float) -> float:
        work.steps.clear()
        await asyncio.gather(*(turns.run(work.of(f"p{n}", 2, step_s), f"p{n}") for n in range(4)))
        return work.steps[-1][1] - work.steps[0][1]

    append_then = turns.after_play(lambda _, then: settle.append(then))
    append_then(Append(()), lambda last, _: answered.append(last))
    assert await took_s(STEP_S) * 0.25 >= 7 * STEP_S - SLACK_S
    settle[0](7, None)
    assert answered == [7]
    assert await took_s(SENDING_S / 8) > SENDING_S
    assert await took_s(STEP_S) == pytest.approx(7 * STEP_S)


@virtually
async def test_names_take_turns_however_much_work_each_has() -> None:
    turns, work = Background(25), Work()
    await asyncio.gather(*(_run(turns, work, "eve", 1) for _ in range(30)), _run(turns, work, "ann", 3))
    assert [name for name, _ in work.steps].index("ann") <= 2
    assert [number for number, (name, _) in enumerate(work.steps) if name == "ann"][-1] <= 8


@virtually
async def test_results_failures_and_cancellations_pass_through() -> None:
    turns, work, seen = Background(25), Work(), list[str]()

    async def failing() -> None:
        await asyncio.sleep(0)
        raise LookupError("gone")

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    assert await turns.run(work.of("ann", 2), "ann") == "ann"
    with pytest.raises(LookupError, match="gone"):
        await turns.run(failing(), "ann")
    waiting = asyncio.ensure_future(_awaited(turns.run(endless(), "ann")))
    await asyncio.sleep(0.1)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert seen == ["cancelled"]
    assert await turns.run(work.of("ben", 1), "ben") == "ben"


@virtually
async def test_work_that_leaves_while_it_waits_or_has_just_got_its_turn_holds_nobody_up() -> None:
    turns = Background(25)
    await turns.turn("ann")
    waiting = [asyncio.create_task(turns.turn(name)) for name in ("ben", "cat", "dan")]
    await asyncio.sleep(0)
    waiting[0].cancel()
    turns.done(0.0)
    await asyncio.wait(waiting[1:], return_when=asyncio.FIRST_COMPLETED)
    turns.done(0.0)
    await asyncio.gather(*waiting[1:])


@virtually
async def test_work_within_work_is_a_part_of_it_and_a_task_of_its_own_is_not() -> None:
    turns, work = Background(25), Work()

    async def outer() -> str:
        inner = await turns.run(work.of("inner", 3), "ann")
        return inner + await asyncio.create_task(_run(turns, work, "task", 3))

    async with asyncio.timeout(60):
        assert await turns.run(outer(), "ann") == "innertask"


@virtually
async def test_all_of_the_time_for_all_that_is_there() -> None:
    turns, work = Background(100), Work()
    running = [asyncio.create_task(_run(turns, work, f"p{n}", 20)) for n in range(5)]
    await play(lambda: all(task.done() for task in running))
    begins = [at for _, at in work.steps]
    assert max(after - before for before, after in pairwise(begins)) <= STEP_S + 0.0011


@virtually
async def test_what_is_paid_for_afterwards_waits_for_as_long() -> None:
    turns, began = Background(25), loop().time()
    players = asyncio.create_task(play(lambda: loop().time() > began + 10))
    for _ in range(10):
        await turns.spend("ann", 0.1)
    assert loop().time() - began >= 9 * 0.4 - SLACK_S
    players.cancel()
    await asyncio.gather(players, return_exceptions=True)


def test_time_is_charged_in_whole_uses_and_the_rest_is_kept() -> None:
    charged: list[int] = []
    charge = TimeCharge(10, charged.append)
    for _ in range(5):
        charge(0.009)
    charge(0.1)
    assert (charged, sum(charged)) == ([1, 1, 1, 1, 10], 14)


async def _run(turns: Background, work: Work, name: str, steps: int) -> str:
    return await turns.run(work.of(name, steps), name)


async def _awaited(work: Awaitable[object]) -> None:
    await work
