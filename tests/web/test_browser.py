"""The pages in a real browser: a match is viewed live, stepped through and verified; accessibility of live boards."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from arbiter.games import registry
from arbiter.matches.commands import Abort, Create
from arbiter.testing.served import Served
from tests.web.chromium import Open, playing

pytestmark = [pytest.mark.toolchain, pytest.mark.asyncio(loop_scope="module")]

DRAWN = """() => Object.fromEntries([...document.querySelectorAll("svg.board > g[class]")].map((layer) => [
  layer.getAttribute("class"),
  [...layer.children].map((part) => {
    const what = part.querySelector("use") ?? part;
    const of = ["href", "class", "d", "points", "x1", "y1", "x2", "y2"].map((name) => what.getAttribute(name));
    const size = Number(part.querySelector("text")?.getAttribute("font-size")).toFixed(1);
    return [part.getAttribute("data-at"), part.getAttribute("transform"), part.textContent, size, ...of].join(" ");
  }).sort(),
]))"""
"""Returns the elements in each layer of a board, without the order of elements of one kind."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def page(browser: Open) -> AsyncIterator[Page]:
    """Return one window for the tests that leave it as it was: to open another costs half a second."""
    async with browser() as window:
        yield window


async def test_a_match_is_viewed_to_its_end_stepped_through_and_verified(server: Served, page: Page) -> None:
    async with playing(server, "hop-it") as match:
        await page.goto(match.address)
        moves = await match.moves(3)
        listed = page.locator("[data-moves] li")
        await expect(listed).to_have_count(3)
        await expect(listed.last).to_contain_text(moves[-1])
        await expect(page.locator(".panel.turn .name")).to_have_text("bob")
        await expect(page.locator("[data-clock='2']")).to_have_text(re.compile(r"^9:\d\d$"))
        now = await page.evaluate(DRAWN)
        await page.keyboard.press("ArrowLeft")
        await expect(page.locator("output")).to_have_text("2/3")
        await match.moves(1)  # the match goes on while an earlier ply is shown
        await expect(page.locator("output")).to_have_text("2/4")
        await page.keyboard.press("ArrowRight")
        await expect(page.locator("output")).to_have_text("3/4")
        await expect(page.locator("[aria-current=step]")).to_contain_text(moves[-1])
        assert await page.evaluate(DRAWN) == now
        await match.resign()
        await expect(page.locator("[data-result]")).to_have_text("bob (Black) wins: resignation")
        await page.click("[data-verify]")
        await expect(page.locator(".good")).to_contain_text("Verified")
        await expect(page.locator(".good")).to_contain_text("Not checked here: rules and clocks")
        await page.goto(f"{match.address}?ply=2")
        await expect(page.locator("output")).to_have_text("2/4")


@pytest.mark.parametrize("game", [*registry.SEED, "chess"])
async def test_a_board_that_was_updated_move_by_move_equals_the_servers_drawing(
    server: Served, page: Page, game: str
) -> None:
    async with playing(server, game) as match:
        await page.goto(match.address)
        await match.moves(8)
        await expect(page.locator("output")).to_have_text("8/8")
        for ply in (7, 6, 5):
            await page.keyboard.press("ArrowLeft")
            await expect(page.locator("output")).to_have_text(f"{ply}/8")
        await page.keyboard.press("ArrowRight")
        await expect(page.locator("output")).to_have_text("6/8")
        drawn = await page.evaluate(DRAWN)
        await page.goto(f"{match.address}?ply=6")
        assert drawn == await page.evaluate(DRAWN)


async def test_letters_on_pieces_are_a_setting_that_the_browser_keeps(page: Page) -> None:
    displayed = """() => [".of-shape", ".of-letters"].map((name) =>
      getComputedStyle(document.querySelector(name)).display)"""
    await page.goto("/games/pondlife")
    assert await page.evaluate(displayed) == ["inline", "none"]
    await page.check("[data-letters]")
    assert await page.evaluate(displayed) == ["none", "inline"]
    await page.goto("/games/pondlife")
    await expect(page.locator("[data-letters]")).to_be_checked()
    assert await page.evaluate(displayed) == ["none", "inline"]
    await page.uncheck("[data-letters]")
    assert await page.evaluate(displayed) == ["inline", "none"]


