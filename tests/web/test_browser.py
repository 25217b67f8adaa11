"""The page in a real browser: a match watched live, stepped through and verified; and what axe would ask first."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, async_playwright, expect

from arbiter.bootstrap import open_world
from arbiter.matches.commands import Create, Play, Resign
from arbiter.matches.match import with_position
from arbiter.runtime.loopback import free_port
from arbiter.testing.server import Served, served
from tests.clients.toolchains import require

pytestmark = pytest.mark.toolchain
expect.set_options(timeout=30_000)  # a busy machine is slow, and what is expected comes at once else


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(open_world, store=f"sqlite:///{tmp_path}/page.db", web=f"127.0.0.1:{free_port()}") as running:
        yield running


@contextlib.asynccontextmanager
async def browser(**given: Any) -> AsyncIterator[Page]:
    """Open a page in Chromium; what goes wrong in it fails the test."""
    require("chromium", why="the page is tried in it")
    async with async_playwright() as tools:
        chromium = await tools.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = await (await chromium.new_context(**given)).new_page()
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        yield page
        assert wrong == []
        await chromium.close()


class Played:
    """A match of alice and bob on a running server."""

    def __init__(self, server: Served, match_id: str) -> None:
        self._matches = server.running.arbiter.matches
        self.id = match_id
        self.address = f"{server.running.page}matches/{match_id}"

    async def moves(self, count: int) -> list[str]:
        """Play so many moves; return all."""
        for _ in range(count):
            match = with_position(await self._matches.match(self.id))
            move = min(match.game.moves(match.position))
            play = Play(match.turn, f"ply {match.ply}", match.ply, move, match.at)
            await self._matches.request(match.players[match.turn - 1], self.id, lambda seat, play=play: play)
        return list((await self._matches.match(self.id)).moves)

    async def resign(self) -> None:
        """Let alice give up."""
        await self._matches.request("alice", self.id, lambda seat: Resign(seat, "enough"))


@contextlib.asynccontextmanager
async def playing(server: Served, game: str) -> AsyncIterator[Played]:
    """Begin a match whose players are there."""
    arbiter = server.running.arbiter
    command = Create(game, ("alice", "bob"), "10m", "org", f"make {game}", arbiter.policy, False, "")
    for name in ("alice", "bob", "org"):
        await server.token(name)
    with arbiter.sessions.attending("alice"), arbiter.sessions.attending("bob"):
        yield Played(server, (await arbiter.matches.create(command)).id)


async def test_a_match_is_watched_to_its_end_stepped_through_and_verified(server: Served) -> None:
    async with playing(server, "hop-it") as match, browser() as page:
        await page.goto(match.address)
        moves = await match.moves(3)
        listed = page.locator("[data-moves] li")
        await expect(listed).to_have_count(3)
        await expect(listed.last).to_contain_text(moves[-1])
        await expect(page.locator(".panel.turn .name")).to_have_text("bob")
        await expect(page.locator("[data-clock='2']")).to_have_text(re.compile(r"^9:\d\d$"))
        now = await page.locator("svg.board .pieces").inner_html()
        await page.keyboard.press("ArrowLeft")
        await expect(page.locator("output")).to_have_text("2/3")
        await match.moves(1)  # goes on while an earlier ply is looked at
        await expect(page.locator("output")).to_have_text("2/4")
        await page.keyboard.press("ArrowRight")
        await expect(page.locator("output")).to_have_text("3/4")
        await expect(page.locator("[aria-current=step]")).to_contain_text(moves[-1])
        assert await page.locator("svg.board .pieces").inner_html() == now
        await match.resign()
        await expect(page.locator("[data-result]")).to_have_text("bob wins: resignation")
        await page.click("[data-verify]")
        await expect(page.locator(".good")).to_contain_text("Verified")
        await page.goto(f"{match.address}?ply=2")
        await expect(page.locator("output")).to_have_text("2/4")


async def test_a_forged_record_is_not_verified(server: Served) -> None:
    async with playing(server, "hop-it") as match, browser() as page:
        await match.moves(2)
        await match.resign()

        async def forge(route: Any) -> None:
            answer = await route.fetch()
            await route.fulfill(response=answer, body=(await answer.body()).replace(b"alice", b"clara", 1))

        await page.route("**/transcript.jsonl", forge)
        await page.goto(match.address)
        await page.click("[data-verify]")
        await expect(page.locator(".bad")).to_contain_text("Not verified")


async def test_boards_of_the_front_page_are_live(server: Served) -> None:
    async with playing(server, "pods(size=4)") as match, browser(color_scheme="dark") as page:
        await match.moves(1)
        await page.goto(str(server.running.page))
        pieces = page.locator(".card .pieces > g")
        await expect(pieces).to_have_count(1)
        await expect(page.locator(".card [data-said]")).to_have_text("ply 1")
        await match.moves(2)
        await expect(page.locator(".card [data-said]")).to_have_text("ply 3")
        assert len(await pieces.all()) in (2, 3)  # pods placed, or moved


async def test_the_front_page_finds_the_next_match_by_itself(server: Served) -> None:
    async with browser() as page:
        await page.goto(str(server.running.page))
        await expect(page.locator("h1")).to_have_text("Nothing is being played now")
        async with playing(server, "hop-it") as match:
            await expect(page.locator(".card")).to_have_count(1)
            await match.moves(1)
            await expect(page.locator(".card [data-said]")).to_have_text("ply 1")
            await match.resign()
            await expect(page.locator(".card")).to_have_count(0)


async def test_a_phone_shows_the_whole_page_in_its_width(server: Served) -> None:
    async with playing(server, "pondlife") as match, browser(viewport={"width": 360, "height": 740}) as page:
        await match.moves(4)
        for address in (match.address, str(server.running.page), f"{server.running.page}games/hop-it"):
            await page.goto(address)
            assert await page.evaluate("document.documentElement.scrollWidth") <= 360, address
