"""What an organiser does without JavaScript: creates and runs tournaments; tokens and invitations."""

from __future__ import annotations

import re
from typing import Final

import httpx
import pytest

from arbiter.matches.commands import Adjudicate, ResultKind
from arbiter.service.players.accounts import Scope
from arbiter.web.forms import MOST_FIELDS
from tests.web.site import Elements, Site

HERE = {"origin": "http://page"}
HOSTILE = "<img src=x onerror=alert(1)>\"'&"
ORGANISER = (Scope.PLAY, Scope.OBSERVE, Scope.ORGANISE)


def values(answer: httpx.Response) -> dict[str, str]:
    """Return the hidden values of the first form with a request id, or of any form of a page."""
    found = [given for name, given in Elements(answer.text).found if name == "input" and given.get("type") == "hidden"]
    return {str(given["name"]): str(given["value"]) for given in reversed(found)}


async def post(page: Site, path: str, start: str = "/", **sent: str) -> httpx.Response:
    """Send a form with the form token of a page."""
    form = values(await page.get(start))["form"]
    data = {name.replace("__", "."): text for name, text in sent.items()}
    return await page.browser.post(path, data={"form": form, **data}, headers=HERE)


async def sign_in(page: Site, player: str, *scopes: Scope) -> str:
    operator = await page.server.caller("boss", Scope.ADMIN)
    _, secret = await page.server.arbiter.accounts.create_token(operator, player, scopes, "")
    page.browser.cookies.clear()
    answer = await post(page, "/sign-in", "/sign-in", token=secret, onward="/")
    assert answer.status_code == 303, answer.text
    return secret


SWISS = {"format": "swiss", "game:hop-it": "on", "time": "1m+1s", "options__rounds": "2", "request": "make"}


async def make(page: Site, **more: str) -> str:
    answer = await post(page, "/tournaments", name="Evening", **{**SWISS, **more})
    assert answer.status_code == 303, Elements(answer.text).words
    return answer.headers["location"]


# Tournaments


@pytest.mark.long
async def test_a_tournament_is_made_entered_started_paused_resumed_and_cancelled(page: Site) -> None:
    await sign_in(page, "org", *ORGANISER)
    for name in ("alice", "bob"):
        await page.server.caller(name)
    where = await make(page)
    assert (await post(page, "/tournaments", name="Evening", **SWISS)).headers[
        "location"
    ] == where  # a repeated request
    assert "Evening" in (await page.get("/tournaments")).text
    assert "Start" in (await page.get(where)).text
    too_few = await post(page, where, act="start", request="s0")
    assert too_few.status_code == 400
    assert "2 players" in Elements(too_few.text).words
    assert (await post(page, where, act="enter-all", names="alice bob=1800", request="e")).status_code == 303
    tournament = await page.server.arbiter.tournaments.get(where.rpartition("/")[2])
    assert {entrant.player: entrant.rating for entrant in tournament.entrants.values()}["bob"] == 1800
    for act, phase in (("start", "running"), ("pause", "paused"), ("resume", "running"), ("cancel", "ended")):
        answer = await post(page, where, act=act, note="rain", request=act)
        assert answer.status_code == 303, answer.text
        tournament = await page.server.arbiter.tournaments.get(tournament.id)
        assert tournament.phase == phase
    assert "Start" not in (await page.get(where)).text


@pytest.mark.long
async def test_an_organiser_rules_on_a_game_and_sees_before_what_would_change(page: Site) -> None:
    await sign_in(page, "org", *ORGANISER)
    for name in ("alice", "bob"):
        await page.server.caller(name)
    where = await make(page, format="round_robin")
    assert "Rule on a game" not in (await page.get(where)).text
    for act in ("enter-all", "start"):
        assert (await post(page, where, act=act, names="alice bob", request=act)).status_code == 303
    arbiter, tournament_id = page.server.arbiter, where.rpartition("/")[2]
    while not (running := (await arbiter.tournaments.get(tournament_id)).running):
        await page.get(where)
    award = Adjudicate("org", "j", ResultKind.WIN, 1, "")
    match_id = running[1].match
    await arbiter.matches.act(match_id, award)
    while not (await arbiter.tournaments.get(tournament_id)).results:
        await page.get(where)
    ruling = {"game": "1", "result": "0-1", "note": "<b>both</b> left"}
    would = await post(page, where, act="preview", request="p", **ruling)
    assert would.status_code == 200
    words = Elements(would.text).words
    assert "→" in words
    assert 'value="1"' in would.text
    assert "changed to" not in words
    answer = await post(page, where, act="rule", request="r", **ruling)
    assert answer.status_code == 303, answer.text
    shown = (await page.get(where)).text
    assert "changed to" in shown
    assert "&lt;b&gt;both&lt;/b&gt; left" in shown
    assert "Rule on a game" in shown, "also after the end"
    assert "In its tournament: 1–0, changed to 0–1 by org" in (await page.get(f"/matches/{match_id}")).text
    for wrong in ({"game": "x"}, {"result": "2-0"}, {"game": "99"}):
        refused = await post(page, where, act="rule", request=f"r {wrong}", **{**ruling, **wrong})
        assert refused.status_code == 400
        assert 'role="alert"' in refused.text