async def test_a_moving_piece_keeps_its_element(server: Served, page: Page) -> None:
    async with playing(server, "hop-it") as match:
        await page.goto(match.address)
        moved = 0
        for ply in range(1, 5):
            await page.evaluate("window.drawn = [...document.querySelectorAll('.pieces > g')]")
            before = (await page.evaluate(DRAWN))["pieces"]
            await match.moves(1)
            await expect(page.locator("output")).to_have_text(f"{ply}/{ply}")
            after = (await page.evaluate(DRAWN))["pieces"]
            alike = Counter(map(_looks, before)) & Counter(map(_looks, after))
            kept = await page.evaluate("window.drawn.filter((piece) => piece.isConnected).length")
            assert kept == alike.total()
            moved += kept - len({*before} & {*after})
        assert moved


def _looks(piece: str) -> str:
    """Return the symbol of a piece, without its place and its text."""
    return piece.partition("#")[2]


async def test_connected_players_are_marked_and_the_last_seconds_shown_in_tenths(server: Served, browser: Open) -> None:
    arbiter = server.running.arbiter
    command = Create("hop-it", ("alice", "bob"), "19s", "org", "make it short", arbiter.policy, False, "")
    with arbiter.sessions.attending("alice"):
        match_id = (await arbiter.matches.create(command)).id
        async with browser() as page:
            await page.goto(f"/matches/{match_id}")
            away = page.locator("[data-away]")
            await expect(away.first).to_be_visible()  # seat 2 is above the board
            await expect(away.last).to_be_hidden()
            with arbiter.sessions.attending("bob"):
                await expect(away.first).to_be_hidden()  # without a reload
                clock = page.locator("[data-clock='1']")
                await expect(clock).to_have_text(re.compile(r"^1?\d\.\d$"))
                begun = await clock.inner_text()
                await expect(clock).not_to_have_text(begun)
    await arbiter.matches.act(match_id, Abort("org", "the test is over"))


async def test_a_forged_record_is_not_shown_as_verified(server: Served, browser: Open) -> None:
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


async def test_a_failed_connection_is_retried(server: Served, browser: Open) -> None:
    async with playing(server, "pods(size=3)") as match, browser() as page:
        first: list[Any] = []

        async def hold(route: Any) -> None:
            if first:
                await route.continue_()
            else:
                first.append(route)

        await page.route("**/events?*", hold)
        await page.clock.install()
        async with page.expect_request("**/events?*"):
            await page.goto(match.address)
        async with page.expect_request("**/events?*"):
            await page.clock.fast_forward(10_001)
        await match.moves(1)
        await expect(page.locator("[data-moves] li")).to_have_count(1)


async def test_boards_of_the_front_page_are_live(server: Served, browser: Open) -> None:
    async with playing(server, "pods(size=4)") as match, browser(color_scheme="dark") as page:
        await match.moves(1)
        await page.goto(str(server.running.page))
        pieces = page.locator(".card .pieces > g")
        await expect(pieces).to_have_count(1)
        await expect(page.locator(".card [data-said]")).to_have_text("ply 1")
        await match.moves(2)
        await expect(page.locator(".card [data-said]")).to_have_text("ply 3")
        assert len(await pieces.all()) in (2, 3)  # pods placed, or moved


async def test_the_end_of_a_match_shows_the_expected_scores(server: Served, page: Page) -> None:
    async with playing(server, "hop-it") as match:
        await page.goto(match.address)
        await match.moves(4, evaluation=700)
        await expect(page.locator("[data-moves] li")).to_have_count(4)
        bars = page.locator(".spent.of1")
        assert await page.locator(".curves").count() == 1
        assert ((await bars.get_attribute("d")) or "").count("M") <= 2
        await match.resign()
        await expect(page.locator(".curves")).to_have_count(2)
        await expect(page.locator("[data-expected]")).to_have_text("Expected score: alice 70 %, bob 70 %")
        await page.locator(".curves").last.click(position={"x": 30, "y": 20})
        await expect(page.locator("output")).to_have_text("0/4")
        await expect(page.locator("[data-expected]")).to_have_text("")
        await expect(page.locator("[data-animation]")).to_be_visible()


