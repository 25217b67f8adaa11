"""A server is killed in the middle of a person's match, and restarted: in a real browser."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from playwright.async_api import expect

from arbiter.games import registry
from arbiter.runtime.loopback import free_port
from tests.cli.command import Server
from tests.web.chromium import challenge, chromium, play_last_move

pytestmark = [pytest.mark.toolchain, pytest.mark.long]


async def test_a_person_plays_on_after_the_server_was_killed(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    options = ("--web", address, "--bot", "random")
    server = Server(tmp_path, *options)
    cell = registry.game("hop-it").board.index
    try:
        async with chromium() as browser:
            page = await browser.new_page(base_url=f"http://{address}/")
            listed = page.locator("[data-moves] li a")
            await challenge(page, "walter", "random", "hop-it")
            await page.click(f".pick[data-cell='{cell['b2']}']")
            await page.click(f".pick[data-cell='{cell['c2']}']")
            await expect(listed).to_have_count(2)
            assert server.stop(signal.SIGKILL) == -signal.SIGKILL
            await expect(page.locator(".lost")).to_contain_text("The connection is lost")
            server = Server(tmp_path, *options, port=int(server.address.rpartition(":")[2]))
            await expect(page.locator(".lost")).to_have_count(0)
            await expect(page.locator("[data-result]")).to_have_text("under way")
            await play_last_move(page, registry.game("hop-it"))
            assert server.stop() == 0
    finally:
        server.process.kill()
        print(server.process.communicate()[0], server.log.read_text())  # if this fails: has the bot come back?
