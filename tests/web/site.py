"""Pages over an arbiter in memory, and a match for them to show."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final, NamedTuple

import httpx
import pytest
import structlog
from starlette.types import ASGIApp, Receive, Scope, Send

from arbiter.bootstrap.running_server import gate_of
from arbiter.bootstrap.store import Store
from arbiter.bootstrap.world import World
from arbiter.keys.key_ring import open_ring
from arbiter.matches.commands import OfferDraw, Play, Resign
from arbiter.matches.comments import Comment
from arbiter.matches.match import Match, Phase, with_position
from arbiter.service.gate.gate import Gate
from arbiter.service.ratings.rating_work import InProcessRating
from arbiter.service.tournaments.tournament_ports import InProcessPairing
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.testing.memory import MemoryDirectory, MemoryJournal, MemoryReplicas
from arbiter.testing.served import patient
from arbiter.web.application import application
from arbiter.web.browser_connections import DIRECT
from tests.rpc.servers import read_all

APART: Final = 0
SITES: Final = (
    pytest.param(1, id="alone"),
    pytest.param(2, id="sharing", marks=pytest.mark.long),
    pytest.param(APART, id="apart", marks=pytest.mark.long),
)
"""How many servers have pages and players, as parameters of a fixture; see `site`. Short tests have a server alone."""


class Site(NamedTuple):
    """An arbiter, its gate, and a browser without JavaScript."""

    server: InMemoryArbiter
    gate: Gate
    browser: httpx.AsyncClient

    async def get(self, path: str, **headers: str) -> httpx.Response:
        return await self.browser.get(path, headers=headers)


@asynccontextmanager
async def site(folder: Path, servers: int = 1, kept: Store | None = None, **given: Any) -> AsyncIterator[Site]:
    """Serve pages in memory, with keys that sign. Requests go to several servers that share a store in turn.

    servers: those that have pages and players; for APART one has the pages alone, beside one with players. kept: the
    store of an earlier server.
    """
    shares = servers != 1
    journal = kept.journal if kept is not None else MemoryJournal()
    assert isinstance(journal, MemoryJournal)
    store = kept or Store(journal, MemoryDirectory(), replicas=MemoryReplicas() if shares else None)
    ring = open_ring(folder / "ring.keys", structlog.get_logger())
    server = InMemoryArbiter(store, ring, **{"web": "127.0.0.1:0", **given, "limits": patient(given.get("limits", {}))})
    all_servers = [server, *(server.beside() for _ in range(servers - 1))]
    if servers == APART:
        all_servers.append(server.beside(listen=""))
    gates = []
    for each in all_servers:
        rules = each.rules
        world = World(store, each.clock, each.ids, rules, rules, ring, InProcessPairing(), InProcessRating())
        gates.append(gate_of(each.settings, world, each.arbiter))
        if shares:
            await each.share()
    pages = [_whole(application(gate, server.settings)) for gate in gates[-max(servers, 1) :]]
    level = partial(read_all, [each.arbiter for each in all_servers], journal)
    transport = httpx.ASGITransport(_in_turn(pages, level) if shares else pages[0])
    async with httpx.AsyncClient(transport=transport, base_url="http://page") as browser:
        yield Site(server, gates[0], browser)
    for each in all_servers if shares else ():
        await each.die()


def _in_turn(pages: Sequence[ASGIApp], level: Callable[[], Awaitable[None]]) -> ASGIApp:
    """Return pages of which each request goes to the next server. Before and after it, all read what is stored."""
    turns = itertools.cycle(pages)

    async def asked(scope: Scope, receive: Receive, send: Send) -> None:
        await level()
        await next(turns)(scope, receive, send)
        await level()

    return asked


def _whole(pages: ASGIApp) -> ASGIApp:
    """Return pages whose event streams end after the past events: this transport returns only complete answers."""

    async def asked(scope: Scope, receive: Receive, send: Send) -> None:
        await pages({**scope, "extensions": {DIRECT: None}}, receive, send)

    return asked


async def played(
    server: InMemoryArbiter,
    game: str,
    plies: int,
    resign: bool = False,
    comments: Sequence[Comment | None] = (),
    players: Sequence[str] = ("alice", "bob"),
    offers: bool = False,
    rated: bool = False,
) -> Match:
    """Return a match of two players after some moves, with comments.

    offers: each player offers a draw after its move, so that other events stand between the moves.
    resign: alice resigns at the end.
    """
    matches, match_id = server.arbiter.matches, (await server.create(game, players, time="10m", rated=rated)).id
    active = asyncio.Event()

    def changed(match: Match, events: object) -> None:
        if match.phase is Phase.ACTIVE and match.id == match_id:
            active.set()

    server.arbiter.match_listeners.append(changed)
    with contextlib.ExitStack() as stack:
        for player in players:
            stack.enter_context(server.arbiter.sessions.attending(player))
        await asyncio.wait_for(active.wait(), 240)
        for said in [*comments, *[None] * plies][:plies]:
            match = with_position(await matches.match(match_id))
            move = min(match.game.moves(match.position))
            ply, now = match.ply, server.clock.now_ms()
            play = partial(Play, request=f"ply {ply}", ply=ply, move=move, arrived=now, comment=said)
            mover = match.players[match.turn - 1]
            await matches.request(mover, match_id, play)
            if offers:
                await matches.request(mover, match_id, partial(OfferDraw, request=f"offer {ply}"))
        if resign:
            await matches.request("alice", match_id, lambda seat: Resign(seat, "enough"))
        return await matches.match(match_id)


class Elements(HTMLParser):
    """The elements of a page, each as its name and attributes; `words` is its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_data(self, data: str) -> None:
        self.words += data
