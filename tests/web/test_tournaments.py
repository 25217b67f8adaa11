"""The page of a tournament, of any format at any moment; and its crosstable."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from arbiter.testing.tournaments import TournamentRun, drawn
from arbiter.tournaments.spec import Format, Spec
from arbiter.tournaments.standings import standings
from arbiter.web.rendering import Templates
from arbiter.web.tournaments import MOST_IN_CROSSTABLE, crosstable, points
from tests.web.site import Elements, site


@pytest.mark.parametrize(("halves", "text"), [(0, "0"), (1, "½"), (2, "1"), (7, "3½")])
def test_points_are_written_as_people_do(halves: int, text: str) -> None:
    assert points(halves) == text


def test_a_crosstable_holds_every_result_twice() -> None:
    spec = Spec("all", Format.ROUND_ROBIN, ("hop-it",), "1s")
    run = TournamentRun(spec, 5, random.Random(1), lambda game: 1 if game.seat1 < game.seat2 else 2)
    tournament = run.play()
    players = sorted(tournament.entrants)
    cross = crosstable(tournament, players)
    games = len(tournament.results) // 10  # of each pair
    for row, line in enumerate(cross):
        for column, pairing in enumerate(line):
            expected = None if row == column else (str(games) if row < column else "0", games)
            assert pairing == expected
    assert crosstable(tournament, [f"p{n}" for n in range(MOST_IN_CROSSTABLE + 1)]) == []


@pytest.mark.parametrize("seed", range(5))
def test_points_of_the_crosstable_are_those_of_the_standings(seed: int) -> None:
    spec = Spec("all", Format.ROUND_ROBIN, ("hop-it",), "1s")
    tournament = TournamentRun(spec, 8, random.Random(seed)).play()
    rows = standings(tournament).rows
    for row, line in zip(rows, crosstable(tournament, [row.player for row in rows]), strict=True):
        halves = sum(2 * int(p.points.rstrip("½") or 0) + p.points.endswith("½") for p in line if p)
        assert halves == row.game_points


@pytest.mark.parametrize("seed", range(25))
async def test_the_page_shows_any_tournament_at_any_moment(seed: int, tmp_path: Path) -> None:
    lots = random.Random(seed)
    run = TournamentRun(*drawn(lots), lots)
    async with site(tmp_path) as served:
        templates = Templates(served.gate)
        for _ in range(lots.randint(0, 60)):
            run.step()
        tournament = run.tournament
        table = standings(tournament)
        cross = crosstable(tournament, [row.player for row in table.rows])
        shown = templates.text("tournament.html", tournament=tournament, table=table, cross=cross)
        words = Elements(shown).words
        assert tournament.spec.name in words
        assert all(row.player in words for row in table.rows)


async def test_a_tournament_has_its_page(tmp_path: Path) -> None:
    async with site(tmp_path) as served:
        spec = Spec("Evening", Format.ROUND_ROBIN, ("hop-it",), "1s")
        made = await served.server.arbiter.tournaments.create(spec, "org", "make")
        answer = await served.get(f"/tournaments/{made.id}")
        assert answer.status_code == 200
        assert "Evening" in (await served.get("/")).text
        assert (await served.get("/tournaments/none")).status_code == 404
        await served.server.arbiter.tournaments.stop()
