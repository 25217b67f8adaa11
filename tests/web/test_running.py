"""An organiser in a real browser: creates a tournament by its form and follows it to its end; tokens; a bot's page."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator

import arbiter_client as arb
import pytest
from playwright.async_api import Page, expect

from arbiter.service.players.accounts import Scope
from arbiter.testing.served import Served
from tests.web.chromium import Open

pytestmark = [pytest.mark.toolchain, pytest.mark.asyncio(loop_scope="module")]

BOTS = ("ada", "ben", "cleo")
STRONGER = "ben"


class Scripted(arb.Bot):
    """Plays the first legal move by name, or the one in the middle: the first wins with both seats of a small Pods."""

    version = "1"
    extras = arb.Extras(legal_moves_up_to=500)

    def __init__(self, name: str) -> None:
        self.name = name

    def choose(self, turn: arb.Turn) -> str:
        moves = sorted(move.text for move in self.legal_moves(turn))
        return moves[0 if self.name == STRONGER else len(moves) // 2]


@contextlib.asynccontextmanager
async def bots(server: Served) -> AsyncIterator[None]:
    """Run three bots."""
    tasks = [
        asyncio.create_task(arb.play(Scripted(name), server.address, token=await secret(server, name))) for name in BOTS
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def secret(server: Served, player: str, *scopes: Scope) -> str:
    ((_, bearer),) = await server.token(player, *scopes)
    return bearer.partition(" ")[2]


async def sign_in(page: Page, token: str, onward: str) -> None:
    await page.goto(f"/sign-in?onward={onward}")
    await page.fill("[name=token]", token)
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"**{onward}")


async def test_a_tournament_is_made_and_followed_to_its_end(server: Served, browser: Open) -> None:
    organiser = await secret(server, "org", Scope.PLAY, Scope.OBSERVE, Scope.ORGANISE)
    async with bots(server), browser(refused=True) as page:
        await sign_in(page, organiser, "/tournaments")
        await page.click("text=New tournament")
        await page.click("nav.formats >> text=Knockout")
        await page.fill("[name=name]", "The cup")
        await page.uncheck("[name='game:circle-of-life']")
        await page.fill("[name=more_games]", "pods(size=3)")
        await page.fill("[name=time]", "soon")
        await page.click("text=Make the tournament")
        await expect(page.locator("#wrong")).to_contain_text("expected")  # the server's message, at the field
        await expect(page.locator("[name=name]")).to_have_value("The cup")
        await page.fill("[name=time]", "1m+1s")
        await page.click("text=Make the tournament")
        await page.wait_for_url(re.compile("/tournaments/t"))
        where = page.url
        async with browser() as other:  # a visitor without a token follows it
            await other.goto(where)
            await expect(other.locator("h1")).to_have_text("The cup")
            await expect(other.locator("button:text-is('Start')")).to_have_count(0)
            await page.click("button:text-is('Start')")
            await expect(page.locator("[role=alert]")).to_contain_text("2 players")  # too few players
            await page.fill("[name=names]", " ".join(BOTS))
            await page.click("button:text-is('Enter')")
            await expect(page.locator("#run")).to_contain_text("3 players")
            await page.click("button:text-is('Start')")
            await expect(other.locator("main")).to_contain_text("· over ·")
            await expect(other.locator("main")).to_contain_text("wins: ")
        await page.goto("/tournaments")
        await expect(page.locator("main")).to_contain_text("The cup")


async def test_a_tournament_is_paused_resumed_and_cancelled(server: Served, browser: Open) -> None:
    organiser = await secret(server, "org", Scope.PLAY, Scope.OBSERVE, Scope.ORGANISE)
    async with browser() as page:
        await sign_in(page, organiser, "/tournaments/new")
        await page.click("nav.formats >> text=Ladder")
        await page.fill("[name=name]", "Day and night")
        await page.click("text=Make the tournament")
        await page.click("button:text-is('Start')")
        await page.click("button:text-is('Pause')")
        await page.click("button:text-is('Resume')")
        await page.click("summary:text-is('Cancel it')")
        await page.fill("[name=note]", "rain")
        await page.click("button:text-is('Cancel the tournament')")
        await expect(page.locator("main")).to_contain_text("· over ·")
        await expect(page.locator("#run")).to_have_count(0)


async def test_a_token_is_shown_once_and_its_author_sees_the_bot_that_uses_it(server: Served, browser: Open) -> None:
    author = await secret(server, "dora", Scope.PLAY, Scope.OBSERVE)
    async with browser() as page:
        await sign_in(page, author, "/tokens")
        await page.fill("[name=note]", "for the bot")
        await page.fill("[name=token]", author)
        await page.click("text=Make a token")
        token = await page.locator(".secret").inner_text()
        await page.click("text=Done")
        await expect(page.locator("main")).to_contain_text("for the bot")
        await expect(page.locator(".secret")).to_have_count(0)
        await page.click("text=Your bot")
        await expect(page.locator("#connection")).to_contain_text("Not connected")
        playing = asyncio.create_task(arb.play(Scripted("dora"), server.address, token=token))
        await expect(page.locator("#connection")).to_contain_text("Connected since")  # without a reload
        await expect(page.locator("#connection")).to_contain_text("dora 1")
        await page.click("text=Tokens")
        row = page.locator("tr", has_text="for the bot")
        await row.locator("text=Revoke").click()
        await expect(page.locator("tr", has_text="for the bot")).to_contain_text("revoked")
        await page.click("text=Your bot")
        await expect(page.locator(".log")).to_contain_text("TOKEN_INVALID")
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)
