"""Pairings by hand on the page: the form, what would be, and what is refused."""

from __future__ import annotations

import pytest

from tests.web.site import Elements, Site
from tests.web.test_organising import ORGANISER, make, post, sign_in


@pytest.mark.long
async def test_an_organiser_pairs_a_round_by_hand(page: Site) -> None:
    await sign_in(page, "org", *ORGANISER)
    names = ("alice", "bob", "carol", "dan", "eve")
    for name in names:
        await page.server.caller(name)
    where = await make(page)
    assert (await post(page, where, act="enter-all", names=" ".join(names), request="in")).status_code == 303
    assert (await post(page, where, act="correct", request="h", what="hold", why="a look")).status_code == 303
    assert (await post(page, where, act="start", request="start")).status_code == 303
    arbiter, tournament_id = page.server.arbiter, where.rpartition("/")[2]
    while (await arbiter.tournaments.get(tournament_id)).phase.value != "paused":
        await page.get(where)
    pair = {"what": "pair", "about": "bob, alice", "round": "1"}
    would = await post(page, where, act="preview-correct", request="p", **pair)
    assert would.status_code == 200
    words = Elements(would.text).words
    assert "Round 1 would be: bob–alice, " in words
    assert " with a bye." in words
    assert 'value="bob, alice"' in would.text
    for number, form in enumerate(
        (
            pair,
            {"what": "pair-round", "round": "1"},
            {"what": "bye", "about": "eve", "round": "1"},
            {"what": "half-bye", "about": "dan", "round": "2"},
            {"what": "forbid", "about": "alice carol"},
            {"what": "allow", "about": "alice carol"},
            {"what": "hold"},
            {"what": "hold-off"},
        )
    ):
        answer = await post(page, where, act="correct", request=f"c{number}", **form)
        assert answer.status_code == 303, (form, answer.text)
    while not (await arbiter.tournaments.get(tournament_id)).meetings:
        await page.get(where)
    words = Elements((await page.get(where)).text).words
    for text in (
        "it pauses once the round under way is over",
        "round 1: bob–alice by hand",
        "round 1 is paired",
        "eve sits out round 1 with a point",
        "dan sits out round 2 with half a point",
        "alice and carol are not paired any more",
        "alice and carol may be paired again",
    ):
        assert text in words
    again = await post(page, where, act="preview-correct", request="q", what="afresh", round="1")
    assert "Round 1 would be" in Elements(again.text).words
    rematch = await post(page, where, act="preview-correct", request="r", what="pair", about="bob alice", round="2")
    assert "That breaks a rule" not in rematch.text, "the round goes on, so only the pair is known; they have not met"


WRONG = (
    {"what": "pair", "about": "bob", "round": "1"},
    {"what": "pair", "about": "", "round": "1"},
    {"what": "pair", "about": "alice bob", "round": "x"},
    {"what": "bye", "about": "alice", "round": ""},
    {"what": "forbid", "about": "alice"},
    {"what": "pair-round", "round": "0"},
)


@pytest.mark.long
async def test_what_the_form_can_not_mean_is_refused(page: Site) -> None:
    await sign_in(page, "org", *ORGANISER)
    for name in ("alice", "bob"):
        await page.server.caller(name)
    where = await make(page)
    await post(page, where, act="enter-all", names="alice bob", request="in")
    for wrong in WRONG:
        refused = await post(page, where, act="correct", request="w", **wrong)
        assert refused.status_code == 400, wrong
