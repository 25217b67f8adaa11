"""A real browser on a real server, and matches for it to show."""

from __future__ import annotations

import contextlib
import itertools
import re
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Final, TypeAlias

from playwright.async_api import Browser, ConsoleMessage, Page, async_playwright, expect

from arbiter.games.contract import AnyGame
from arbiter.matches.commands import Abort, Create, OfferDraw, Play, Resign
from arbiter.matches.comments import Comment
from arbiter.matches.match import Phase, with_position
from arbiter.testing.served import Served
from arbiter.web.choices import picks
from tests.clients.toolchains import require

PROGRAM: Final = "chromium-headless-shell"  #: Chromium without windows opens a page with a sixth of the work
PATIENCE_MS: Final = 240_000  #: milliseconds: a busy machine is slow; otherwise everything appears at once
expect.set_options(timeout=PATIENCE_MS)

Open: TypeAlias = Callable[..., AbstractAsyncContextManager[Page]]
"""Opens a page of the server in a new window; the arguments describe the window."""

NUMBERS: Final = itertools.count()  #: numbers for new matches: each needs another request id


@contextlib.asynccontextmanager
async def chromium(*arguments: str, **given: Any) -> AsyncIterator[Browser]:
    """Start Chromium, and end it with the context. arguments: of the program. given: for playwright's `launch`."""
    require(PROGRAM, why="pages are tried in it")
    async with async_playwright() as tools:
        browser = await tools.chromium.launch(
            executable_path=shutil.which(PROGRAM), args=["--no-sandbox", *arguments], **given
        )
        yield browser
        await browser.close()


@contextlib.asynccontextmanager
async def opened(browser: Browser, server: Served, refused: bool = False, **given: Any) -> AsyncIterator[Page]:
    """Open a page in a new window; an error in it fails the test, except refused forms if `refused`."""
    context = await browser.new_context(base_url=server.running.page, **given)
    page = await context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if _is_error(message, refused) else None)
    yield page
    assert wrong == []
    await context.close()


def _is_error(message: ConsoleMessage, refused: bool) -> bool:
    meant = ["ERR_INTERNET_DISCONNECTED", *(["status of 400"] if refused else [])]  # a test disconnects the network
    return message.type == "error" and not any(each in message.text for each in meant)


class Played:
    """A match of alice and bob on a running server."""

    def __init__(self, server: Served, match_id: str) -> None:
        self._matches = server.running.arbiter.matches
        self.id = match_id
        self.address = f"{server.running.page}matches/{match_id}"

    async def moves(self, count: int, evaluation: int | None = None) -> list[str]:
        """Play this many moves, each with its player's expected score in permille; return all moves."""
        said = Comment(evaluation) if evaluation is not None else None
        for _ in range(count):
            match = with_position(await self._matches.match(self.id))
            move = min(match.game.moves(match.position))
            play = partial(Play, request=f"ply {match.ply}", ply=match.ply, move=move, arrived=match.at, comment=said)
            await self._matches.request(match.players[match.turn - 1], self.id, play)
        return list((await self._matches.match(self.id)).moves)

    async def offer(self) -> None:
        """Let the player who has moved last offer a draw."""
        match = await self._matches.match(self.id)
        await self._matches.request(match.players[2 - match.turn], self.id, lambda seat: OfferDraw(seat, "offer"))

    async def resign(self) -> None:
        """Let alice resign."""
        await self._matches.request("alice", self.id, lambda seat: Resign(seat, "enough"))

    async def end(self) -> None:
        """End the match if it is still running, so that the next test does not find it."""
        if (await self._matches.match(self.id)).phase is not Phase.ENDED:
            await self._matches.act(self.id, Abort("org", "the test is over"))


@contextlib.asynccontextmanager
async def playing(server: Served, game: str) -> AsyncIterator[Played]:
    """Begin a match with connected players."""
    arbiter = server.running.arbiter
    command = Create(game, ("alice", "bob"), "10m", "org", f"make {next(NUMBERS)}", arbiter.policy, False, "")
    for name in ("alice", "bob", "org"):
        await server.token(name)
    with arbiter.sessions.attending("alice"), arbiter.sessions.attending("bob"):
        match = Played(server, (await arbiter.matches.create(command)).id)
        yield match
        await match.end()


async def challenge(page: Page, person: str, opponent: str, game: str) -> None:
    """Register a person, and have it begin a match with seat 1 against a bot."""
    page.set_default_timeout(PATIENCE_MS)
    await page.goto("/register")
    await page.fill("[name=name]", person)
    await page.keyboard.press("Enter")
    await expect(page.locator("h1")).to_have_text(f"Welcome, {person}")
    await page.goto("/play")
    await page.fill("[name=named]", opponent)
    await page.select_option("[name=game]", game)
    await page.select_option("[name=seat]", "1")
    await page.click("main button:text-is('Play')")
    await page.wait_for_url(re.compile("/matches/"))


async def play_last_move(page: Page, game: AnyGame) -> None:
    """Play the last legal move of the position that a page of a match shows; wait until the opponent has moved too."""
    listed = page.locator("[data-moves] li a")
    position, plies = await shown_position(page, game), await listed.count()
    await compose(page, game, position, game.moves(position)[-1])
    await expect(listed).to_have_count(plies + 2)


async def shown_position(page: Page, game: AnyGame) -> Any:
    """Return the position after the moves that a page of a match lists."""
    position = game.initial()
    for move in await page.locator("[data-moves] li a").all_text_contents():
        position = game.play(position, move)
    return position


async def compose(page: Page, game: AnyGame, position: Any, move: str, keyboard: bool = False) -> None:
    """Pick a move on the board, part by part: by clicks, or with the keyboard."""
    for _, cell, words in picks(game, move, game.steps(position, move)):
        if cell >= 0:
            target = page.locator(f".pick[data-cell='{cell}']")
            await (target.press("Enter") if keyboard else target.click())
        option = page.locator("[data-options]").get_by_role("button", name=words, exact=True)
        if await option.count():
            await (option.press("Enter") if keyboard else option.click())
    whole = page.locator("[data-options]").get_by_role("button", name=f"Play {move}", exact=True)
    if await whole.count():
        await (whole.press("Enter") if keyboard else whole.click())
