"""No visitor takes more of the server than its share: requests, connections and unread answers are bounded."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from jinja2 import Environment
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from arbiter.config import Limits
from arbiter.matches.match import Match
from arbiter.runtime.loopback import free_port
from arbiter.service import background
from arbiter.service.background import Background
from arbiter.service.ports.meter import NO_METER
from arbiter.testing.served import served
from arbiter.web import match_pages, rendering, visits
from arbiter.web.assets import assets
from arbiter.web.visits import PageTime, Visits, beside
from tests.processes import WAIT_S
from tests.web.site import Site, played, site


@pytest_asyncio.fixture
async def page(tmp_path: Path) -> AsyncIterator[Site]:
    async with site(tmp_path) as found:
        yield found


def browser(app: ASGIApp, address: str = "192.0.2.1") -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app, client=(address, 1)), base_url="http://page")


class Frozen:
    """The clock of the visits: it moves only when a request waits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_ms, self.work_s = 1_000, 0.0

        async def sleep_ms(wait_ms: int) -> None:
            self.now_ms += wait_ms
            await asyncio.sleep(0)

        monkeypatch.setattr(visits, "_now_ms", lambda: self.now_ms)
        monkeypatch.setattr(visits, "_sleep_ms", sleep_ms)
        for module in (background, visits):
            monkeypatch.setattr(module, "thread_time", lambda: self.work_s)


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> Frozen:
    return Frozen(monkeypatch)


def visits_of(app: ASGIApp, limits: Limits, alone: bool = False) -> Visits:
    return Visits(app, Background(100), PageTime(limits, alone), limits, NO_METER)


def working(frozen: Frozen, seconds: float) -> ASGIApp:
    """Return an application whose every request takes seconds of the event loop, in two steps."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for _ in range(2):
            frozen.work_s += seconds / 2
            await asyncio.sleep(0)
        await PlainTextResponse("done")(scope, receive, send)

    return app


async def test_every_path_is_counted_before_it_is_routed(page: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    match = await played(page.server, "hop-it", 2)
    paths = [*assets(), "/", "/nothing", "/sign-in", "/keys.json", "/live", "/games/pods", f"/matches/{match.id}"]
    monkeypatch.setattr(visits, "LONGEST_WAIT_MS", -1)  # whoever would have to wait at all is refused: everybody
    for path in [*paths, f"/matches/{match.id}/plies?from=1", "/arbiter.v1.ServerService/GetServerInfo"]:
        refused = await page.get(path)
        assert (refused.status_code, refused.headers["connection"]) == (429, "close"), path
        assert "requests a second from one address" in refused.text


@pytest.mark.long
async def test_a_page_costs_a_page_however_many_calls_it_makes(tmp_path: Path) -> None:
    async with site(tmp_path, limits=Limits(calls_a_second=1, call_rows=1)) as page:
        match = await played(page.server, "circle-of-life", 40)
        for _ in range(5):
            for path in (f"/matches/{match.id}", f"/matches/{match.id}/plies?from=0", "/matches", "/leaderboard"):
                assert (await page.get(path)).status_code == 200, path


async def test_one_address_waits_and_is_refused_and_another_one_is_not(frozen: Frozen) -> None:
    app = visits_of(working(frozen, 0.0), Limits(page_requests_a_second=10, page_percent=100))
    async with browser(app) as first, browser(app, "192.0.2.2") as second:
        began = frozen.now_ms
        for _ in range(20):
            assert (await first.get("/")).status_code == 200
        assert frozen.now_ms == began
        assert (await first.get("/")).status_code == 200
        assert frozen.now_ms == began + 100
        assert (await second.get("/")).status_code == 200
        assert frozen.now_ms == began + 100


async def test_long_requests_count_as_several(frozen: Frozen) -> None:
    app = visits_of(working(frozen, 0.1), Limits(page_requests_a_second=10, page_percent=100))
    async with browser(app) as visitor:
        for _ in range(40):
            assert (await visitor.get("/")).status_code == 200
    counted, each = 20 + 10 * (frozen.now_ms - 1_000) / 1_000, 11  # the request, and ten times 10 ms of work
    assert 39 * each <= counted <= 41 * each


async def test_threads_count_as_the_event_loop_does_and_few_run_at_once(frozen: Frozen) -> None:
    """They take the interpreter from it: six of them that drew games of 900 moves stopped the server for seconds."""
    under_way, most = list[str](), 0
    begun, go_on = threading.Semaphore(0), threading.Event()

    def draw(address: str) -> None:
        nonlocal most
        under_way.append(address)
        most = max(most, len(under_way), 9 * (len(set(under_way)) < len(under_way)))
        frozen.work_s += 0.1
        begun.release()
        go_on.wait(WAIT_S)
        under_way.remove(address)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await beside(draw, scope["client"][0])
        await PlainTextResponse("done")(scope, receive, send)

    drawing = visits_of(app, Limits(page_requests_a_second=10, page_percent=100))
    async with contextlib.AsyncExitStack() as stack:
        visitors = [await stack.enter_async_context(browser(drawing, f"192.0.2.{n % 3}")) for n in range(6)]
        answers = [asyncio.create_task(visitor.get("/")) for visitor in visitors]
        for _ in range(visits.THREADS):
            await asyncio.to_thread(begun.acquire)
        go_on.set()
        assert {answer.status_code for answer in await asyncio.gather(*answers)} == {200}
        assert most == visits.THREADS
        began = frozen.now_ms
        await visitors[0].get("/")
        assert frozen.now_ms > began, "it has to wait for what its address has used"
    assert await beside(int, "7") == 7, "outside of a visit"


async def test_all_addresses_together_get_their_part_of_the_time(frozen: Frozen) -> None:
    app = visits_of(working(frozen, 0.05), Limits(page_requests_a_second=1_000, page_percent=20))
    for number in range(100):
        async with browser(app, f"192.0.2.{number}") as visitor:
            assert (await visitor.get("/")).status_code == 200
    spent_s = (frozen.now_ms - 1_000) / 1_000
    assert frozen.work_s == pytest.approx(100 * 0.05)
    assert 0.2 * spent_s >= frozen.work_s - 0.2 - 0.06, "but for what may be used at once, and the last request"


async def test_where_no_player_is_requests_get_all_of_the_time(frozen: Frozen) -> None:
    limits = Limits(page_requests_a_second=1_000, page_percent=20)
    app, began = visits_of(working(frozen, 0.05), limits, alone=True), frozen.now_ms
    for number in range(100):
        async with browser(app, f"192.0.2.{number}") as visitor:
            assert (await visitor.get("/")).status_code == 200
    assert frozen.work_s == pytest.approx(100 * 0.05)
    assert (frozen.now_ms - began) / 1_000 < frozen.work_s


async def test_a_failure_and_a_cancellation_reach_the_application(frozen: Frozen) -> None:
    seen: list[str] = []
    waiting = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        failing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        failing.set_exception(LookupError("gone"))
        try:
            await failing
        except LookupError:
            seen.append("failure")
        waiting.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancellation")
            raise

    async def none() -> dict[str, object]:
        return {}

    async def ignored(message: object) -> None:
        return None

    task = asyncio.create_task(
        _whole(visits_of(app, Limits())({"type": "http", "path": "/", "client": ("192.0.2.1", 1)}, none, ignored))
    )
    await waiting.wait()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert seen == ["failure", "cancellation"]


async def _whole(work: Awaitable[None]) -> None:
    await work


async def test_assets_are_kept_by_browsers(page: Site) -> None:
    front = (await page.get("/")).text
    for path, asset in assets().items():
        assert f'"{asset.address}"' in front
        named, plain = await page.get(asset.address), await page.get(path)
        assert named.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert plain.headers["cache-control"] == "no-cache"
        assert named.content == plain.content
        again = await page.get(path, **{"if-none-match": named.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert (await page.get(path, **{"accept-encoding": "identity"})).content == named.content


class Peers(contextlib.ExitStack):
    """Connections to a page, from addresses of this machine. They block, so they are used in threads."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._port = port

    def connect(self, address: str = "127.0.0.1") -> socket.socket:
        return self.enter_context(socket.create_connection(("127.0.0.1", self._port), 60, (address, 0)))

    def answers(self, peer: socket.socket) -> bool:
        """Return whether the server answers on a connection, rather than closing it."""
        try:
            peer.sendall(b"GET /keys.json HTTP/1.1\r\nhost: a\r\n\r\n")
            return peer.recv(1) != b""
        except ConnectionError:
            return False


