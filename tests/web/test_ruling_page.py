"""The page of rulings on ratings: everybody reads it, and the operator rules there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from arbiter.service.players.accounts import Scope
from tests.web.site import Elements, Site, played, site
from tests.web.test_organising import post, sign_in


def values(answer: httpx.Response) -> dict[str, str | None]:
    """Return the values of the form."""
    return {str(given["name"]): given.get("value") for name, given in Elements(answer.text).found if name == "input"}


@pytest.fixture
async def page(tmp_path: Path) -> AsyncIterator[Site]:
    async with site(tmp_path) as served:
        yield served


@pytest.mark.long
async def test_the_operator_makes_a_game_unrated_and_takes_that_back(page: Site) -> None:
    match = await played(page.server, "hop-it", 2, resign=True, rated=True)
    for name in ("alice", "bob"):
        await page.server.caller(name)
    where = f"/matches/{match.id}"
    assert "There is no ruling" in (await page.get("/rulings")).text
    assert "What would change" not in (await page.get("/rulings")).text, "a visitor only reads"
    assert "Rule on its rating" not in (await page.get(where)).text
    await sign_in(page, "op", Scope.ADMIN)
    for path, field, value in ((where, "matches", match.id), ("/players/bob", "players", "bob")):
        found = [each["href"] or "" for _, each in Elements((await page.get(path)).text).found if "href" in each]
        (link,) = [each for each in found if each.startswith("/rulings?")]
        assert values(await page.get(link))[field] == value

    ruling = {"decision": "unrated", "players": "alice bob", "note": "<b>one</b> owner", "revision": "0"}
    would = await post(page, "/rulings", act="preview", request="p", **ruling)
    assert would.status_code == 200
    assert "1 game would count otherwise" in would.text
    assert match.id in would.text
    assert (await post(page, "/rulings", act="rule", request="r", **ruling)).status_code == 303
    shown = (await page.get("/rulings")).text
    assert "games between alice, bob" in shown
    assert "&lt;b&gt;one&lt;/b&gt; owner" in shown
    assert "For ratings: unrated by ruling 1 of op: &lt;b&gt;one&lt;/b&gt; owner" in (await page.get(where)).text
    assert "unrated by ruling 1" in (await page.get("/matches")).text
    assert "unrated by ruling 1" in (await page.get("/players/bob")).text
    leaders = (await page.get("/leaderboard")).text
    assert "No rated match" in leaders
    assert "/rulings" in leaders
    changed = await post(page, "/rulings", act="rule", request="r2", **ruling)
    assert changed.status_code == 409
    assert values(changed)["revision"] == "1", "with the list, the person has seen the newest ruling"

    back = {"decision": "taken_back", "ruling": "1", "note": "an appeal", "revision": "1"}
    assert (await post(page, "/rulings", act="rule", request="b", **back)).status_code == 303
    assert "taken back by 2" in (await page.get("/rulings")).text
    assert "For ratings" not in (await page.get(where)).text
    assert "unrated by" not in (await page.get("/matches")).text
    assert "From 1 rated games" in (await page.get("/leaderboard")).text


@pytest.mark.parametrize(
    "wrong",
    [
        {"decision": "x"},
        {"players": ""},
        {"since": "yesterday"},
        {"ruling": "x"},
        {"players": "nobody"},
        {"until": "2026-01-01 18:00", "since": "2026-01-02T18:00:00+01:00"},
    ],
)
async def test_what_is_wrong_with_a_ruling_is_shown_with_the_form(page: Site, wrong: dict[str, str]) -> None:
    await played(page.server, "hop-it", 2, resign=True, rated=True)
    await page.server.caller("alice")
    await sign_in(page, "op", Scope.ADMIN)
    sent = {"decision": "unrated", "players": "alice", "note": "kept", **wrong}
    refused = await post(page, "/rulings", act="rule", request="r", **sent)
    assert refused.status_code in (400, 404)
    assert 'role="alert"' in refused.text
    assert values(refused)["note"] == "kept"