@pytest.mark.long
async def test_an_organiser_corrects_a_tournament_and_sees_before_what_would_change(page: Site) -> None:
    await sign_in(page, "org", *ORGANISER)
    for name in ("alice", "bob"):
        await page.server.caller(name)
    where = await make(page, format="round_robin", rated="on")
    for act in ("enter-all", "start"):
        assert (await post(page, where, act=act, names="alice bob", request=act)).status_code == 303
    arbiter, tournament_id = page.server.arbiter, where.rpartition("/")[2]
    while not (running := (await arbiter.tournaments.get(tournament_id)).running):
        await page.get(where)
    await arbiter.matches.act(running[1].match, Adjudicate("org", "j", ResultKind.WIN, 1, ""))
    while not (await arbiter.tournaments.get(tournament_id)).results:
        await page.get(where)
    out = {"what": "forfeit", "about": "alice", "why": "<b>engine</b>"}
    would = await post(page, where, act="preview-correct", request="p", **out)
    assert would.status_code == 200
    assert "→" in Elements(would.text).words
    assert "disqualified" not in Elements((await page.get(where)).text).words.replace("take a disqualification", "")
    for number, form in enumerate(
        (out, {"what": "award", "about": "bob", "points": "-0.5"}, {"what": "lots", "about": "alice bob", "seed": "s"})
    ):
        answer = await post(page, where, act="correct", request=f"c{number}", **form)
        assert answer.status_code == 303, answer.text
    shown = await page.get(where)
    assert "alice is disqualified from the beginning" in Elements(shown.text).words
    assert "&lt;b&gt;engine&lt;/b&gt;" in shown.text
    assert "bob loses ½ in the standings" in Elements(shown.text).words
    assert "ordered by lot, seed s" in Elements(shown.text).words
    for wrong in ({"what": "x"}, {"about": ""}, {"what": "award", "points": "x"}, {"what": "replay", "about": "x"}):
        refused = await post(page, where, act="correct", request=f"w {wrong}", **{**out, **wrong})
        assert refused.status_code == 400, wrong
        assert 'role="alert"' in refused.text
    back = {"what": "reinstate", "about": "alice"}
    assert (await post(page, where, act="correct", request="b", **back)).status_code == 303
    assert 'name="ratings_too"' not in (await page.get(where)).text, "that is for the operator"
    assert (await post(page, where, act="correct", request="r", ratings_too="on", **out)).status_code == 403
    await sign_in(page, "boss", Scope.ADMIN)
    assert 'name="ratings_too"' in (await page.get(where)).text
    would = await post(page, where, act="preview-correct", request="p", ratings_too="on", **out)
    assert "1 game would count for ratings otherwise" in would.text
    assert (await post(page, where, act="correct", request="d", ratings_too="on", **out)).status_code == 303
    assert "unrated by ruling 1" in (await page.get("/matches")).text


async def test_an_organiser_reads_before_the_start_that_openings_come_again(page: Site) -> None:
    await sign_in(page, "org", *ORGANISER)
    where = await make(page, format="round_robin", options__cycles="2", paired="on")
    assert "too few different openings" in (await page.get(where)).text
    lines = await make(
        page,
        request="lines",
        format="round_robin",
        options__cycles="2",
        paired="on",
        openings__lines="hop-it: b5-c5\nhop-it: b2-c2",
        openings__order="random",
        openings__seed="s",
    )
    assert "too few different openings" not in (await page.get(lines)).text


async def test_an_organiser_enters_the_players_of_a_team(page: Site) -> None:
    await sign_in(page, "org", *ORGANISER)
    for name in ("alice", "bob", "carol"):
        await page.server.caller(name)
    where = await make(page, format="round_robin", options__boards="1")
    refused = await post(page, where, act="enter-all", names="alice", request="none")
    assert "it is for teams" in Elements(refused.text).words
    entered = await post(page, where, act="enter-all", names="alice bob=1800", team=" red ", request="red")
    assert entered.status_code == 303
    entered = await post(page, where, act="enter-all", names="carol", team="red", category="new", request="new")
    assert entered.status_code == 303
    assert "alice of red, bob of red (1800), carol of red in new" in " ".join(
        Elements((await page.get(where)).text).words.split()
    )
    assert "Enter my bot" not in (await page.get(where)).text