@pytest.mark.long
async def test_connections_are_bounded_in_all_and_by_address() -> None:
    port = free_port()

    def check() -> None:
        with Peers(port) as peers:
            first = [peers.connect() for _ in range(4)]
            assert [peers.answers(peer) for peer in first] == [True, True, True, False]
            second = [peers.connect("127.0.0.2") for _ in range(3)]
            assert [peers.answers(peer) for peer in second] == [True, True, False]
            first[0].close()
            while not peers.answers(peers.connect("127.0.0.2")):
                pass  # until the server has noticed the end

    async with (
        served(web=f"127.0.0.1:{port}", limits={"page_connections": 5, "page_connections_of_address": 3}),
        asyncio.timeout(120),
    ):
        await asyncio.to_thread(check)


def ask_for_ever(peer: socket.socket) -> None:
    """Ask for a file and read nothing, until the server closes the connection."""
    with contextlib.suppress(ConnectionError):
        while True:
            peer.sendall(b"GET /static/page.js HTTP/1.1\r\nhost: a\r\n\r\n" * 100)


@pytest.mark.long
async def test_a_client_that_does_not_read_its_answers_is_cut_off() -> None:
    port = free_port()

    def check() -> None:
        with Peers(port) as peers:
            ask_for_ever(peers.connect())

    async with (
        served(
            web=f"127.0.0.1:{port}", limits={"request_ms": 200, "page_requests_a_second": 100_000, "page_percent": 100}
        ),
        asyncio.timeout(120),
    ):
        await asyncio.to_thread(check)


@pytest.mark.long
async def test_templates_are_compiled_beside_the_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first visitor of a page keeps nobody's move waiting."""
    compiled: dict[str, bool] = {}

    class Watched(Environment):
        def compile(self, source: Any, name: Any = None, *rest: Any, **more: Any) -> Any:
            compiled[name] = threading.current_thread() is threading.main_thread()
            return super().compile(source, name, *rest, **more)

    monkeypatch.setattr(rendering, "Environment", Watched)
    async with site(tmp_path) as page:
        match = await played(page.server, "hop-it", 2)
        for path in ("/", f"/matches/{match.id}", "/leaderboard"):
            assert (await page.get(path)).status_code == 200
    assert {"front.html", "match.html", "leaderboard.html", "base.html"} <= set(compiled)
    assert not any(compiled.values()), compiled


async def test_the_moves_of_a_match_are_written_beside_the_event_loop(
    page: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a game of chess of 500 moves take 30 ms."""
    threads: list[threading.Thread] = []
    story = match_pages._story

    def noted(match: Match) -> str:
        threads.append(threading.current_thread())
        return story(match)

    monkeypatch.setattr(match_pages, "_story", noted)
    match = await played(page.server, "hop-it", 2)
    assert (await page.get(f"/matches/{match.id}/moves.txt")).status_code == 200
    assert len(threads) == 1
    assert threading.main_thread() not in threads
