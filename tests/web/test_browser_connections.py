"""Slow and idle connections are closed; known proxies say whose request they pass on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from arbiter.config import Limits
from arbiter.runtime.grpc_events import new_loop
from arbiter.runtime.loopback import free_port
from arbiter.service.gate.addresses import Proxies
from arbiter.testing.served import Served, served
from arbiter.web.accepting import OpenConnections
from arbiter.web.browser_connections import BrowserConnection

FORM = b"POST /sign-in HTTP/1.1\r\nhost: a\r\ncontent-type: application/x-www-form-urlencoded\r\n"
CALL = b"POST /arbiter.v1.ServerService/GetServerInfo HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n"
BODY = b"content-length: 9\r\n\r\nfo"
ORIGIN = b"origin: http://a\r\n"
WHOLE = b"GET /keys.json HTTP/1.1\r\nhost: a\r\n\r\n"


@asynccontextmanager
async def page(**given: Any) -> AsyncIterator[Served]:
    async with served(web=f"127.0.0.1:{free_port()}", **given) as server:
        yield server


async def said_to(server: Served, *parts: bytes) -> list[bytes]:
    """Send parts of requests, each after an answer to the one before; return the answers, b'' if the server closes."""
    place = urlsplit(server.running.page)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    answers = []
    for part in parts:
        writer.write(part)
        answers.append(await (reader.read() if part is parts[-1] else reader.readuntil(b"]}")))
    writer.close()
    return answers


@pytest.mark.parametrize(
    ("parts", "status"),
    [
        ([b""], b""),
        ([b"GET / HT"], b"408"),
        ([FORM], b"408"),
        ([FORM + ORIGIN + BODY], b"408"),
        ([CALL + BODY], b"408"),
        ([WHOLE, b"GET / HTTP/1.1\r\nx"], b"408"),
        ([FORM + BODY], b"403"),  # refused at once; the rest of the request is not waited for
    ],
)
async def test_an_incomplete_request_times_out(
    parts: list[bytes], status: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with page(limits={"request_ms": 200}) as server, asyncio.timeout(60):
        with caplog.at_level(logging.WARNING):
            *_, answer = await said_to(server, *parts)
    assert answer[9:12] == status
    if status == b"408":
        assert answer.endswith(b"send it again")
    assert [record.message for record in caplog.records] == []


SHORT = CALL + b"connection: close\r\ncontent-length: 2\r\n"
UPGRADE = b"GET /keys.json HTTP/1.1\r\nhost: a\r\nconnection: upgrade, close\r\nupgrade: "


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nhost : a\r\n\r\n", b"400"),
        (UPGRADE + b"websocket\r\n\r\n", b"200"),
        (UPGRADE + b"h2c\r\n\r\n", b"200"),
        (b"POST /sign-in HTTP/1.1\r\nhost: a\r\norigin: http://[\r\ncontent-length: 0\r\n\r\n", b"403"),
        (SHORT + b"origin: http://[\r\n\r\n{}", b"403"),
        (SHORT + b"authorization: Bearer \xff\r\n\r\n{}", b"200"),
        (SHORT + b"content-encoding: \xff\r\n\r\n{}", b"501"),
        (SHORT.replace(b"content-type", b"content-type: application/grpc\r\ncontent-type") + b"\r\n{}", b"415"),
    ],
    ids=[
        *("TLS", "a wrong header", "WebSocket", "HTTP/2", "a form of no site", "a call of no site"),
        *("a token that is no text", "an encoding that is no text", "two types"),
    ],
)
async def test_nothing_that_a_visitor_sends_fills_the_log(
    sent: bytes, status: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with page() as server, asyncio.timeout(60):
        with caplog.at_level(logging.WARNING):
            [answer] = await said_to(server, sent)
    assert answer[9:12] == status
    assert [record.message for record in caplog.records] == []


@pytest.mark.long
async def test_a_cancelled_form_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    async with page() as server:
        place = urlsplit(server.running.page)
        with caplog.at_level(logging.WARNING):
            _, writer = await asyncio.open_connection(place.hostname, place.port)
            writer.write(FORM + ORIGIN + BODY)
            await writer.drain()
            writer.close()
            await writer.wait_closed()
            async with httpx.AsyncClient() as browser:  # the answer comes after the server has noticed the end
                assert (await browser.get(server.running.page)).status_code == 200
    assert [record.message for record in caplog.records] == []


def test_a_proxy_has_any_number_of_connections_also_if_only_its_network_is_named() -> None:
    limits = Limits(page_connections_of_address=1)
    for proxies in (("10.0.0.0/8",), ("*",), ("10.0.0.5",)):
        connections = OpenConnections(limits, Proxies(proxies))
        assert [connections.open("10.0.0.5", 0) for _ in range(3)] == ["10.0.0.5"] * 3
    connections = OpenConnections(limits, Proxies(("192.0.2.1",)))
    assert [connections.open("10.0.0.5", 0) for _ in range(2)] == ["10.0.0.5", None]


@pytest.mark.parametrize(("proxies", "codes"), [(("127.0.0.0/8",), [401, 401]), (("192.0.2.9",), [401, 429])])
async def test_only_known_proxies_may_name_the_sender_of_a_request(proxies: tuple[str, ...], codes: list[int]) -> None:
    limits = {"unknown_tokens_a_minute": 1}
    async with page(web_proxies=proxies, limits=limits) as server, httpx.AsyncClient() as browser:
        found = []
        for visitor in ("198.51.100.1", "198.51.100.2"):
            headers = {"x-forwarded-for": visitor, "authorization": "Bearer guess"}
            found.append((await browser.get(server.running.page, headers=headers)).status_code)
    assert found == codes


async def _closed(connection: BrowserConnection, send: Send) -> None:
    """Answer a client whose connection has been closed, of which uvloop may have told nobody."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"3")]})
    connection.transport.abort()
    for _ in range(9):
        await asyncio.sleep(0)
    connection.cycle.disconnected = False
    await send({"type": "http.response.body", "body": b"abc"})


async def _endless(_: BrowserConnection, send: Send) -> None:
    """Answer for ever."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await asyncio.Event().wait()


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
@pytest.mark.parametrize("answer", [_closed, _endless])
def test_an_answer_that_is_cut_off_is_no_error_of_the_server(
    answer: Callable[[BrowserConnection, Send], Awaitable[None]], loop: str, caplog: pytest.LogCaptureFixture
) -> None:
    made: list[BrowserConnection] = []

    class Patient(BrowserConnection):
        patience_s = 60.0

    async def application(_: Scope, __: Receive, send: Send) -> None:
        await answer(made[0], send)

    def connection() -> BrowserConnection:
        made.append(Patient(config, state, {}))
        return made[0]

    async def serve() -> None:
        listening = await asyncio.get_running_loop().create_server(connection, "127.0.0.1", 0)
        async with listening, asyncio.timeout(60):
            reader, writer = await asyncio.open_connection(*listening.sockets[0].getsockname())
            writer.write(WHOLE)
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")
            for task in state.tasks:
                if answer is _endless:
                    task.cancel()  # as uvicorn does with an answer that lasts longer than its stop may
            await asyncio.gather(*state.tasks)
            await reader.read()
            writer.close()

    config = uvicorn.Config(application, log_config=None, lifespan="off", ws="none")
    config.load()
    state = uvicorn.Server(config).server_state
    with asyncio.Runner(loop_factory=new_loop if loop == "uvloop" else asyncio.new_event_loop) as runner:
        runner.run(serve())
    assert [record.message for record in caplog.records] == []
