"""Files of tournaments: the last lines are made once, also for readers who leave."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from arbiter.service.tournaments import tournament_files
from arbiter.service.tournaments.tournament_files import TournamentFiles


class Tournaments:
    async def get(self, tournament_id: str) -> Any:
        return SimpleNamespace(id=tournament_id, revision=0, end="finished")


async def test_readers_who_leave_have_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on, made = asyncio.Event(), threading.Event(), list[str]()
    loop = asyncio.get_running_loop()

    def table(tournament: Any, _ratings: object) -> None:
        made.append(tournament.id)
        loop.call_soon_threadsafe(begun.set)
        go_on.wait()

    async def fitted(*_: object) -> None:
        pass

    for name, replaced in (("copied", lambda it: it), ("own_results", id), ("fitted", fitted), ("standings", table)):
        monkeypatch.setattr(tournament_files, name, replaced)
    monkeypatch.setattr(tournament_files, "ending", lambda *_: b"the end")
    given: Any = None
    files = TournamentFiles(given, Tournaments(), given, given)  # type: ignore[arg-type]  # the part that it uses

    async def read() -> list[bytes]:
        return [part async for part in files.parts("cup")]

    leaving = asyncio.create_task(read())
    await begun.wait()
    leaving.cancel()
    await asyncio.wait([leaving])
    staying = asyncio.create_task(read())
    for _ in range(5):
        await asyncio.sleep(0)
    go_on.set()
    assert await staying == [b"the end"]
    assert made == ["cup"]
