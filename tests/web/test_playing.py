"""A person plays in a real browser: whole games by clicks against a bot, by dragging, by keyboard, against people."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Sequence
from typing import Final

import arbiter_client as arb
import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from arbiter.games import registry
from arbiter.games.contract import AnyGame
from arbiter.matches.commands import Abort, Create
from arbiter.testing.served import Served
from tests.web.chromium import Open, compose, shown_position

pytestmark = [pytest.mark.toolchain, pytest.mark.asyncio(loop_scope="module")]

LINES: Final = {
    "circle-of-life(target=3)": "f2 e3 g2 b2 a2 b4 a3",
    "pods(size=3)": "b4 b3 c5 b3-a3 c5-a2",
    "pondlife": "e1-e2=W2 d8-d7 e2-d2=W5 e9-d8=egg e2-e9",
    "hop-it": "b5-c5 g2xe1 b4-c3 g4xe5xg6 c5-d5 g3xe4xc5 a5xc6xc4xe5xg6xg4xe3xg2xe1 f5-f6 a3xa1xc2xc4xe5xg6",
    "elevation": (
        "a1:da2b2,ma2 a6:ma5,da4b4 e1:me2,me3 e6:mf5,mf4 e3:me2,me1 f4:mf5,me6 e1:me2,me3 e6:mf5,mf4 e3:me2,me1 "
        "f4:mf5,me6"
    ),
    "chess": "h2h4 g7g5 h4g5 h7h6 g5h6 f8g7 h6g7 f7f6 g7h8q b7b6 h8g8",
    "go": "e5 pass pass",
    "go(scoring=agreed)": "e5 a1 pass pass dead-a1 agree agree",
    "othello": "d3 e3 f3 c3 b3 f4 f5 d6 d7",
    "hex(size=3)": "b3 c3 b2 a1 c1",
    "connect-four": "d a d a d a d",
    "breakthrough": "c2-c3 a7-b6 c3-c4 e7-f6 c4-c5 f8-e7 c5-d6 a8-a7 d6-e7 b6-c5 e7-d8",
    "checkers": (
        "b6-c5 e3-f4 c7-b6 g3-h4 d8-c7 f4-g5 h6xf4 h4-g5 f6xh4 h2-g3 f4xh2 f2-e3 d6-e5 e1-f2 b6-a5 c3-d4 e5xc3xe1 "
        "e3-f4 e1xg3xe5 g1-f2 h2-g1 a3-b4 g1xe3 b4xd6 e7xc5 c1-d2 e3xc1xa3 a1-b2 a3xc1"
    ),
    "amazons": (
        "d1-c1/c10 g10-i8/i10 c1-c6/a8 i8-g10/d7 c6-c9/c1 j7-h7/h8 j4-g7/f8 h7-e10/i6 g7-f7/g8 e10-a6/e2 f7-j7/j4 "
        "a6-d6/f4 j7-h7/j7 a7-a6/c6 c9-b9/b7 d10-c9/f6 h7-f5/c5 g10-f9/e8 f5-d3/e3 a6-b5/a5 d3-d4/e5 b5-b6/a6 "
        "a4-b3/a3 d6-a9/d6 g1-g7/e7 b6-c7/b6 g7-f7/h7 c9-b8/c8 b3-d3/f5 b8-d10/d8 f7-c4/d5 f9-f10/e9 d3-d2/e1 "
        "f10-g9/j9 d4-a1/a2 g9-i9/h10 d2-c3/b2 i9-j10/i9 c3-d2/d3 d10-a7/c9 d2-d1/d2 a9-a10/b10 b9-b8/a9 a10-b9/a10 "
        "c4-c3/c4"
    ),
}
"""Short complete games; the person has seat 1. In that of Elevation the position occurs for the third time; in chess a
pawn becomes a queen, in Go the person passes, and marks a dead stone.
"""

BEEPS: Final = """
window.beeps = 0;
window.AudioContext = class extends AudioContext { constructor() { super(); window.beeps += 1; } };
"""
"""Counts the sounds of a page."""

IN_SHORT: Final = ("pods(size=3)", "chess", "go(scoring=agreed)")  #: moves of several parts are played in the explorer
LONGER: Final = tuple(variant for variant in LINES if variant not in IN_SHORT)


class LineBot(arb.Bot):
    """Plays its half of the lines above; in any other game the first legal move."""

    name = "liner"

    def choose(self, turn: arb.Turn) -> str:
        line = LINES.get(turn.game, "").split()
        on_it = list(turn.match.moves) == line[: turn.ply] and turn.ply < len(line)
        return line[turn.ply] if on_it else self.legal_moves(turn)[0].text


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bot(server: Served) -> AsyncIterator[str]:
    """Run a bot that accepts challenges; return its name."""
    token = await secret(server, "liner")
    playing = asyncio.create_task(arb.play(LineBot(), server.address, token=token))
    yield "liner"
    playing.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await playing


async def secret(server: Served, player: str) -> str:
    ((_, bearer),) = await server.token(player)
    return bearer.partition(" ")[2]


async def sign_in(page: Page, server: Served, player: str) -> None:
    await page.goto("/sign-in?onward=/play")
    await page.fill("[name=token]", await secret(server, player))
    await page.keyboard.press("Enter")
    await expect(page.locator("h1")).to_have_text("Play")


async def start_match(page: Page, variant: str, opponent: str) -> None:
    game, _, parameters = variant.rstrip(")").partition("(")
    await page.goto("/play")
    await page.fill("[name=named]", opponent)
    await page.select_option("[name=game]", game)
    await page.fill("[name=parameters]", parameters)
    await page.select_option("[name=seat]", "1")
    await page.click("main button:text-is('Play')")
    await page.wait_for_url(re.compile("/matches/"))


@pytest.mark.parametrize("variant", [*IN_SHORT, *(pytest.param(each, marks=pytest.mark.soak) for each in LONGER)])
async def test_a_whole_game_by_clicks_against_a_bot(server: Served, browser: Open, bot: str, variant: str) -> None:
    game, line = registry.game(variant), LINES[variant].split()
    position = game.initial()
    async with browser() as page:
        await sign_in(page, server, "walter")
        await start_match(page, variant, bot)
        listed = page.locator("[data-moves] li a")
        for ply, move in enumerate(line):
            if position.turn == 1:
                await expect(page.locator(".pick").first).to_be_attached()
                await compose(page, game, position, move)
            await expect(listed.nth(ply)).to_contain_text(game.notation(position, move))
            position = game.play(position, move)
        reason = position.outcome.reason.replace("_", " ")
        seat = "" if game.facts.seats[0] == "1" else f" ({game.facts.seats[0]})"
        end = f"walter{seat} wins" if position.outcome.winner == 1 else "a draw"
        await expect(page.locator("[data-result]")).to_have_text(f"{end}: {reason}")
        await expect(page.locator("[data-rematch]")).to_be_visible()
        await expect(page.locator(".pick")).to_have_count(0)


async def test_places_have_spots_where_these_do_not_hide_the_board(server: Served, browser: Open, bot: str) -> None:
    async with browser() as page:
        await sign_in(page, server, "walter")
        for variant, seen in (("othello", True), ("go", False)):
            await start_match(page, variant, bot)
            spot = page.locator(".pick[data-kind=place] .spot").first
            await expect(spot).to_be_attached()
            await expect(spot).to_be_visible(visible=seen)


def cells(game: AnyGame, *names: str) -> Sequence[str]:
    return [f".pick[data-cell='{game.board.index[name]}']" for name in names]


async def test_a_move_by_dragging_and_one_by_keyboard(server: Served, browser: Open, bot: str) -> None:
    game = registry.game("hop-it")
    source, target = cells(game, "b2", "c2")
    async with browser() as page:
        await sign_in(page, server, "walter")
        await page.add_init_script(BEEPS)
        await start_match(page, "hop-it", bot)
        await page.check("[data-sound]")
        await page.hover(source)
        await page.mouse.down()
        await page.hover(target)
        await page.mouse.up()
        await expect(page.locator("[data-moves] li a")).to_have_count(2)
        assert await page.evaluate("window.beeps") == 1  # for the bot's move, not for the person's
        await page.uncheck("[data-sound]")
        await page.focus(".pick >> nth=0")
        await page.keyboard.press("Enter")
        await expect(page.locator(".picked")).to_have_count(1)
        await page.keyboard.press("Escape")
        await expect(page.locator(".picked")).to_have_count(0)
        await page.keyboard.press("ArrowRight")
        await page.keyboard.press("ArrowUp")
        position = await shown_position(page, game)
        await compose(page, game, position, game.moves(position)[-1], keyboard=True)
        await expect(page.locator("[data-moves] li a")).to_have_count(4)
        assert await page.evaluate("window.beeps") == 1
        page.on("dialog", lambda dialog: asyncio.ensure_future(dialog.accept()))
        await page.click("text=Resign")
        await expect(page.locator("[data-result]")).to_contain_text("wins: resignation")


async def test_two_people_play_agree_on_a_draw_and_play_again(server: Served, browser: Open) -> None:
    async with browser() as one, browser() as other:
        await sign_in(one, server, "walter")
        await sign_in(other, server, "wanda")
        await one.fill("[name=named]", "wanda")
        await one.select_option("[name=game]", "elevation")
        await one.click("main button:text-is('Play')")
        await expect(one.locator("h1")).to_have_text("Waiting for wanda")
        await other.click("text=Accept")
        await other.wait_for_url(re.compile("/matches/"))
        await one.wait_for_url(re.compile("/matches/"))
        await expect(one.locator("[data-result]")).to_have_text("under way")
        await one.click("text=Offer a draw")
        await other.click("text=Accept the draw")
        for page in (one, other):
            await expect(page.locator("[data-result]")).to_have_text("a draw: draw agreed")
        first = one.url
        await one.click("text=Rematch")
        await other.click("#rematches >> text=Accept")
        for page in (one, other):
            await page.wait_for_url(lambda url: "/matches/" in url and url != first)
            await expect(page.locator("[data-result]")).to_have_text("under way")
        page.on("dialog", lambda dialog: asyncio.ensure_future(dialog.accept()))
        await other.click("text=Resign")
        await expect(one.locator("[data-result]")).to_contain_text("wins: resignation")


async def test_in_chess960_a_person_castles_by_a_click_on_the_king_and_one_on_its_rook(
    server: Served, browser: Open
) -> None:
    game, arbiter = registry.game("chess960"), server.running.arbiter
    king, rook = cells(game, "f1", "g1")
    fen = "bqnnrkrb/pppppppp/8/8/8/8/PPPPPPPP/BQNNRKRB w KQkq - 0 1"
    made = Create("chess960", ("walter", "walter"), "10m", "org", "castle", arbiter.policy, False, "", position=fen)
    await server.token("org")
    async with browser() as page:
        await sign_in(page, server, "walter")
        with arbiter.sessions.attending("walter"):
            match = await arbiter.matches.create(made)
            await page.goto(f"/matches/{match.id}")
            await expect(page.locator("header.title")).to_contain_text(f"start position 3: {fen}")
            await page.click(king)
            await page.click(rook)
            await expect(page.locator("[data-moves] li a")).to_have_text("1. O-O")
            await arbiter.matches.act(match.id, Abort("org", "the test is over"))


async def test_on_a_phone_the_pieces_to_which_a_pawn_may_promote_come_into_view(server: Served, browser: Open) -> None:
    game, arbiter = registry.game("chess"), server.running.arbiter
    pawn, last = cells(game, "a7", "a8")
    fen = "4k3/P7/8/8/8/8/8/4K3 w - - 0 1"
    made = Create("chess", ("walter", "walter"), "10m", "org", "promote", arbiter.policy, False, "", position=fen)
    await server.token("org")
    async with browser(viewport={"width": 390, "height": 640}, has_touch=True) as page:
        await sign_in(page, server, "walter")
        with arbiter.sessions.attending("walter"):
            match = await arbiter.matches.create(made)
            await page.goto(f"/matches/{match.id}")
            await page.tap(pawn)
            await page.tap(last)
            await expect(page.locator("text=become: queen")).to_be_in_viewport(ratio=0.9)
            await page.tap("text=become: rook")
            await expect(page.locator("[data-moves] li a")).to_have_text("1. a8=R+")
            await arbiter.matches.act(match.id, Abort("org", "the test is over"))


async def test_the_explorer_plays_both_seats(browser: Open) -> None:
    game = registry.game("elevation")
    async with browser() as page:
        await page.goto("/games/elevation")
        position = game.initial()
        for move in ("a1:da2b2,ma2", "a6:ma5,da4b4"):
            await expect(page.locator(".pick").first).to_be_attached()
            await compose(page, game, position, move)
            position = game.play(position, move)
            await expect(page.locator("[data-line]")).to_contain_text(move)
        await page.click("text=Take back")
        await expect(page.locator("[data-line]")).to_have_text("a1:da2b2,ma2")
