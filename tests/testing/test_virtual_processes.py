"""Several processes in one event loop: each can be killed between any two steps, stopped, and continued."""

from __future__ import annotations

import asyncio

from arbiter.testing.virtual_processes import WORLD, Process, end_all, run_processes


async def count(to: list[float]) -> None:
    """Note the time ten times a second."""
    while True:
        await asyncio.sleep(0.1)
        to.append(round(asyncio.get_running_loop().time(), 3))


def started(process: Process, to: list[float]) -> asyncio.Task[None]:
    return asyncio.create_task(count(to), context=process.context)


def test_nothing_of_a_dead_process_runs_and_others_go_on() -> None:
    async def main() -> None:
        one, other = Process(), Process()
        ones, others = list[float](), list[float]()
        tasks = [started(one, ones), started(other, others)]
        await asyncio.sleep(0.35)
        one.kill()
        assert one.is_dead
        await one.died
        await asyncio.sleep(1)
        assert (len(ones), len(others)) == (3, 13)
        await end_all([one, other])
        assert all(task.cancelled() for task in tasks)

    run_processes(main())


def test_a_process_dies_between_two_of_its_steps() -> None:
    async def main() -> None:
        process, steps = Process(), list[int]()

        async def work() -> None:
            for number in range(10):
                steps.append(number)
                await asyncio.sleep(0)

        task = asyncio.create_task(work(), context=process.context)
        process.kill_after(4)
        await process.died
        await asyncio.sleep(1)
        assert steps == [0, 1, 2, 3]
        await end_all([process])
        assert task.cancelled()

    run_processes(main())


def test_a_stopped_process_does_later_in_order_what_was_due_and_not_what_it_cancels_then() -> None:
    async def main() -> None:
        process, done = Process(), list[str]()
        loop = asyncio.get_running_loop()

        def first() -> None:
            done.append("first")
            later.cancel()

        loop.call_later(0.2, first, context=process.context)
        later = loop.call_later(0.3, done.append, "cancelled by the first", context=process.context)
        loop.call_later(0.4, done.append, "last", context=process.context)
        loop.call_later(0.5, done.append, "the world's", context=WORLD)
        process.stop()
        assert not process.runs
        await asyncio.sleep(1)
        assert done == ["the world's"]
        process.go_on()
        await asyncio.sleep(0.01)
        assert done == ["the world's", "first", "last"]
        process.kill()
        process.go_on()
        assert process.is_dead
        await end_all([process])

    run_processes(main())
