"""What the author of a bot sees of it: its connection, why it ended, and the logs of its matches."""

from __future__ import annotations

import asyncio

import pytest

from arbiter.matches.commands import Play
from arbiter.service.play.pings import silent
from arbiter.service.players.accounts import Scope
from tests.rpc.servers import WAIT_S
from tests.web.site import APART, Elements, Site, played
from tests.web.test_organising import HOSTILE, sign_in


@pytest.mark.parametrize("page", [1], indirect=True)
async def test_an_author_sees_the_connection_of_its_bot_and_why_it_ended(page: Site) -> None:
    """On one server: of several, only one has the connection of the bot, and shows all of it."""
    assert (await page.get("/bot")).headers["location"] == "/sign-in?onward=/bot"
    await sign_in(page, "alice", Scope.PLAY, Scope.OBSERVE)
    assert "Not connected" in (await page.get("/bot")).text
    stream = await page.server.connect("alice", bot_name=HOSTILE, bot_version="v7")
    shown = await page.get("/bot")
    words = Elements(shown.text).words
    assert "Connected since" in words
    assert f"{HOSTILE} v7" in words
    stream.session.end(silent(30_000))
    page.server.arbiter.sessions.close(stream.session)
    elements = Elements((await page.get("/bot")).text)
    assert "Not connected" in elements.words
    assert "SESSION_SILENT" in elements.words
    assert "connect again" in elements.words
    assert ("li", {"class": "fault"}) in elements.found
    await sign_in(page, "bob", Scope.PLAY, Scope.OBSERVE)
    assert "SESSION_SILENT" not in (await page.get("/bot")).text


@pytest.mark.long
@pytest.mark.parametrize("page", [APART], indirect=True)
async def test_an_author_sees_that_its_bot_is_connected_to_another_server(page: Site) -> None:
    await sign_in(page, "alice", Scope.PLAY, Scope.OBSERVE)
    assert "Not connected" in (await page.get("/bot")).text
    stream = await page.server.connect("alice", bot_version=HOSTILE, most_matches=7)
    words = await bot_page(page, "to another server of this arbiter")
    assert HOSTILE in words
    assert "at most 7 matches at once" in words
    stream.leave()
    await bot_page(page, "Not connected")


async def bot_page(page: Site, words: str) -> str:
    """Wait until the page of the own bot has these words, as of a heartbeat; return its text."""
    async with asyncio.timeout(WAIT_S):
        while words not in (shown := Elements((await page.get("/bot")).text).words):  # noqa: ASYNC110 - no event
            await asyncio.sleep(0.05)
    return shown


async def test_an_author_reads_the_log_of_a_match_of_its_bot(page: Site) -> None:
    match = await played(page.server, "hop-it", 3, resign=True)
    await sign_in(page, "alice", Scope.PLAY, Scope.OBSERVE)
    assert f"/matches/{match.id}/log" in (await page.get("/bot")).text
    shown = await page.get(f"/matches/{match.id}/log")
    words = Elements(shown.text).words
    for part in ("created", "started", match.moves[0], "charged", "Black wins: resignation"):
        assert part in words
    assert (await page.get("/matches/none/log")).status_code == 404


async def test_output_of_a_bot_is_escaped_in_a_log(page: Site) -> None:
    match, server = await played(page.server, "hop-it", 3), page.server
    bad = "<script>alert(1)</script>"
    play = Play(match.turn, "bad", match.ply, bad, server.clock.now_ms())
    await server.arbiter.matches.request(match.players[match.turn - 1], match.id, lambda seat: play)
    await sign_in(page, "alice", Scope.PLAY, Scope.OBSERVE)
    shown = await page.get(f"/matches/{match.id}/log")
    assert bad not in shown.text
    assert bad in Elements(shown.text).words
    assert ("tr", {"class": "fault"}) in Elements(shown.text).found
