"""The contract of stored web hooks, on every directory."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from arbiter.bootstrap.store import Store
from arbiter.service.ports.directory import Player
from arbiter.service.ports.web_hooks import WebHook

HOOK = WebHook("w1", "t1", "https://example.org", "whsec_x", "org", "r1", 5, 3)


async def test_a_web_hook_is_stored_once_for_a_request_and_counted(store: Store) -> None:
    hooks = store.directory.web_hooks
    assert await hooks.get("w1") is None
    assert await hooks.add(HOOK, 2) == HOOK
    assert await hooks.add(replace(HOOK, hook_id="w9"), 2) == HOOK
    second = replace(HOOK, hook_id="w2", request_id="r2")
    assert await hooks.add(second, 2) == second
    assert await hooks.add(replace(HOOK, hook_id="w3", request_id="r3"), 2) is None
    other = replace(HOOK, hook_id="w4", tournament_id="t2", creator="eve")
    assert await hooks.add(other, 2) == other
    assert await hooks.of_tournament("t1") == [HOOK, second]
    assert await hooks.active() == [HOOK, second, other]
    await hooks.remove("w1")
    await hooks.remove("w1")
    assert await hooks.get("w1") is None
    assert await hooks.get("w2") == second


async def test_progress_is_stored_only_on_the_progress_that_was_read(store: Store) -> None:
    hooks = store.directory.web_hooks
    await hooks.add(HOOK, 1)
    tried = replace(HOOK, tries=1, due_ms=50)
    assert sorted(await asyncio.gather(*(hooks.change(tried, HOOK) for _ in range(4)))) == [False, False, False, True]
    assert await hooks.get("w1") == tried
    failed = replace(tried, due_ms=70, error="no answer")
    assert not await hooks.change(failed, HOOK)
    assert await hooks.change(failed, tried)
    assert [await hooks.due(now) for now in (69, 70)] == [[], [failed]]
    stopped = replace(failed, stopped=True)
    assert await hooks.change(stopped, failed)
    assert (await hooks.due(70), await hooks.active(), await hooks.of_tournament("t1")) == ([], [], [stopped])
    done = replace(HOOK, revision=4, delivered_ms=80)
    assert await hooks.change(done, stopped)
    assert (await hooks.due(99), await hooks.active()) == ([], [done])
    await hooks.remove("w1")
    assert not await hooks.change(tried, done)


async def test_those_to_which_nothing_is_delivered_any_more_are_found(store: Store) -> None:
    hooks = store.directory.web_hooks
    waits = replace(HOOK, hook_id="w2", request_id="r2", due_ms=99)
    told = replace(HOOK, hook_id="w3", request_id="r3", delivered_ms=20)
    for each in (HOOK, waits, told, replace(waits, hook_id="w4", request_id="r4", stopped=True)):
        assert await hooks.add(each, 9)
    for before, found in ((HOOK.created_ms, []), (20, ["w1", "w4"]), (21, ["w1", "w3", "w4"])):
        assert [each.hook_id for each in await hooks.unused_since(before)] == found


async def test_those_of_a_player_are_deleted_with_it(store: Store) -> None:
    hooks = store.directory.web_hooks
    await store.directory.add_player(Player("org", 1), None)
    await hooks.add(HOOK, 9)
    other = replace(HOOK, hook_id="w2", creator="eve")
    await hooks.add(other, 9)
    await store.directory.delete_player("org", "deleted-1")
    assert await hooks.active() == [other]
