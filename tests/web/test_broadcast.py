"""Events are sent to all viewers: written once, merged, without a gap, however slow a browser is."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from arbiter.bootstrap.running_server import gate_of
from arbiter.bootstrap.store import Store
from arbiter.bootstrap.world import World
from arbiter.matches.commands import Play, Resign
from arbiter.matches.match import Match, Phase
from arbiter.matches.policy import ClockStart, Policy
from arbiter.service.ratings.rating_work import InProcessRating
from arbiter.service.tournaments.tournament_ports import InProcessPairing
from arbiter.testing.clock import settle, virtually
from arbiter.testing.guarantees import Received, kept, resumable
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.testing.memory import MemoryDirectory, MemoryJournal, NoKeys
from arbiter.web import broadcast
from arbiter.web.application import application
from arbiter.web.browser_connections import DIRECT
from arbiter.web.channels import Message

AT_ONCE = Policy(start=ClockStart.AT_ONCE)
EVENT = re.compile(rb"(?:id: (\d+)\n)?(?:event: (\w+)\n)?data:(.*)\n\n")


class Browser:
    """A browser that views a stream: its request, and the connection to which the answer is written."""

    def __init__(self, page: Page, path: str, last_id: str = "") -> None:
        self.received = b""
        self.writes: list[float] = []  # when each event was written
        self.is_behind = False
        self._reads = asyncio.Event()
        self._leaves = asyncio.Event()
        self._of_one = path.startswith("/matches/")
        self.task = asyncio.create_task(self._ask(page, path, last_id))

    async def _ask(self, page: Page, path: str, last_id: str) -> None:
        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "query_string": query.encode(),
            "headers": [(b"last-event-id", last_id.encode())] if last_id else [],
            "client": ("192.0.2.1", 1),
            "server": ("page", 80),
            "scheme": "http",
            "root_path": "",
            "http_version": "1.1",
            "extensions": {DIRECT: self},
        }
        await page.pages(scope, self._receive, self._send)

    async def _receive(self) -> dict[str, Any]:
        await self._leaves.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        self.received += message.get("body", b"")

    def write(self, message: Message) -> None:
        self.received += message.plain
        self.writes.append(asyncio.get_running_loop().time())

    async def drained(self) -> None:
        await self._reads.wait()

    def stop_reading(self) -> None:
        self.is_behind = True
        self._reads.clear()

    def read_on(self) -> None:
        self.is_behind = False
        self._reads.set()

    async def leave(self) -> None:
        self._leaves.set()
        await self.task

    @property
    def parts(self) -> list[tuple[int, str, dict[str, Any]]]:
        """Return what has been received: (id, kind, data)."""
        found = EVENT.findall(self.received)
        return [(int(id_ or 0), kind.decode(), json.loads(data or b"{}")) for id_, kind, data in found]

    @property
    def events(self) -> list[Received]:
        """Return the received events: by their ids, or in a stream of several matches the moves, by their revisions."""
        received = [(data, id_ if self._of_one else data["revision"]) for id_, _, data in self.parts if id_ and data]
        return [
            Received(data["match"], revision, b"%d" % revision)
            for data, revision in received
            if self._of_one or "move" in data
        ]


class Page:
    """The pages of an arbiter in memory, in virtual time."""

    def __init__(self, **limits: int) -> None:
        self.server = InMemoryArbiter(web="127.0.0.1:0", limits=limits)
        server, rules = self.server, self.server.rules
        store = Store(MemoryJournal(), MemoryDirectory())
        world = World(store, server.clock, server.ids, rules, rules, NoKeys(), InProcessPairing(), InProcessRating())
        self.pages = application(gate_of(server.settings, world, server.arbiter), server.settings)

    def of(self, match: Match, after: int = 0, **given: str) -> Browser:
        return Browser(self, f"/matches/{match.id}/events?after={after}", **given)

    async def move(self, match: Match) -> Match:
        matches = self.server.arbiter.matches
        match = await matches.match(match.id)
        line, now, seat = min(match.game.moves(match.position)), self.server.clock.now_ms(), match.turn
        await matches.request(
            match.players[seat - 1], match.id, lambda seat: Play(seat, f"m{match.ply}", match.ply, line, now)
        )
        return await matches.match(match.id)

    async def resign(self, match: Match) -> None:
        await self.server.arbiter.matches.act(match.id, Resign(1, "enough"))

    async def whole(self, match: Match) -> list[Received]:
        records = await self.server.journal.read(match.id)
        return [Received(match.id, record.revision, b"%d" % record.revision) for record in records]


@pytest.fixture(autouse=True)
def _in_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    async def at_once(work: Callable[..., Any], *given: Any) -> Any:
        return work(*given)

    monkeypatch.setattr(asyncio, "to_thread", at_once)  # there are no threads in virtual time


@virtually
async def test_events_in_quick_succession_are_sent_in_one_message() -> None:
    page = Page(page_updates_a_second=2)
    match = await page.server.create(policy=AT_ONCE)
    browser = page.of(match)
    await settle()
    while match.phase is not Phase.ENDED:
        match = await page.move(match)
        await asyncio.sleep(0.01)
        if match.ply == 60:
            await page.resign(match)
            break
    await browser.task
    gaps = [later - earlier for earlier, later in zip(browser.writes, browser.writes[1:], strict=False)]
    assert min(gaps) >= 0.5 - 1e-6
    assert len(browser.writes) <= 4
    kept(browser.events)
    resumable(await page.whole(match), [browser.events])
    assert browser.received.endswith(b"event: over\ndata:\n\n")


@virtually
async def test_the_first_event_after_a_while_is_sent_at_once() -> None:
    page = Page(page_updates_a_second=1)
    match = await page.server.create(policy=AT_ONCE)
    browser, loop = page.of(match), asyncio.get_running_loop()
    await settle()
    for _ in range(3):
        await asyncio.sleep(1.5)
        await page.move(match)
        await settle()
        assert loop.time() - browser.writes[-1] < 0.001
    await browser.leave()


@pytest.mark.long
@virtually
async def test_a_viewer_who_joins_during_play_misses_nothing() -> None:
    page = Page()
    match = await page.server.create(policy=AT_ONCE)
    browsers = {}
    for ply in range(20):
        for after in (0, match.revision // 2, match.revision):
            browsers[ply, after] = page.of(match, after)
        match = await page.move(match)
        if ply % 3 == 0:
            await settle()
        if ply % 4 == 0:
            await asyncio.sleep(0.03)
    await page.resign(match)
    whole = await page.whole(match)
    for (_, after), browser in browsers.items():
        await browser.task
        kept(browser.events, {match.id: after})
        resumable(whole, [whole[:after], browser.events])


@virtually
async def test_a_slow_browser_gets_missed_events_from_the_journal() -> None:
    page = Page()
    match = await page.server.create(policy=AT_ONCE)
    slow, quick = page.of(match), page.of(match)
    await settle()
    for ply in range(12):
        if ply == 3:
            slow.stop_reading()
        if ply == 8:
            assert len(slow.events) < len(quick.events)
            slow.read_on()
        match = await page.move(match)
        await asyncio.sleep(1)
    await page.resign(match)
    await asyncio.gather(slow.task, quick.task)
    for browser in (slow, quick):
        resumable(await page.whole(match), [browser.events])


@virtually
async def test_the_connection_of_a_browser_that_reads_nothing_is_closed() -> None:
    page = Page(silence_ms=7_000)
    match = await page.server.create(policy=AT_ONCE)
    browser = page.of(match)
    await settle()
    browser.stop_reading()
    match = await page.move(match)
    before = len(browser.received)
    await asyncio.wait_for(browser.task, 8)
    assert len(browser.received) == before


@virtually
async def test_a_grid_receives_only_its_matches_and_resumes_after_the_last_id() -> None:
    page = Page()
    ours, other, third = [await page.server.create(policy=AT_ONCE) for _ in range(3)]
    path = f"/live?match={ours.id}&match={third.id}"
    first = Browser(page, path)
    await asyncio.sleep(1)
    for match in (ours, other, third, other, ours):
        await page.move(match)
        await asyncio.sleep(1)
    await first.leave()
    for match in (ours, other, third):
        await page.move(match)
    again = Browser(page, path, last_id=str(first.parts[-1][0]))
    await settle()
    for match in (third, other, ours):
        await page.move(match)
        await asyncio.sleep(1)
    await again.leave()
    begun = {data["match"]: data["revision"] for id_, _, data in first.parts if not id_ and data}
    assert set(begun) == {ours.id, third.id}
    kept([*first.events, *again.events], begun)
    assert [event.match_id for event in first.events] == [ours.id, third.id, ours.id]
    assert [event.match_id for event in again.events] == [ours.id, third.id, third.id, ours.id]


@virtually
async def test_a_new_stream_tells_of_a_match_that_has_begun_since_the_page_was_made() -> None:
    page = Page()
    shown = await page.server.create(policy=AT_ONCE)
    made = Browser(page, f"/live?match={shown.id}&begun=")
    await asyncio.sleep(1)
    other = await page.server.create(policy=AT_ONCE, label="cup")
    later = {
        query: Browser(page, f"/live?match={shown.id}{query}")
        for query in ("", "&begun=", "&begun=cup", "&begun=elsewhere", f"&match={other.id}&begun=")
    }
    await asyncio.sleep(1)
    told = {query: [kind for _, kind, _ in browser.parts].count("begun") for query, browser in later.items()}
    assert list(told.values()) == [0, 1, 1, 0, 0]
    assert [kind for _, kind, _ in made.parts].count("begun") == 1
    await asyncio.gather(made.leave(), *(each.leave() for each in later.values()))


@virtually
async def test_an_idle_stream_sends_heartbeats() -> None:
    page = Page(bookmark_ms=5_000)
    match = await page.server.create(policy=AT_ONCE)
    one, several = page.of(match), Browser(page, f"/live?match={match.id}")
    await asyncio.sleep(60)
    assert 10 <= one.received.count(b": here\n\n") <= 13
    marks = [id_ for id_, kind, _ in several.parts if kind == "here"]
    assert 10 <= len(marks) <= 13
    await asyncio.gather(one.leave(), several.leave())


@virtually
async def test_without_viewers_no_events_are_read() -> None:
    page = Page()
    match = await page.server.create(policy=AT_ONCE)
    feed = page.server.arbiter.feed
    one, other = page.of(match), page.of(match)
    await settle()
    assert feed.observers == 3  # two viewers, and the one stream that is read for both
    await one.leave()
    await page.move(match)
    await asyncio.sleep(1)
    assert len(other.events) > len(one.events)
    await other.leave()
    await settle()
    assert feed.observers == 0


@virtually
async def test_an_error_while_reading_ends_the_streams_and_the_next_viewer_starts_a_new_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = Page()
    match = await page.server.create(policy=AT_ONCE)
    browser = page.of(match)
    await settle()
    drawn = broadcast.Broadcast._publish

    async def fail(*given: Any) -> None:
        raise ArithmeticError("a drawing that fails")

    monkeypatch.setattr(broadcast.Broadcast, "_publish", fail)
    await page.move(match)
    with pytest.raises(ArithmeticError):
        await browser.task
    monkeypatch.setattr(broadcast.Broadcast, "_publish", drawn)
    again = page.of(match)
    await settle()
    match = await page.move(match)
    await asyncio.sleep(1)
    kept(again.events)
    assert again.events[-1].revision == match.revision
    await again.leave()