async def test_a_player_enters_and_withdraws_only_its_own_bot(page: Site) -> None:
    await sign_in(page, "org", *ORGANISER)
    where = await make(page)
    await sign_in(page, "alice", Scope.PLAY, Scope.OBSERVE)
    shown = (await page.get(where)).text
    assert "Enter my bot" in shown
    assert "enter-all" not in shown
    assert 'value="start"' not in shown
    for act, said in (("start", "lacks the scope"), ("cancel", "lacks the scope"), ("enter-all", "is not alice's")):
        answer = await post(page, where, act=act, names="bob", note="x", request=act)
        assert answer.status_code == 403
        assert said in Elements(answer.text).words
    assert (await post(page, where, act="enter", request="e")).status_code == 303
    assert "Withdraw my bot" in (await page.get(where)).text
    assert (await post(page, where, act="withdraw", request="w")).status_code == 303


@pytest.mark.long
async def test_an_entry_is_changed_by_its_player_and_by_the_organiser(page: Site) -> None:
    await sign_in(page, "org", *ORGANISER)
    where = await make(page)
    await sign_in(page, "alice", Scope.PLAY, Scope.OBSERVE)
    assert (await post(page, where, act="enter", request="e")).status_code == 303
    assert (await post(page, where, act="withdraw", request="w")).status_code == 303
    assert "Enter my bot" in (await page.get(where)).text
    assert (await post(page, where, act="enter", request="again")).status_code == 303
    assert "sits out" in (await page.get(where)).text
    assert (await post(page, where, act="change", byes="2", request="c")).status_code == 303
    entrants = (await page.server.arbiter.tournaments.get(where.rpartition("/")[2])).entrants
    assert entrants["alice"].byes == (2,)
    for sent, said in (({"byes": "two"}, "as 2 5"), ({"byes": "7"}, "no round 7"), ({"rating": "9"}, "organiser")):
        answer = await post(page, where, act="change", request="wrong", **sent)
        assert answer.status_code >= 400
        assert said in Elements(answer.text).words
    await sign_in(page, "org", *ORGANISER)
    assert "Change its entry" in (await page.get(where)).text
    answer = await post(page, where, act="change", player="alice", rating="1800", byes="", request="seed")
    assert answer.status_code == 303
    entrants = (await page.server.arbiter.tournaments.get(where.rpartition("/")[2])).entrants
    assert (entrants["alice"].byes, entrants["alice"].rating) == ((), 1800)


async def test_a_mistake_is_shown_at_its_field_with_the_written_text(page: Site) -> None:
    await sign_in(page, "org", *ORGANISER)
    answer = await post(
        page, "/tournaments", name="Evening", **{**SWISS, "options__rounds": "0", "time_odds": "a = 1m"}
    )
    assert answer.status_code == 400
    found = Elements(answer.text).found
    field = next(given for _, given in found if given.get("name") == "options.rounds")
    assert (field["aria-invalid"], field["value"]) == ("true", "0")
    assert "the number of rounds, at least 1" in Elements(answer.text).words
    assert next(given for _, given in found if given.get("name") == "name")["value"] == "Evening"
    assert "a = 1m" in answer.text


@pytest.mark.parametrize("format_", ["round_robin", "swiss", "knockout", "arena", "ladder", "trial", "gauntlet", "x"])
async def test_each_format_has_its_form(page: Site, format_: str) -> None:
    assert (await page.get("/tournaments/new")).headers["location"] == "/sign-in?onward=/tournaments/new"
    await sign_in(page, "org", *ORGANISER)
    answer = await page.get(f"/tournaments/new?format={format_}")
    names = {given["name"] for name, given in Elements(answer.text).found if name in ("input", "textarea")}
    labels = {given.get("for") for name, given in Elements(answer.text).found if name == "label"}
    assert answer.status_code == 200
    fields = [
        str(given["id"])
        for name, given in Elements(answer.text).found
        if name in ("input", "textarea") and given.get("type") not in ("hidden", "checkbox")
    ]
    assert set(fields) <= labels  # each has a label for screen readers
    assert len(names) <= MOST_FIELDS


async def test_a_page_without_its_scope_says_so_and_its_form_is_refused(page: Site) -> None:
    await sign_in(page, "alice", Scope.PLAY, Scope.OBSERVE)
    assert "scope organise" in Elements((await page.get("/tournaments/new")).text).words
    assert "New tournament" not in (await page.get("/tournaments")).text
    answer = await post(page, "/tournaments", name="Evening", **SWISS)
    assert answer.status_code == 403


IMPOSSIBLE: Final[tuple[tuple[str, dict[str, str], int], ...]] = (
    ("nothing", {}, 400),
    ("enter-all", {"names": ""}, 400),
    ("enter-all", {"names": "=1800"}, 400),
    ("enter-all", {"names": "bob=much"}, 400),
    ("enter-all", {"names": "nobody"}, 404),
    ("start", {"request": ""}, 400),
)


