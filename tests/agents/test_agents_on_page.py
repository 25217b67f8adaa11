"""Agents on the address of the page: rights, limits and ends, under a client of the official library."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import arbiter_client as arb
import httpx
import pytest
from arbiter_client.bots.random import RandomBot

from arbiter.agents.presence import Presence
from arbiter.runtime.loopback import free_port
from arbiter.service.players.accounts import Scope
from arbiter.testing.served import Served, served
from arbiter.web import visits
from tests.agents.agents import in_process, over_http
from tests.processes import WAIT_S

if TYPE_CHECKING:
    from mcp import Client

pytestmark = pytest.mark.long

AGENTS = 20  #: more than a page answers at once


class Page(NamedTuple):
    server: Served
    address: str

    async def token(self, player: str, *scopes: Scope) -> str:
        [(_, bearer)] = await self.server.token(player, *scopes)
        return bearer.removeprefix("Bearer ")

    def agent(self, token: str) -> AbstractAsyncContextManager[Client]:
        return over_http(self.address, token)


@asynccontextmanager
async def page(**given: Any) -> AsyncIterator[Page]:
    place = f"127.0.0.1:{free_port()}"
    async with served(web=place, **given) as server:
        yield Page(server, f"http://{place}")


async def said(agent: Client, tool: str, **arguments: Any) -> tuple[bool, Any]:
    """Return whether a tool has refused, and what it says."""
    answer = await agent.call_tool(tool, arguments)
    return bool(answer.is_error), getattr(
        answer.content[0], "text", ""
    ) if answer.is_error else answer.structured_content


async def test_an_agent_plays_and_its_calls_come_from_its_own_address() -> None:
    async with page(limits={"unknown_tokens_a_minute": 2}) as found:
        mine, bobs = await found.token("model"), await found.token("bob")
        bot = asyncio.create_task(arb.play(RandomBot(1), found.server.address, token=bobs, tls=arb.NO_TLS))
        async with found.agent(mine) as agent:
            assert (await said(agent, "overview"))[1]["you"] == "model"
            await said(agent, "challenge", opponent="bob", game="circle-of-life(target=1)", time_control="1h", seat=1)
            while (seen := (await said(agent, "wait", seconds=60))[1]).get("your_turn"):
                moves = (await said(agent, "legal_moves", match_id=seen["match_id"], most=1))[1]["moves"]
                await said(agent, "play", match_id=seen["match_id"], ply=seen["ply"], move=moves[0])
            assert seen["ended"]["result"]["your_points"] in (0.0, 1.0)
        async with (
            arb.Client(found.server.address, token=mine, tls=arb.NO_TLS) as client,
            in_process(Presence(client)) as agent,  # as after a restart, when the result was told before
        ):
            _, again = await said(agent, "wait", match_id=seen["ended"]["match_id"], seconds=600)
            assert again["ended"]["result"] == seen["ended"]["result"]
        bot.cancel()
        await asyncio.wait([bot])
        for number in range(3):
            async with found.agent(f"guess {number}") as guessing:
                refused, why = await said(guessing, "overview")
                assert refused
                assert ("valid token" if number < 2 else "Wait some seconds") in why, number
        async with found.agent(mine) as agent:
            assert not (await said(agent, "overview"))[0], "a valid token is not counted with them"


async def test_the_scopes_of_the_token_bound_what_an_agent_may_do() -> None:
    async with page() as found, found.agent(await found.token("reader", Scope.OBSERVE)) as reader:
        await found.token("bob")
        assert (await said(reader, "games"))[1]["games"]
        for tool, arguments in (("challenge", {"opponent": "bob", "game": "pods"}), ("resign", {"match_id": "m"})):
            refused, why = await said(reader, tool, **arguments)
            assert refused
            assert "SCOPE_MISSING" in why
            assert "ask the person who gave it to you" in why


async def test_agents_that_wait_leave_the_page_to_others_and_end_with_the_server() -> None:
    async with page() as found, AsyncExitStack() as agents:
        waits = []
        for number in range(AGENTS):
            agent = await agents.enter_async_context(found.agent(await found.token(f"model{number}")))
            await said(agent, "overview")
            waits.append(asyncio.create_task(agent.call_tool("wait", {"seconds": 600})))
        async with httpx.AsyncClient() as visitor, asyncio.timeout(WAIT_S):
            assert (await visitor.get(f"{found.address}/keys.json")).status_code == 200
        assert not any(wait.done() for wait in waits)
        for wait in waits:
            wait.cancel()
        await asyncio.wait(waits)


async def test_requests_of_agents_are_counted_as_those_of_browsers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visits, "LONGEST_WAIT_MS", -1)  # whoever would have to wait at all is refused: everybody
    async with page() as found, httpx.AsyncClient() as visitor:
        refused = await visitor.post(f"{found.address}/mcp", json={})
        assert refused.status_code == 429
        assert "requests a second from one address" in refused.text


async def test_a_page_of_another_site_reaches_no_agent() -> None:
    async with page() as found, httpx.AsyncClient() as visitor:
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        accept = {"Accept": "application/json, text/event-stream"}
        for origin, status in (("http://evil.example", 403), (found.address, 200)):
            answer = await visitor.post(f"{found.address}/mcp", json=ping, headers={**accept, "Origin": origin})
            assert answer.status_code == status, origin


async def test_a_large_request_is_refused_unread() -> None:
    """It is JSON, and four million bytes of that, which anybody may send, would stop the server for two seconds."""
    async with page(limits={"json_bytes": 1_024}) as found, httpx.AsyncClient() as visitor:
        answer = await visitor.post(f"{found.address}/mcp", content=b"{" * 5_000)
        assert answer.status_code == 413


async def test_a_visitor_holds_no_stream_without_a_request() -> None:
    """A stream of news from the server would bring none: each request of an agent has its answer."""
    async with page() as found, httpx.AsyncClient() as visitor:
        for more in ({}, {"Last-Event-ID": "1"}):
            answer = await visitor.get(f"{found.address}/mcp", headers={"Accept": "text/event-stream", **more})
            assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


async def test_an_agent_that_leaves_in_the_middle_of_a_request_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    begun = b"POST /mcp HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\naccept: application/json, "
    begun += b"text/event-stream\r\ncontent-length: 9\r\n\r\n{"
    async with page() as found, httpx.AsyncClient() as visitor:
        assert (await visitor.post(f"{found.address}/mcp", json={})).status_code == 400  # the libraries are loaded
        with caplog.at_level(logging.WARNING):
            host, port = found.address.removeprefix("http://").split(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(begun)
            writer.write_eof()
            assert await reader.read() == b""
            writer.close()
            assert (await visitor.get(f"{found.address}/keys.json")).status_code == 200
    assert [record.message for record in caplog.records] == []


async def test_servers_that_may_share_the_address_say_where_agents_go() -> None:
    async with page(store="postgresql://nobody@nowhere.invalid/none") as found, httpx.AsyncClient() as visitor:
        answer = await visitor.post(f"{found.address}/mcp", json={})
        assert answer.status_code == 503
        assert "arbiter mcp --listen" in answer.text


async def test_of_too_many_agents_the_one_without_a_match_goes_that_is_unused_for_longest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from arbiter.agents import serving

    monkeypatch.setattr(serving, "MOST_AGENTS", 2)
    waits = asyncio.Event()

    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        waits.set()

    async with page() as found, AsyncExitStack() as agents:
        tokens = [await found.token(f"model{number}") for number in range(3)]
        first, second, third = [await agents.enter_async_context(found.agent(token)) for token in tokens]
        waiting = asyncio.create_task(second.call_tool("wait", {"seconds": 600}, progress_callback=progressed))
        await waits.wait()
        await said(first, "overview")
        assert (await said(third, "overview"))[1]["you"] == "model2"
        told = (await waiting).structured_content
        assert told is not None
        assert told["nothing_yet"], "it does not wait for what it can't hear of"
        for agent, name in ((second, "model1"), (first, "model0")):
            assert (await said(agent, "overview"))[1]["you"] == name
        bot = asyncio.create_task(arb.play(RandomBot(1), found.server.address, token=tokens[2], tls=arb.NO_TLS))
        for agent in (first, second):
            await said(agent, "challenge", opponent="model2", game="pods", time_control="1h", seat=1)
            assert (await said(agent, "wait", seconds=60))[1]["your_turn"]
        refused, why = await said(third, "overview")
        assert refused, "both have a match"
        assert serving.FULL in why
        bot.cancel()
        await asyncio.wait([bot])


def asked(token: str) -> Any:
    """Return the part of a request's context that says who asks."""
    return SimpleNamespace(headers={"authorization": f"Bearer {token}"}, request_context=SimpleNamespace(request=None))


async def test_many_tokens_of_one_player_take_no_place_of_others_and_guesses_leave_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from mcp.server.mcpserver.exceptions import ToolError

    from arbiter.agents import serving

    monkeypatch.setattr(serving, "MOST_AGENTS", 3)
    async with page() as found:
        agents = serving.Agents(lambda token, _: arb.Client(found.server.address, token=token, tls=arb.NO_TLS))
        ann, bob = await agents.of(asked(await found.token("ann"))), await agents.of(asked(await found.token("bob")))
        for _ in range(4):
            again = await agents.of(asked(await found.token("bob")))
            async with asyncio.timeout(WAIT_S):
                while not bob.gone:
                    await bob.news(WAIT_S)
            bob = again
        assert not ann.let_go, "those of bob that another one has replaced go first"
        monkeypatch.setattr(serving, "MOST_AGENTS", 2)
        for number in range(5):
            with pytest.raises(ToolError):
                await agents.of(asked(f"guess {number}"))
        assert not ann.let_go, "a request without a valid token takes nobody's place"
        assert not bob.let_go
        gc.collect()
        assert len(agents._opening) == 0
        await agents.close()
