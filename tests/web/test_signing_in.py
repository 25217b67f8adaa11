"""Sessions: signing in, registering, signing out; cookies that scripts can't read; forms from other sites."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from arbiter.errors import Refusal
from arbiter.service.gate.admission import Call
from arbiter.service.players.accounts import Scope
from arbiter.service.ports.directory import Player
from arbiter.web.forms import MOST_FIELDS
from tests.test_plain_text import HOSTILE
from tests.web.site import Elements, Site, played, site

HERE = {"origin": "http://page"}


def form_of(answer: httpx.Response) -> str:
    """Return the form token of a page."""
    found = {given["value"] for name, given in Elements(answer.text).found if given.get("name") == "form"}
    assert len(found) == 1
    return str(found.pop())


async def post(page: Site, path: str, headers: dict[str, str] | None = None, /, **fields: str) -> httpx.Response:
    return await page.browser.post(path, data=fields, headers=HERE if headers is None else headers)


async def token_of(page: Site, player: str, *scopes: Scope) -> str:
    accounts = page.server.arbiter.accounts
    operator = await page.server.caller("boss", Scope.ADMIN)
    return (await accounts.create_token(operator, player, scopes, ""))[1]


async def sign_in(page: Site, token: str, onward: str = "/leaderboard") -> httpx.Response:
    form = form_of(await page.get("/sign-in"))
    return await post(page, "/sign-in", form=form, token=token, onward=onward)


async def test_a_session_begins_with_a_token_and_ends_for_good(page: Site) -> None:
    token = await token_of(page, "alice")
    answer = await sign_in(page, token)
    assert (answer.status_code, answer.headers["location"]) == (303, "/leaderboard")
    session = page.browser.cookies["arbiter-session"]
    assert session != token
    shown = await page.get("/leaderboard")
    assert "alice" in Elements(shown.text).words
    assert token not in shown.text
    assert session not in shown.text
    assert shown.headers["cache-control"] == "private, no-cache"
    stolen = dict(page.browser.cookies)
    assert (await post(page, "/sign-out", form=form_of(shown))).status_code == 303
    assert "arbiter-session" not in page.browser.cookies
    page.browser.cookies.update(stolen)
    again = await page.browser.get("/leaderboard")
    assert "Sign out" not in again.text
    assert "Sign out" not in (await page.browser.get("/")).text
    assert (await page.server.arbiter.accounts.authenticate(token)).player == "alice"  # the token itself is still valid


async def test_a_session_has_the_scopes_of_its_token(page: Site) -> None:
    await sign_in(page, await token_of(page, "eve", Scope.OBSERVE))
    session = await page.server.arbiter.accounts.authenticate(page.browser.cookies["arbiter-session"])
    assert (session.player, session.scopes) == ("eve", frozenset({"observe"}))


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_scripts_and_other_sites_get_no_cookie(page: Site, scheme: str) -> None:
    token = await token_of(page, "alice")
    base = f"{scheme}://page"
    page.browser.base_url = httpx.URL(base)
    form = await page.get("/sign-in")
    answer = await post(page, "/sign-in", {"origin": base}, form=form_of(form), token=token)
    given = [*form.headers.get_list("set-cookie"), *answer.headers.get_list("set-cookie")]
    assert len(given) == 3
    for each in given:
        parts = each.lower().split("; ")
        assert {"httponly", "samesite=lax", "path=/"} <= set(parts)
        assert ("secure" in parts) == parts[0].startswith("__host-arbiter-") == (scheme == "https")


@pytest.mark.parametrize("path", ["/sign-in", "/register", "/sign-out"])
@pytest.mark.parametrize(
    "forged",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": ""},
        {},
    ],
)
async def test_a_form_from_another_site_is_refused(page: Site, path: str, forged: dict[str, str]) -> None:
    await sign_in(page, await token_of(page, "alice"))
    form = form_of(await page.get("/leaderboard"))
    answer = await post(page, path, forged, form=form, token="x", name="mallory")
    assert answer.status_code == 403
    assert "Sign out" in (await page.get("/leaderboard")).text


@pytest.mark.parametrize("form", ["", "x", "ä", "0" * 64])
async def test_a_form_without_its_form_token_is_refused(page: Site, form: str) -> None:
    token = await token_of(page, "alice")
    await page.get("/sign-in")
    assert (await post(page, "/sign-in", form=form, token=token)).status_code == 403
    await sign_in(page, token)
    assert (await post(page, "/sign-out", form=form)).status_code == 403
    page.browser.cookies.clear()
    assert (await post(page, "/sign-in", form=form, token=token)).status_code == 403


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"form=x&" + b"a" * 20_000, "application/x-www-form-urlencoded", 413),
        (b'{"form": "x"}', "application/json", 415),
        (b"form=%ff", "application/x-www-form-urlencoded", 400),
        (b"&".join(b"f%d=" % n for n in range(MOST_FIELDS + 1)), "application/x-www-form-urlencoded", 400),
    ],
)
async def test_the_size_of_forms_is_limited(page: Site, content: bytes, kind: str, status: int) -> None:
    headers = {**HERE, "content-type": kind}
    assert (await page.browser.post("/sign-in", content=content, headers=headers)).status_code == status


@pytest.mark.parametrize(
    "onward", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "", "/a\r\nb: c"]
)
async def test_signing_in_redirects_to_no_other_site(page: Site, onward: str) -> None:
    answer = await sign_in(page, await token_of(page, "alice"), onward)
    assert answer.headers["location"] == "/"


async def test_a_wrong_token_is_reported_and_guessing_is_limited(tmp_path: Path) -> None:
    async with site(tmp_path, limits={"unknown_tokens_a_minute": 2}) as page:
        codes = []
        for _ in range(4):
            answer = await sign_in(page, "guess")
            codes.append(answer.status_code)
            assert Elements(answer.text).found
        assert codes == [401, 401, 429, 429]
        assert "arbiter-session" not in page.browser.cookies


async def test_registering_shows_a_token_once_and_begins_a_session(page: Site) -> None:
    form = form_of(await page.get("/register"))
    answer = await post(page, "/register", form=form, name="newcomer")
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    token = re.search(r'class="secret">([^<]+)<', answer.text)
    assert token is not None
    assert (await page.server.arbiter.accounts.authenticate(token[1])).player == "newcomer"
    assert "newcomer" in Elements((await page.get("/")).text).words
    page.browser.cookies.clear()
    form = form_of(await page.get("/register"))
    again = await post(page, "/register", form=form, name="newcomer")
    assert again.status_code == 409
    assert "choose another name" in Elements(again.text).words
    assert (await post(page, "/register", form=form, name="<b>")).status_code == 400


@pytest.mark.parametrize(("registration", "status"), [("invitation", 403), ("closed", 403)])
async def test_the_operator_chooses_who_may_register(tmp_path: Path, registration: Any, status: int) -> None:
    async with site(tmp_path, registration=registration) as page:
        shown = await page.get("/register")
        assert ('name="invitation"' in shown.text) == (registration == "invitation")
        assert ("does not register" in shown.text) == (registration == "closed")
        form = form_of(await page.get("/sign-in"))
        answer = await post(page, "/register", form=form, name="newcomer", invitation="guess")
        assert answer.status_code == status
        if registration == "invitation":
            invitation = await page.server.arbiter.accounts.invite()
            answer = await post(page, "/register", form=form, name="newcomer", invitation=invitation)
            assert answer.status_code == 200


async def test_a_session_that_was_ended_elsewhere_is_anonymous(page: Site) -> None:
    await sign_in(page, await token_of(page, "alice"))
    await page.server.arbiter.accounts.suspend("alice", True)
    for path in ("/", "/leaderboard"):
        answer = await page.browser.get(path, follow_redirects=True)
        assert answer.status_code in (200, 403), path
        assert "Sign out" not in answer.text


async def test_a_text_that_was_stored_before_there_was_a_rule_is_shown_safely(page: Site) -> None:
    old = Player("old", 1, about=f"<b>{HOSTILE}", bot_name=HOSTILE, bot_version=HOSTILE)
    assert await page.server.arbiter.accounts._directory.add_player(old, None)
    await sign_in(page, await token_of(page, "alice"))
    for path in ("/players/old", "/players", "/leaderboard"):
        shown = (await page.get(path)).text
        assert shown.replace("\n", "").isprintable(), path
    assert "\\x1b]0;title" in (await page.get("/players/old")).text


async def test_a_session_is_no_token_and_signs_out_everywhere(page: Site) -> None:
    token = await token_of(page, "alice", Scope.PLAY, Scope.OBSERVE)
    await sign_in(page, token)
    elsewhere = page.browser.cookies["arbiter-session"]
    page.browser.cookies.clear()
    await sign_in(page, token)
    secret = page.browser.cookies["arbiter-session"]
    with pytest.raises(Refusal, match="good for the page alone"):
        await page.gate.players.get(Call(secret, "192.0.2.1"), "")
    shown = await page.get("/tokens")
    assert shown.text.count('aria-label="Sign out ') == 2
    form = form_of(shown)
    made = await post(page, "/tokens", form=form, **{"scope:play": "on"})
    assert (made.status_code, made.text.count('class="secret"')) == (400, 0)
    made = await post(page, "/tokens", form=form, token=secret, **{"scope:play": "on"})
    assert (made.status_code, made.text.count('class="secret"')) == (401, 0)
    assert (await post(page, "/tokens", form=form, token=token, **{"scope:play": "on"})).text.count(
        'class="secret"'
    ) == 1
    assert (await post(page, "/sign-out-everywhere", form=form)).headers["location"] == "/sign-in"
    for ended in (secret, elsewhere):
        page.browser.cookies.set("arbiter-session", ended)
        assert "Sign out" not in (await page.get("/leaderboard")).text
        page.browser.cookies.clear()
    await sign_in(page, token)
    assert "Sign out" in (await page.get("/leaderboard")).text


async def account(page: Site, player: str, act: str, **fields: str) -> httpx.Response:
    """Use a button of a player's page."""
    form = form_of(await page.get(f"/players/{player}"))
    return await post(page, f"/players/{player}", form=form, act=act, **fields)


