"""What a server removes, or moves to the archive, by itself: see `arbiter.config.Retention`."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import Final, NoReturn

from arbiter.bootstrap.store import Store
from arbiter.config import Settings
from arbiter.service.ports.environment import Clock
from arbiter.service.ports.journal import StoreFailed
from arbiter.service.ports.log import Logger

FIRST_S: Final = 60.0  #: after the start of a server: it has other work then
EVERY_S: Final = 6 * 3_600.0
DAY_MS: Final = 86_400_000


async def keep_tidy(settings: Settings, store: Store, clock: Clock, log: Logger) -> NoReturn:
    """Remove what is old enough, again and again. Servers that share a store may do so at the same time."""
    await asyncio.sleep(FIRST_S)
    while True:
        await _tidy(settings, store, clock.now_ms(), log)
        await asyncio.sleep(EVERY_S)


async def _tidy(settings: Settings, store: Store, now_ms: int, log: Logger) -> None:
    retention = settings.retention
    kept = (retention.tokens_days, retention.challenges_days, retention.sessions_days, retention.web_hooks_days)
    tokens, challenges, sessions, hooks = (now_ms - days * DAY_MS if days else 0 for days in kept)
    over = now_ms - settings.limits.session_idle_ms  # sessions that were not used since then
    try:
        removed = await store.directory.forget(tokens, challenges, min(sessions, over))
        removed += await _forget_web_hooks(store, hooks)
    except StoreFailed as failure:
        log.warning("not_tidied", error=failure.message)
    else:
        if removed:
            log.info("tidied", removed=removed)
    if retention.matches_days:
        await _archive(settings, retention.matches_days, log)


async def _forget_web_hooks(store: Store, before_ms: int) -> int:
    """Remove the web hooks of tournaments that ended before an instant, and of which nothing was delivered since."""
    hooks, removed = store.directory.web_hooks, 0
    for hook in await hooks.unused_since(before_ms):
        tournament = await store.journal.tournament_summary(hook.tournament_id)
        if tournament is not None and 0 < tournament.ended_ms < before_ms:
            await hooks.remove(hook.hook_id)
            removed += 1
    return removed


async def _archive(settings: Settings, days: int, log: Logger) -> None:
    """Move old matches to the archive, in a process that delays no player. It ends with this task."""
    # The address of the store may hold a password, which no command line may show.
    environment = {**os.environ, "ARBITER_STORE": settings.store, "ARBITER_KEYS": str(settings.key_ring)}
    process = subprocess.Popen(  # noqa: ASYNC220 - as in `arbiter.workers.worker`
        ["nice", sys.executable, "-m", "arbiter", "archive", "--days", str(days)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        start_new_session=True,
    )
    try:
        said, _ = await asyncio.to_thread(process.communicate)
    except asyncio.CancelledError:
        process.kill()  # each of its transactions is complete in itself
        raise
    line = (said.decode(errors="replace").strip().splitlines() or [""])[-1]
    if process.returncode:
        log.error("not_archived", code=process.returncode, said=line)
    else:
        log.info("archived", said=line)
