"""Many readers of the same events: few are woken at a time, in turn, and each gets all events published by then."""

from __future__ import annotations

import asyncio

from arbiter.service.background import SLACK_S, Background
from arbiter.service.observing.fanout import AT_ONCE, Subscription, WakeOrder
from arbiter.testing.clock import VirtualLoop, settle, virtually

MANY = 5 * AT_ONCE
MOST = 10  #: items that wait for a reader of these tests
IDLE_S = 60.0
RATE = 1_000  #: messages a second to the readers of one player


class Readers:
    """Readers that record, in one list, which of them has taken which items."""

    def __init__(self, count: int, player: str = "", turns: WakeOrder | None = None) -> None:
        turns = turns or WakeOrder(RATE, Background(100))
        self.taken: list[tuple[int, list[str]]] = []
        self._has_taken = asyncio.Event()
        self.subscriptions = [Subscription[str](turns, player, MOST, IDLE_S) for _ in range(count)]
        self.tasks = [asyncio.create_task(self._read(n)) for n in range(count)]

    async def _read(self, n: int) -> None:
        while await self.subscriptions[n].wait():
            self.taken.append((n, self.subscriptions[n].take()))
            self._has_taken.set()

    def put(self, item: str) -> None:
        """Add an item for all readers."""
        for subscription in self.subscriptions:
            subscription.put(item)

    async def some(self) -> int:
        """Wait until a reader has taken an item; return how many have."""
        before = len(self.taken)
        self._has_taken.clear()
        await self._has_taken.wait()
        return len(self.taken) - before


@virtually
async def test_other_tasks_run_after_every_few_readers() -> None:
    readers = Readers(MANY)
    await settle()
    readers.put("a")
    assert [await readers.some() for _ in range(MANY // AT_ONCE)] == [AT_ONCE] * (MANY // AT_ONCE)
    assert readers.taken == [(n, ["a"]) for n in range(MANY)]


@virtually
async def test_items_added_meanwhile_reach_all_after_as_many_messages_as_there_are_readers() -> None:
    readers = Readers(MANY)
    await settle()
    readers.put("a")
    had = await readers.some()
    readers.put("b")
    await settle()
    together = [(n, ["a", "b"]) for n in range(had, MANY)]
    assert readers.taken[had:] == together + [(n, ["b"]) for n in range(had)]


@virtually
async def test_a_reader_that_finds_an_item_at_once_waits_for_its_turn_nevertheless() -> None:
    turns = WakeOrder(RATE, Background(100))
    *others, busy = [Subscription[str](turns, "", MOST, IDLE_S) for _ in range(AT_ONCE + 1)]
    waits = [other.wait() for other in others]
    for each in (busy, *others):
        each.put("a")
    waits.append(busy.wait())
    await asyncio.sleep(0)
    assert [wait.done() for wait in waits] == [True] * AT_ONCE + [False]
    await settle()
    assert waits[-1].result()


@virtually
async def test_items_beyond_the_limit_are_dropped_and_the_reader_can_see_it() -> None:
    subscription = Subscription[int](WakeOrder(RATE, Background(100)), "", MOST, IDLE_S)
    for n in range(MOST):
        subscription.put(n)
    before = subscription.overrun
    subscription.put(MOST)
    assert (before, subscription.overrun) == (False, True)
    assert await subscription.wait()
    assert subscription.take() == list(range(MOST))
    assert subscription.take() == []


@virtually
async def test_quiet_items_come_with_the_next_one_or_when_half_as_many_wait_as_may() -> None:
    subscription = Subscription[int](WakeOrder(RATE, Background(100)), "", MOST, IDLE_S)
    for last_is_quiet, items in ((False, 3), (True, MOST // 2 + 1)):
        waiting = subscription.wait()
        for n in range(items - 1):
            subscription.put(n, quiet=True)
        await settle()
        assert not waiting.done()
        subscription.put(items - 1, quiet=last_is_quiet)
        assert await waiting
        assert subscription.take() == list(range(items))


@virtually
async def test_a_wait_without_items_has_a_time_limit_from_its_beginning() -> None:
    subscription = Subscription[str](WakeOrder(RATE, Background(100)), "", MOST, IDLE_S)
    now = asyncio.get_running_loop().time
    first = asyncio.ensure_future(subscription.wait())
    await asyncio.sleep(IDLE_S / 2)
    subscription.put("a")
    assert await first
    assert subscription.take() == ["a"]
    began = now()
    assert not await subscription.wait()
    assert now() - began >= IDLE_S
    subscription.close()


@virtually
async def test_a_reader_that_has_left_does_not_block_the_others() -> None:
    readers = Readers(MANY)
    await settle()
    readers.put("a")
    for n in range(0, MANY, 2):
        readers.tasks[n].cancel()
        readers.subscriptions[n].close()
    await settle()
    assert readers.taken == [(n, ["a"]) for n in range(1, MANY, 2)]


@virtually
async def test_the_readers_of_one_player_share_its_rate_and_others_do_not_wait() -> None:
    turns = WakeOrder(RATE, Background(100))
    many, other = Readers(2 * RATE // 10, "eve", turns), Readers(AT_ONCE, "ann", turns)
    await settle()
    for item in "abc":
        many.put(item)
        other.put(item)
        await settle()
    assert len(other.taken) == 3 * AT_ONCE
    assert len(many.taken) == RATE // 10  # as many as may be sent in a tenth of a second
    began = asyncio.get_running_loop().time()
    while sum(len(items) for _, items in many.taken) < 3 * len(many.tasks):
        await many.some()
    assert asyncio.get_running_loop().time() - began >= 0.1
    assert len(many.taken) < 3 * len(many.tasks)  # the waiting items arrived in one message
    for n in range(len(many.tasks)):
        assert [item for number, items in many.taken for item in items if number == n] == ["a", "b", "c"]


@virtually
async def test_readers_of_each_player_are_woken_in_turn_however_many_one_has() -> None:
    turns = WakeOrder(RATE, Background(100))
    many, other = Readers(MANY, "eve", turns), Readers(2, "ann", turns)
    other.taken = many.taken
    await settle()
    for readers in (many, other):
        readers.put("a")
    await settle()
    assert [n for n, _ in many.taken] == [0, 0, 1, 1, *range(2, MANY)]


@virtually
async def test_while_play_needs_the_event_loop_readers_get_the_part_of_the_background() -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    turns, woken = WakeOrder(1_000_000, Background(25)), list[float]()
    subscriptions = [Subscription[str](turns, "", MOST, IDLE_S) for _ in range(MANY)]

    def wake(_: bool) -> None:
        woken.append(loop.time())
        loop.hold_up(0.001)

    for subscription in subscriptions:
        subscription.call_with_items(wake)
        subscription.put("a")
    while len(woken) < MANY:  # play takes half a millisecond of each turn of the event loop
        loop.hold_up(0.0005)
        await asyncio.sleep(0)
    assert (woken[-1] - woken[0]) * 0.25 >= 0.001 * (MANY - AT_ONCE) - SLACK_S


@virtually
async def test_another_message_of_taken_items_counts_as_one() -> None:
    """A reader that has taken many items gets them in several messages, all of which count for its player's rate."""
    now = asyncio.get_running_loop().time
    subscription = Subscription[str](WakeOrder(10, Background(100)), "anna", MOST, IDLE_S)
    subscription.put("a")
    began = now()
    assert await subscription.wait()
    for _ in range(3):
        assert await subscription.turn()
    assert now() - began >= 0.29
    subscription.close()
