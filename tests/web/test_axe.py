"""Accessibility: axe finds nothing serious in the pages, in a real browser, in light and dark; no page is too wide.

`make test` checks each page in light or in dark, `make soak` in both.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import Page, ViewportSize, expect

import arbiter
from arbiter.service.players.accounts import Scope
from arbiter.testing.served import Served
from arbiter.tournaments.commands import Enter, Start
from arbiter.tournaments.spec import Format, Spec
from tests.clients.toolchains import require
from tests.web.chromium import Open, playing

pytestmark = [pytest.mark.toolchain, pytest.mark.long, pytest.mark.asyncio(loop_scope="module")]

Scheme = Literal["light", "dark"]
BOTH: tuple[Scheme, ...] = ("light", "dark")

PHONE: ViewportSize = {"width": 360, "height": 740}
SCREEN: ViewportSize = {"width": 1280, "height": 720}
LONG = "a-name-of-as-many-letters-as-are-allowed"

SCRIPT = Path(arbiter.__file__).parent / "web" / "script"


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the source of axe."""
    require("node", "npm", why="axe comes by them")
    folder = tmp_path_factory.mktemp("axe")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(SCRIPT / name, folder)
    command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text()


async def found(page: Page, axe: str, schemes: Sequence[Scheme]) -> list[str]:
    """Return axe's serious and worse findings on a page, by colour scheme; and whether the page is too wide."""
    await page.evaluate(axe)
    wrong = []
    for size in (PHONE, SCREEN):
        await page.set_viewport_size(size)
        wide = await page.evaluate("document.documentElement.scrollWidth")
        wrong += [f"{page.url}: {wide} pixels wide in a window of {size['width']}"] if wide > size["width"] else []
    for scheme in schemes:
        await page.emulate_media(color_scheme=scheme)
        answer = await page.evaluate("options => axe.run(options)", {"resultTypes": ["violations"]})
        wrong += [
            f"{page.url}: {scheme}: {each['id']}: "
            f"{each['nodes'][0]['html'][:200]} {each['nodes'][0]['failureSummary'][:300]}"
            for each in answer["violations"]
            if each["impact"] in ("serious", "critical")
        ]
    return wrong


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.soak)])
async def test_axe_finds_nothing_serious_and_no_page_scrolls_sideways(
    server: Served, browser: Open, axe: str, whole: bool
) -> None:
    turns = cycle([BOTH] if whole else [BOTH[:1], BOTH[1:]])
    ((_, bearer),) = await server.token("alice", Scope.PLAY, Scope.OBSERVE, Scope.ORGANISE)
    wrong = []
    spec = Spec("Cup", Format.KNOCKOUT, ("hop-it",), "1m")
    tournaments = server.running.arbiter.tournaments
    cup = (await tournaments.create(spec, "alice", f"make {whole}")).id
    for name in ("alice", "bob", "carol", LONG):
        await server.token(name)
        await tournaments.act(cup, Enter(name, "alice", f"enter {name}"))
    await tournaments.act(cup, Start("alice", "start"))
    async with playing(server, "elevation") as match, browser(reduced_motion="reduce") as page:
        await match.moves(3)
        async with playing(server, "hop-it") as over:
            await over.moves(4, evaluation=600)
            await over.resign()
        paths = (
            "/",
            "/matches",
            match.address,
            over.address,
            "/leaderboard",
            "/rulings",
            "/players/alice",
            f"/players/{LONG}",
            "/games",
            "/games/pods",
        )
        for path in (*paths, "/games/pondlife", f"/tournaments/{cup}", "/sign-in", "/register"):
            await page.goto(path)
            wrong += await found(page, axe, next(turns))
        await page.goto("/sign-in?onward=/play")
        await page.fill("[name=token]", bearer.partition(" ")[2])
        await page.keyboard.press("Enter")
        await expect(page.locator("h1")).to_have_text("Play")
        wrong += await found(page, axe, next(turns))
        for path in (
            "/tournaments",
            "/tournaments/new",
            f"/tournaments/{cup}",
            "/tokens",
            "/bot",
            f"{over.address}/log",
        ):
            await page.goto(path)
            await expect(page.locator("h1")).not_to_have_text("Sign in")
            wrong += await found(page, axe, next(turns))
        await match.moves(match_parity(await match.moves(0)))
        await page.goto(match.address)
        await page.locator(".pick").first.focus()
        await page.keyboard.press("Enter")
        await expect(page.locator(".picked")).to_have_count(1)
        wrong += await found(page, axe, next(turns))
    assert wrong == []


def match_parity(moves: list[str]) -> int:
    """Return how many moves there are until the next of seat 1, in a game whose seats take turns."""
    return len(moves) % 2