@pytest.mark.long
async def test_an_owner_renames_retires_hides_and_deletes_its_account(page: Site) -> None:
    await page.server.caller("bob")
    match = await played(page.server, "hop-it", 6, resign=True)
    await sign_in(page, await token_of(page, "alice"))
    assert 'id="account"' not in (await page.get("/players/bob")).text
    renamed = await account(page, "alice", "rename", name="rook")
    assert (renamed.status_code, renamed.headers["location"]) == (303, "/players/rook")
    assert (await page.get("/players/alice")).headers["location"] == "/players/rook"
    text = (await page.get("/players/rook")).text
    assert "registered as alice" in text
    assert "rook – bob" in text
    for path in ("/", "/matches", f"/matches/{match.id}", f"/matches/{match.id}/moves.txt"):
        shown = (await page.get(path)).text
        assert "rook" in shown, path
        assert "alice" not in Elements(shown).words, path
    taken = await account(page, "rook", "rename", name="bob")
    assert "there is a player bob already" in Elements(taken.text).words.lower()
    await account(page, "rook", "retire")
    await account(page, "rook", "hide")
    assert "retired · hidden from lists" in (await page.get("/players/rook")).text
    await account(page, "rook", "back")
    await account(page, "rook", "show")
    kept = await account(page, "rook", "delete", name="roo")
    assert "to confirm" in kept.text
    gone = await account(page, "rook", "delete", name="rook")
    neutral = gone.headers["location"].rpartition("/")[2]
    assert neutral.startswith("deleted-")
    page.browser.cookies.clear()
    assert (await page.get("/players/rook")).status_code == (await page.get("/players/alice")).status_code == 404
    for path in ("/", "/matches", f"/matches/{match.id}", f"/players/{neutral}", f"/matches/{match.id}/moves.txt"):
        words = (await page.get(path)).text
        assert neutral in words, path
        assert "alice" not in words, path
        assert "rook" not in words, path
