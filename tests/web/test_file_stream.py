"""Files of records are sent as they are read: at the browser's pace, and never as whole files that are not whole."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, cast

import httpx
import pytest

from arbiter.bootstrap.world import World
from arbiter.config import Settings
from arbiter.runtime.loopback import free_port
from arbiter.service.gate.gate import Gate
from arbiter.service.ports.journal import Subject
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.testing.memory import MemoryJournal
from arbiter.testing.served import memory_world, served
from arbiter.tournaments import commands as do
from arbiter.tournaments.spec import Format, Spec
from arbiter.web.application import application
from tests.web.site import played, site

WAIT_S: Final = 240
ENTRANTS: Final = 230  #: so many events that a log has several parts


async def tournament_log(tournaments: Any) -> tuple[str, str]:
    """Return the id of a tournament of many events, and the path of its file."""
    made = await tournaments.create(Spec("Cup", Format.ROUND_ROBIN, ("hop-it",), "1s"), "org", "make")
    for number in range(ENTRANTS):
        await tournaments.act(made.id, do.Enter(f"p{number}", "org", f"enter {number}"))
    return made.id, f"/tournaments/{made.id}/tournament.log"


async def long_tournament(server: InMemoryArbiter) -> tuple[str, str]:
    return await tournament_log(server.arbiter.tournaments)


async def long_match(server: InMemoryArbiter) -> tuple[str, str]:
    match = await played(server, "pods", 70, offers=True)
    return match.id, f"/matches/{match.id}/transcript.jsonl"


LONG: Final[dict[str, Callable[[InMemoryArbiter], Awaitable[tuple[str, str]]]]] = {
    "tournament": long_tournament,
    "match": long_match,
}
"""What makes a record of several parts; returns its id, and the path of its file."""


class Browser:
    """A browser that asks for a file, and takes one part at a time."""

    def __init__(self, gate: Gate, settings: Settings, path: str) -> None:
        self.taken: list[bytes] = []
        self.left = asyncio.Event()
        self._may_take = asyncio.Semaphore(0)
        self._waits = asyncio.Event()
        scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "query_string": b"",
            "headers": [],
            "scheme": "http",
            "client": ("192.0.2.1", 1),
            "server": ("page", 80),
            "root_path": "",
            "http_version": "1.1",
            "extensions": {},
        }
        self.task = asyncio.ensure_future(application(gate, settings)(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if message.get("body"):
            self._waits.set()
            await self._may_take.acquire()
            self.taken.append(message["body"])

    async def offered(self) -> None:
        """Wait until there is a part to take."""
        waits = asyncio.ensure_future(self._waits.wait())
        await asyncio.wait([waits, self.task], timeout=WAIT_S, return_when=asyncio.FIRST_COMPLETED)
        assert waits.done(), self.task

    def take(self) -> None:
        """Take the part that is offered."""
        self._waits.clear()
        self._may_take.release()


def counted(journal: MemoryJournal, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which the ids of the records are added that are read from now on, for each read."""
    reads: list[str] = []
    read = journal.read

    async def reading(id_: str, after: int = 0, most: int | None = None, subject: Subject = Subject.MATCH) -> Any:
        reads.append(id_)
        return await read(id_, after, most, subject)

    monkeypatch.setattr(journal, "read", reading)
    return reads


@pytest.mark.parametrize("kind", LONG)
async def test_no_part_is_read_before_the_one_before_it_is_taken(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with site(tmp_path) as here:
        id_, path = await LONG[kind](here.server)
        whole = (await here.get(path)).content
        journal = here.server.arbiter.tournament_files._journal
        reads = counted(cast("MemoryJournal", journal), monkeypatch)
        browser = Browser(here.gate, here.server.settings, path)
        for number in range(1, 3):
            await browser.offered()
            assert reads.count(id_) == number
            browser.take()
        await browser.offered()
        taken = b"".join(browser.taken)
        assert whole.startswith(taken)
        assert len(whole) > len(taken) > 0
        browser.left.set()
        browser.take()
        await asyncio.wait_for(browser.task, WAIT_S)
        assert reads.count(id_) == 3, "nothing is read for a browser that has left"
        assert here.gate.matches._streams.counts() == {}


@pytest.mark.long
@pytest.mark.parametrize("revision", [1, 120])
async def test_a_file_that_cant_be_read_to_its_end_is_no_answer_that_ends(
    revision: int, caplog: pytest.LogCaptureFixture
) -> None:
    @asynccontextmanager
    async def world(settings: Settings) -> AsyncIterator[World]:
        async with memory_world(settings) as built:
            journals.append(cast("MemoryJournal", built.store.journal))
            yield built

    journals: list[MemoryJournal] = []
    async with served(world, web=f"127.0.0.1:{free_port()}", public=True) as server, httpx.AsyncClient() as browser:
        id_, path = await tournament_log(server.running.arbiter.tournaments)
        address = server.running.page.rstrip("/") + path
        assert (await browser.get(address)).text.count("\n") == ENTRANTS + 1
        assert (await browser.head(address)).status_code == 200
        del journals[0]._of_match[id_][revision - 1 :]
        with caplog.at_level(logging.WARNING):
            if revision == 1:
                assert (await browser.get(address)).status_code == 500
            else:
                with pytest.raises(httpx.RemoteProtocolError):
                    await browser.get(address)
        assert [record.message for record in caplog.records] == []
        assert server.running.arbiter.streams.counts() == {}