async def test_the_front_page_shows_the_next_match_without_a_reload(server: Served, page: Page) -> None:
    await page.goto(str(server.running.page))
    await expect(page.locator("h1")).to_have_text("Nothing is being played now")
    async with playing(server, "hop-it") as match:
        await expect(page.locator(".card")).to_have_count(1)
        await match.moves(1)
        await expect(page.locator(".card [data-said]")).to_have_text("ply 1")
        await match.resign()
        await expect(page.locator(".card")).to_have_count(0)


async def test_a_new_match_is_added_to_those_on_the_front_page(server: Served, page: Page) -> None:
    async with playing(server, "hop-it") as first:
        await page.goto(str(server.running.page))
        await expect(page.locator(".card")).to_have_count(1)
        async with playing(server, "hop-it") as second:
            await expect(page.locator(".card")).to_have_count(2)
            for match in (first, second):
                await match.moves(1)
                await expect(page.locator(f".card[data-match={match.id}] [data-said]")).to_have_text("ply 1")


async def test_no_page_is_wider_than_a_phone(server: Served, browser: Open) -> None:
    async with playing(server, "pondlife") as match, browser(viewport={"width": 360, "height": 740}) as page:
        await match.moves(4)
        for address in (match.address, str(server.running.page), f"{server.running.page}games/hop-it"):
            await page.goto(address)
            assert await page.evaluate("document.documentElement.scrollWidth") <= 360, address


async def test_a_person_signs_in_and_out(server: Served, browser: Open) -> None:
    (_, bearer), *_ = await server.token("walter")
    async with browser() as page:
        await page.goto("/games")
        await page.click("text=Sign in")
        await page.fill("[name=token]", bearer.partition(" ")[2])
        await page.keyboard.press("Enter")
        await expect(page).to_have_url(re.compile("/games$"))
        await expect(page.locator(".who-am-i a")).to_have_text("walter")
        assert await page.evaluate("document.cookie") == ""
        await page.click("text=Sign out")
        await expect(page.locator(".who-am-i a")).to_have_text("Sign in")
        assert [each["name"] for each in await page.context.cookies()] == []


async def test_the_legal_moves_of_a_ply_are_shown(server: Served, page: Page) -> None:
    async with playing(server, "hop-it") as match:
        await match.moves(2)
        await match.resign()
        await page.goto(f"{match.address}?ply=0")
        await page.check("[data-legal]")
        count = len(registry.game("hop-it").moves(registry.game("hop-it").initial()))
        await expect(page.locator("[data-legal-said]")).to_have_text(f"{count} legal moves")
        cell = registry.game("hop-it").board.index
        await page.click(f".pick[data-cell='{cell['b2']}']")
        await page.click(f".pick[data-cell='{cell['c2']}']")
        await expect(page.locator("[data-legal-said]")).to_have_text("b2-c2 is legal here.")
        await page.click("[data-go=on]")
        await expect(page.locator("[data-legal-said]")).to_contain_text("legal moves")
        await page.uncheck("[data-legal]")
        await expect(page.locator(".pick")).to_have_count(0)


@pytest.mark.parametrize("how", ["frozen", "offline"])
async def test_a_page_catches_up_after_a_disconnection(server: Served, browser: Open, how: str) -> None:
    async with playing(server, "elevation") as match, browser() as page:
        await match.moves(1)
        await page.goto(match.address)
        await expect(page.locator("[data-moves] li")).to_have_count(1)
        tab = await page.context.new_cdp_session(page)
        if how == "frozen":  # as a browser does with a tab that is hidden for long
            await tab.send("Page.setWebLifecycleState", {"state": "frozen"})
        else:
            await page.context.set_offline(True)
        await match.moves(2)
        await match.offer()  # what is no move is drawn with the match as it is when the page comes back
        moves = await match.moves(3)
        if how == "frozen":
            await tab.send("Page.setWebLifecycleState", {"state": "active"})
        else:
            await page.context.set_offline(False)
        await expect(page.locator("[data-moves] li a")).to_have_text(moves)
        await expect(page.locator("output")).to_have_text("6/6")
        await expect(page.locator(".lost")).to_have_count(0)
