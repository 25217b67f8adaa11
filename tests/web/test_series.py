"""The page of a series, its files, and a date that is left out of it."""

from __future__ import annotations

import pytest

from arbiter.tournaments import commands as do
from tests.web.site import Site
from tests.web.test_organising import ORGANISER, make, post, sign_in


async def test_a_date_of_a_series_is_left_out_and_its_table_has_a_page_and_files(page: Site) -> None:
    await sign_in(page, "org", *ORGANISER)
    where = await make(page, schedule__every="friday 18:00 Europe/Berlin", series__place_points="10, 7 5")
    made = await page.server.arbiter.tournaments.get(where.rpartition("/")[2])
    assert made.spec.series.place_points == (10, 7, 5)
    shown = (await page.get(where)).text
    assert f'href="{where}/series"' in shown
    assert "series_goes_on" in shown
    assert (await post(page, where, act="cancel", note="rain", series_goes_on="on", request="c")).status_code == 303
    following = (await page.server.arbiter.series.of(made.id)).next
    assert f"/tournaments/{following}" in (await page.get("/tournaments")).text
    table = await page.get(f"/tournaments/{following}/series")
    assert (table.status_code, "No tournament of this series has ended yet" in table.text) == (200, True)
    assert (await page.get(f"/tournaments/{following}/series.json")).json() == []
    assert (await page.get("/tournaments/none/series")).status_code == 404
    assert (await post(page, f"/tournaments/{following}", act="cancel", note="no", request="c")).status_code == 303
    assert (await page.server.arbiter.series.of(following)).next == ""


@pytest.mark.long
async def test_the_page_shows_the_divisions_of_a_season_and_who_has_moved(page: Site) -> None:
    await sign_in(page, "org", *ORGANISER)
    league = {"league__divisions": "First & foremost\nSecond", "league__size": "2"}
    where = await make(page, schedule__every="friday 18:00 Europe/Berlin", **league)
    first = where.rpartition("/")[2]
    for name in ("ann", "ben", "cat", "dan"):
        await page.server.arbiter.tournaments.act(first, do.Enter(name, "org", f"enter {name}"))
    assert "The players are placed when the season begins" in (await page.get(f"{where}/series")).text
    await page.server.arbiter.tournaments.act(first, do.Start("org", "start"))
    shown = (await page.get(f"{where}/series")).text
    lower = (await page.server.arbiter.series.of(first)).divisions[1].tournament_id
    assert f'<a href="/tournaments/{lower}">Second</a>' in shown
    assert "First &amp; foremost" in shown
    assert "entered: ann, ben, cat, dan" in shown
    assert "division Second" in (await page.get(f"/tournaments/{lower}")).text
    assert f"/tournaments/{lower}" in (await page.get(f"/tournaments/{lower}/series")).text
