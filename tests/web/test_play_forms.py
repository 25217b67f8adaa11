"""Playing by forms, as a browser without JavaScript does; and forms that another site makes a browser send."""

from __future__ import annotations

from collections.abc import Sequence
from html import unescape
from urllib.parse import urlencode

import pytest

from arbiter.games.contract import AnyGame
from arbiter.service.players.accounts import Scope
from arbiter.web.states import positions
from tests.web.site import Elements, Site, played
from tests.web.test_signing_in import form_of, post, sign_in, token_of


async def enter(page: Site, player: str) -> str:
    """Sign in as another player; return the form token."""
    page.browser.cookies.clear()
    await sign_in(page, await token_of(page, player))
    return form_of(await page.get("/play"))


@pytest.mark.long
async def test_a_challenge_is_made_accepted_and_played(page: Site) -> None:
    form = await enter(page, "ann")
    await token_of(page, "bob")
    fields = {"game": "pods", "parameters": "size=3", "time": "10m", "seat": "1", "request": "r1"}
    sent = await post(page, "/challenges", form=form, named="bob", **fields)
    waiting = sent.headers["location"]
    assert "Waiting for bob" in (await page.get(waiting)).text
    form = await enter(page, "bob")
    assert "challenges you" in Elements((await page.get("/play")).text).words
    accepted = await post(page, waiting, form=form, answer="accept")
    match = accepted.headers["location"]
    form = await enter(page, "ann")
    assert (await page.get(waiting)).headers["location"] == match
    with (
        page.server.arbiter.sessions.attending("ann"),
        page.server.arbiter.sessions.attending("bob"),
    ):
        wrong = await post(page, f"{match}/moves", move="z9", form=form, ply="0", request="m0")
        assert wrong.status_code == 400
        assert "is not a move" in Elements(wrong.text).words
        move = {"form": form, "ply": "0", "request": "m1"}
        for _ in range(2):  # a repeated request has no further effect
            assert (await post(page, f"{match}/moves", move="b4", **move)).headers["location"] == match
        assert (await post(page, f"{match}/moves", move="b3", form=form, ply="1", request="m2")).status_code == 400
        assert (await post(page, f"{match}/acts", form=form, act="dance", request="a0")).status_code == 400
        assert (await post(page, f"{match}/acts", form=form, act="resign", request="a1")).status_code == 303
    shown = Elements((await page.get(match)).text).words
    assert "bob (Humpback) wins: resignation" in shown
    assert "Rematch" in shown


@pytest.mark.long
async def test_a_position_of_a_match_or_of_the_explorer_is_played_from(page: Site) -> None:
    replay = await played(page.server, "pods(size=3)", 4)
    assert f'href="/play?match={replay.id}&amp;ply=2"' in (await page.get(f"/matches/{replay.id}?ply=2")).text
    line = shown_line(replay.game, "", replay.moves)
    form = await enter(page, "ann")
    await token_of(page, "bob")
    for query, ply in ((f"match={replay.id}&ply=2", 2), (f"match={replay.id}&ply=0", 0), (f"match={replay.id}", 4)):
        inputs = {given.get("name"): given for _, given in Elements((await page.get(f"/play?{query}")).text).found}
        assert (inputs["parameters"]["value"], inputs["position"]["value"]) == ("size=3", line[ply] if ply else "")
    asked = {"game": "pods(size=3)", "moves": " ".join(replay.moves[:3])}
    shown = Elements((await page.get(f"/play?{urlencode(asked)}")).text)
    position = next(given["value"] for _, given in shown.found if given.get("name") == "position")
    assert position == line[3]
    fields = {"game": "pods", "parameters": "size=3", "time": "10m", "seat": "1", "request": "r1", "position": position}
    waiting = (await post(page, "/challenges", form=form, named="bob", **fields)).headers["location"]
    assert position in Elements((await page.get(waiting)).text).words
    form = await enter(page, "bob")
    accepted = await post(page, waiting, form=form, answer="accept")
    match = await page.server.arbiter.matches.match(accepted.headers["location"].rpartition("/")[2])
    assert (match.created.position, match.text) == (position, position)
    for wrong in ("match=m0", "game=ludo", "game=pods&moves=z9"):
        assert (await page.get(f"/play?{wrong}")).status_code in (400, 404), wrong