@pytest.mark.long
async def test_an_impossible_request_is_explained(page: Site) -> None:
    await sign_in(page, "org", *ORGANISER)
    where = await make(page)
    for act, more, status in IMPOSSIBLE:
        answer = await post(page, where, **{"act": act, "request": "r", **more})
        assert answer.status_code == status, (act, more)


async def test_forms_from_other_sites_are_refused(page: Site) -> None:
    await sign_in(page, "org", Scope.ADMIN)
    form = values(await page.get("/tokens"))["form"]
    for path in ("/tournaments", "/tournaments/x", "/tokens", "/tokens/x", "/invitations"):
        for given, origin in ((form, "http://evil.example"), (form, ""), ("0" * 64, HERE["origin"])):
            answer = await page.browser.post(path, data={"form": given, "act": "start"}, headers={"origin": origin})
            assert answer.status_code == 403, (path, origin)


@pytest.mark.long
async def test_hostile_names_and_notes_are_escaped(page: Site) -> None:
    token = await sign_in(page, "org", *ORGANISER)
    answer = await post(page, "/tournaments", name=HOSTILE, **SWISS)
    where = answer.headers["location"]
    odd = await post(page, where, act="enter-all", names=HOSTILE, request="e")
    wrong = await post(page, "/tournaments", name="x", **{**SWISS, "time": HOSTILE, "openings__lines": HOSTILE})
    await post(page, "/tokens", note=HOSTILE, token=token, **{"scope:play": "on"})
    shown = [odd, wrong, *[await page.get(path) for path in ("/tournaments", where, "/tokens", "/")]]
    for each in shown:
        assert "<img src=x" not in each.text, each.url
        assert [name for name, _ in Elements(each.text).found if name == "img"] == []
        assert not [given for _, given in Elements(each.text).found if any(key.startswith("on") for key in given)]
    assert HOSTILE in Elements((await page.get(where)).text).words


# Tokens and invitations


async def test_a_token_is_shown_once_and_can_be_revoked(page: Site) -> None:
    token = await sign_in(page, "alice", Scope.PLAY, Scope.OBSERVE)
    answer = await post(page, "/tokens", note="for my bot", token=token, **{"scope:play": "on", "scope:observe": "on"})
    assert answer.headers["cache-control"] == "no-store"
    (secret,) = re.findall('<code class="secret">(.+?)</code>', answer.text)
    caller = await page.server.arbiter.accounts.authenticate(secret)
    assert (caller.player, caller.scopes) == ("alice", frozenset({"play", "observe"}))
    listed = await page.get("/tokens")
    assert "for my bot" in listed.text
    assert secret not in listed.text
    assert (await post(page, f"/tokens/{caller.token_id}")).headers["location"] == "/tokens?player="
    with pytest.raises(Exception, match="revoked"):
        await page.server.arbiter.accounts.authenticate(secret)


async def test_nobody_makes_a_token_with_more_scopes_than_its_own_or_for_another_player(page: Site) -> None:
    token = await sign_in(page, "alice", Scope.PLAY, Scope.OBSERVE)
    assert "scope:admin" not in (await page.get("/tokens")).text
    for sent in ({"scope:admin": "on"}, {"scope:organise": "on"}, {"scope:play": "on", "player": "bob"}):
        answer = await post(page, "/tokens", token=token, **sent)
        assert answer.status_code == 403
        assert answer.text.count('<code class="secret">') == 0
    assert (await page.get("/tokens?player=boss")).status_code == 403
    assert (await post(page, "/invitations")).status_code == 403
    assert "Invitation" not in (await page.get("/tokens")).text


async def test_an_operator_makes_tokens_for_players_and_invitations(page: Site) -> None:
    token = await sign_in(page, "root", Scope.ADMIN)
    answer = await post(page, "/tokens", player="newcomer", token=token, **{"scope:play": "on"})
    assert "New token of newcomer" in Elements(answer.text).words
    assert "newcomer" in (await page.get("/tokens?player=newcomer")).text
    answer = await post(page, "/invitations")
    assert answer.headers["cache-control"] == "no-store"
    assert "New invitation" in answer.text


async def test_revoking_the_browsers_own_token_signs_out(page: Site) -> None:
    await sign_in(page, "alice", Scope.PLAY, Scope.OBSERVE)
    own = (await page.server.arbiter.accounts.authenticate(page.browser.cookies["arbiter-session"])).token_id
    answer = await post(page, f"/tokens/{own}")
    assert answer.status_code == 303
    assert (await page.get("/tokens")).headers["location"] == "/sign-in?onward=/tokens"
    assert "arbiter-session" not in page.browser.cookies
