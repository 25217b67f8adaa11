"""The pool of rules workers: deadlines, memory, fair turns, and failures."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.service.ports.rules import Listing
from arbiter.workers.rules_pool import WORKER, RulesPool
from tests.plugins.installed import installed
from tests.workers.children import workers

pytestmark = pytest.mark.long

# Frogs and tadpoles wherever the frog on c4 can hop over them: 3,457,559 paths, which take about two seconds.
HOSTILE = ("hop-it(duty=none)", "F.T.T_/FTTTTTF/_T.T.F/FTTTTTF/F.TFT_/FTTTTTF/_t.t.F 1 0")

# The same from d3 with enemies that force no hop: 228,119 paths.
LONG = ("hop-it(duty=none)", "FTTTTF/F.T.T.F/FTTTTF/_TFT.T_/FTTTTF/F.T.T.F/FttTTF 1 0")


@asynccontextmanager
async def pool(workers: int = 1, **limits: int) -> AsyncIterator[RulesPool]:
    running = RulesPool(Limits(**limits), workers)
    await running.warm()
    try:
        yield running
    finally:
        await running.close()


async def test_a_warm_pool_has_a_process_that_waits_for_jobs_and_a_second_one_starts_beside_it() -> None:
    rules = RulesPool(Limits(rules_ms=60_000), 2)
    try:
        await asyncio.gather(rules.warm(), rules.warm())
        assert len(workers(WORKER)) == 1
        await asyncio.gather(*(moves(rules, "pods", caller=str(number)) for number in range(2)))
        assert len(workers(WORKER)) == 2
        await rules.warm()
    finally:
        await rules.close()


async def test_a_pool_without_processes_is_as_warm_as_it_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = RulesPool(Limits(), 1)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    try:
        await rules.warm()
        assert (await refusal(moves(rules, "pods"))).reason is Reason.RATE_LIMITED
    finally:
        await rules.close()


async def test_a_line_of_play_has_at_most_as_many_moves_as_the_settings_say() -> None:
    async with pool(line_moves=2) as rules:
        for line in (("a1", "e3"), ("a1", "e3", "b1")):
            work = rules.legal_moves("bob", "pods(size=3)", "", line, steps=False)
            if len(line) == 2:
                await work
            else:
                assert (await refusal(work)).reason is Reason.ARGUMENT_INVALID


async def moves(rules: RulesPool, variant: str, position: str = "", caller: str = "bob") -> Listing:
    return await rules.legal_moves(caller, variant, position, (), steps=False)


async def refusal(work: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        await work
    return caught.value


def texts(listing: Listing) -> list[str]:
    return [move.text for chunk in listing.chunks for move in chunk]


def middle_game(variant: str, plies: int) -> list[str]:
    """Return a line of play: at each ply any move of the list, preferably one on a single cell."""
    game = registry.game(variant)
    position, line = game.initial(), list[str]()
    while len(line) < plies:
        every = game.moves(position)
        legal = [move for move in every if "-" not in move] or every
        line.append(legal[7_919 * (len(line) + 1) % len(legal)])
        position = game.play(position, line[-1])
    return line


async def test_a_deadline_ends_the_work_and_the_next_request_is_served() -> None:
    async with pool(rules_ms=1_000) as rules:
        for _ in range(2):
            spent = await refusal(moves(rules, *HOSTILE))
            assert spent.reason is Reason.BUDGET_SPENT
            assert spent.facts == {"limit": "longer than 1000 ms", "retry_after_ms": "0"}
        assert (await moves(rules, "pods")).total == 126


async def test_work_that_outgrows_the_memory_is_refused_and_the_next_request_is_served() -> None:
    async with pool(rules_ms=60_000, rules_memory_bytes=134_217_728) as rules:
        spent = await refusal(moves(rules, *HOSTILE))
        assert spent.reason is Reason.BUDGET_SPENT
        assert "mem" in spent.message or "worker process" in spent.message
        assert (await moves(rules, "hop-it")).total == 30


async def test_packages_whose_import_hangs_or_ends_the_process_cost_only_requests_that_name_them(
    tmp_path: Path,
) -> None:
    with installed(tmp_path, ("hanging", "dying")):
        async with pool(rules_ms=2_000) as rules:
            for name in ("hanging", "dying"):
                assert (await refusal(moves(rules, name))).reason is Reason.BUDGET_SPENT
                assert (await moves(rules, "hop-it")).total == 30


async def test_more_moves_than_an_answer_holds_are_refused() -> None:
    async with pool(rules_ms=60_000) as rules:
        spent = await refusal(moves(rules, *LONG))
        assert spent.reason is Reason.BUDGET_SPENT
        assert spent.facts["limit"] == "200000"
        assert "228119" in spent.message


@pytest.mark.parametrize(("variant", "plies", "least"), [("elevation", 0, 1_150), ("pods", 43, 300)])
async def test_long_lists_are_complete_in_chunks_in_bytewise_order(variant: str, plies: int, least: int) -> None:
    line = middle_game(variant, plies)
    game = registry.game(variant)
    position = game.initial()
    for move in line:
        position = game.play(position, move)
    async with pool(chunk_moves=40) as rules:
        listing = await rules.legal_moves("bob", variant, "", line, steps=True)
        chunks = [list(chunk) for chunk in listing.chunks]
    listed = [move.text for chunk in chunks for move in chunk]
    assert listed == sorted(game.moves(position), key=str.encode)
    assert listing.total == len(listed) >= least
    assert listing.position == game.text(position)
    assert all(len(chunk) == 40 for chunk in chunks[:-1])
    assert 0 < len(chunks[-1]) <= 40
    assert all(move.steps for chunk in chunks for move in chunk)


async def test_a_caller_with_many_requests_delays_others_by_no_more_than_the_running_job() -> None:
    done: list[str] = []

    async def ask(rules: RulesPool, caller: str, name: str) -> None:
        await rules.legal_moves(caller, "elevation", "", (), steps=False)
        done.append(name)

    async with pool() as rules, asyncio.TaskGroup() as group:
        for n in range(6):
            group.create_task(ask(rules, "heavy", f"heavy {n}"))
        await until(lambda: rules.busy == 1)  # the first of them is running
        group.create_task(ask(rules, "small", "small"))
        group.create_task(ask(rules, "third", "third"))
    assert done == ["heavy 0", "small", "third", *(f"heavy {n}" for n in range(1, 6))]


async def test_a_caller_has_one_job_running_while_another_worker_is_free_for_others() -> None:
    async with pool(workers=2, rules_ms=60_000) as rules:
        heavy = [asyncio.create_task(moves(rules, *HOSTILE, caller="heavy")) for _ in range(3)]
        assert (await moves(rules, "pods", caller="small")).total == 126
        assert not any(task.done() for task in heavy)
        await cancelled(heavy)


async def until(so: Callable[[], bool]) -> None:
    """Run other tasks until a condition holds."""
    while not so():  # noqa: ASYNC110 - a few turns of the loop, and no time
        await asyncio.sleep(0)


async def cancelled(tasks: Sequence[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    for ended in await asyncio.gather(*tasks, return_exceptions=True):
        assert isinstance(ended, asyncio.CancelledError)


async def waiting(rules: RulesPool, caller: str, count: int) -> list[asyncio.Task[Any]]:
    """Stop the worker, have a caller make a request, and then `count` more that wait for it."""
    await moves(rules, "pods", caller=caller)  # the worker has started
    (worker,) = workers(WORKER)
    os.kill(worker, signal.SIGSTOP)
    tasks: list[asyncio.Task[Any]] = [asyncio.create_task(moves(rules, *LONG, caller=caller))]
    await until(lambda: rules.busy == 1)
    tasks += [asyncio.create_task(moves(rules, "pods", caller=caller)) for _ in range(count)]
    await until(lambda: rules.waiting == count)
    return tasks


def go_on() -> None:
    """Let the stopped workers go on."""
    for worker in workers(WORKER):
        os.kill(worker, signal.SIGCONT)


@pytest.mark.long
async def test_a_caller_with_too_many_requests_waiting_is_refused_and_others_are_not() -> None:
    async with pool(rules_waiting=3, rules_ms=60_000) as rules:
        tasks = await waiting(rules, "bob", 3)
        limited = await refusal(moves(rules, "pods", caller="bob"))
        assert limited.reason is Reason.RATE_LIMITED
        assert limited.facts == {"limit": "3", "retry_after_ms": "60000"}
        other = asyncio.create_task(moves(rules, "pods", caller="alice"))
        go_on()
        assert (await other).total == 126
        assert [listing.total for listing in await asyncio.gather(*tasks[1:])] == [126] * 3
        assert (await refusal(tasks[0])).reason is Reason.BUDGET_SPENT  # far more moves than an answer holds


@pytest.mark.long
async def test_the_requests_of_all_callers_together_are_bounded_too() -> None:
    async with pool(rules_waiting=3, rules_waiting_in_all=4, rules_ms=60_000) as rules:
        tasks = await waiting(rules, "bob", 3)
        tasks.append(asyncio.create_task(moves(rules, "pods", caller="alice")))
        await asyncio.sleep(0)  # it is one of the waiting ones now
        assert rules.waiting == 4
        limited = await refusal(moves(rules, "pods", caller="carol"))
        assert limited.reason is Reason.RATE_LIMITED
        assert limited.facts == {"limit": "4", "retry_after_ms": "60000"}
        await cancelled(tasks)
        assert rules.waiting == 0
        go_on()
        assert (await moves(rules, "pods", caller="carol")).total == 126


@pytest.mark.long
async def test_cancelled_requests_do_not_count() -> None:
    async with pool(rules_waiting=3, rules_ms=60_000) as rules:
        tasks = await waiting(rules, "bob", 3)
        await cancelled(tasks[1:])
        assert rules.waiting == 0
        go_on()
        again = [asyncio.create_task(moves(rules, "pods", caller="bob")) for _ in range(3)]
        assert [listing.total for listing in await asyncio.gather(*again)] == [126] * 3
        await refusal(tasks[0])


async def test_a_worker_is_started_for_a_job_if_no_other_one_is_free() -> None:
    rules = RulesPool(Limits(rules_ms=60_000), 2)
    try:
        for _ in range(2):
            await moves(rules, "pods")
            assert len(workers(WORKER)) == 1
        heavy = asyncio.create_task(moves(rules, *HOSTILE, caller="heavy"))
        await until(lambda: rules.busy == 1)
        assert (await moves(rules, "pods", caller="small")).total == 126
        assert len(workers(WORKER)) == 2
        assert not heavy.done()
        await cancelled([heavy])
    finally:
        await rules.close()


async def test_a_failure_of_the_rules_code_is_no_refusal_and_stops_no_worker() -> None:
    async with pool() as rules:
        for _ in range(2):
            with pytest.raises(RuntimeError, match=r"(?s)a rules worker failed:.*TypeError"):
                await moves(rules, "pods", cast("str", 7))
        assert (await moves(rules, "pods")).total == 126


async def test_an_idle_worker_that_died_is_replaced() -> None:
    async with pool() as rules:
        await moves(rules, "pods")
        (worker,) = workers(WORKER)
        os.kill(worker, signal.SIGKILL)
        await asyncio.to_thread(os.waitid, os.P_PID, worker, os.WEXITED | os.WNOWAIT)
        assert (await moves(rules, "pods")).total == 126
        (new,) = workers(WORKER)
        assert new != worker
    assert not workers(WORKER)


async def test_without_a_process_requests_are_refused_and_served_once_there_is_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with pool(rules_ms=1_000) as rules:
        await refusal(moves(rules, *HOSTILE))  # the worker is gone
        with monkeypatch.context() as broken:
            broken.setattr(sys, "executable", "/none/python")
            for _ in range(2):
                limited = await refusal(moves(rules, "pods"))
                assert limited.reason is Reason.RATE_LIMITED
                assert "No such file" in limited.message
        with monkeypatch.context() as broken:
            broken.setattr(sys, "executable", "/bin/false")  # it starts, and ends at once
            assert (await refusal(moves(rules, "pods"))).reason is Reason.RATE_LIMITED
        assert (await moves(rules, "pods")).total == 126


async def test_closing_refuses_running_waiting_and_later_jobs() -> None:
    rules = RulesPool(Limits(rules_ms=60_000), 1)
    await rules.warm()
    tasks = await waiting(rules, "bob", 2)
    await rules.close()
    for ended in await asyncio.gather(*tasks, return_exceptions=True):
        assert isinstance(ended, Refusal)
        assert ended.reason is Reason.DRAINING
    assert (await refusal(moves(rules, "pods"))).reason is Reason.DRAINING