def shown_line(game: AnyGame, start: str, moves: Sequence[str]) -> list[str]:
    return [game.text(position) for position in positions(game, start, moves)]


async def test_challenges_are_declined_and_withdrawn(page: Site) -> None:
    form = await enter(page, "ann")
    await token_of(page, "bob")
    for named in ("bob", ""):
        sent = await post(page, "/challenges", form=form, named=named, game="pods", time="10m", request=f"to {named}")
        waiting = sent.headers["location"]
        assert (await post(page, waiting, form=form, answer="decline", onward="/play")).headers["location"] == "/play"
        closed = (await page.get(waiting)).text
        assert "not open any more" in closed
        assert "data-renew" in closed, "it may have been accepted, and its match is about to begin"


@pytest.mark.parametrize(
    ("absence", "shown", "most_ms"),
    [("", None, 60_000), ("3600000", "absence of at most 60:00", 3_600_000), ("0", "no limit of absence", 0)],
)
async def test_a_challenge_says_how_long_a_player_may_be_away(
    page: Site, absence: str, shown: str | None, most_ms: int
) -> None:
    form = await enter(page, "ann")
    await token_of(page, "bob")
    fields = {"game": "pods", "time": "none", "absence": absence, "request": "r1"}
    waiting = (await post(page, "/challenges", form=form, named="bob", **fields)).headers["location"]
    assert (shown or "absence of") in (await page.get(waiting)).text or shown is None
    form = await enter(page, "bob")
    match = (await post(page, waiting, form=form, answer="accept")).headers["location"].rpartition("/")[2]
    assert (await page.server.arbiter.matches.match(match)).created.policy.abandon_ms == most_ms


async def test_an_absence_that_the_form_does_not_have_is_refused(page: Site) -> None:
    form = await enter(page, "ann")
    sent = await post(page, "/challenges", form=form, game="pods", time="none", absence="soon", request="r1")
    assert sent.status_code == 400
    assert "one of 300000, 3600000, 0" in unescape(sent.text)


@pytest.mark.parametrize("path", ["/challenges", "/challenges/c1", "/matches/m1/moves", "/matches/m1/acts"])
async def test_another_site_can_not_play_for_a_person(page: Site, path: str) -> None:
    form = await enter(page, "ann")
    match = await played(page.server, "hop-it", 2)
    fields = {"form": form, "game": "pods", "act": "resign", "request": "r", "answer": "accept"}
    path = path.replace("m1", match.id)
    assert (await post(page, path, {"origin": "http://evil.example"}, **fields)).status_code == 403
    assert (await post(page, path, **{**fields, "form": "0" * 64})).status_code == 403
    page.browser.cookies.clear()
    assert (await post(page, path, **fields)).status_code == 403


async def test_only_a_player_has_a_seat(page: Site) -> None:
    form = await enter(page, "eve")
    match = await played(page.server, "hop-it", 2)
    assert "data-seats" not in (await page.get(f"/matches/{match.id}")).text
    for path, fields in (("moves", {"move": "a1", "ply": "2"}), ("acts", {"act": "resign"})):
        answer = await post(page, f"/matches/{match.id}/{path}", form=form, request="r", **fields)
        assert answer.status_code == 403, answer.text
    await enter(page, "alice")
    assert 'data-seats="1"' in (await page.get(f"/matches/{match.id}")).text
    page.browser.cookies.clear()
    await sign_in(page, await token_of(page, "alice", Scope.OBSERVE))
    assert "data-seats" not in (await page.get(f"/matches/{match.id}")).text


async def test_a_visitor_is_asked_to_sign_in(page: Site) -> None:
    assert (await page.get("/play")).headers["location"] == "/sign-in?onward=/play"
    assert (await page.get("/challenges/c1")).headers["location"] == "/sign-in?onward=/challenges/c1"
