"""The page of a tournament, of any format in any state; and its crosstable."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from arbiter.testing.random_tournaments import TournamentRun, drawn
from arbiter.tournaments.commands import Cancel
from arbiter.tournaments.formats import Rating
from arbiter.tournaments.spec import Format, Options, Spec, TieBreak
from arbiter.tournaments.standings import Table, standings
from arbiter.tournaments.tournament import Tournament, TournamentPhase
from arbiter.web.brackets import bracket
from arbiter.web.tournament_pages import PHASES
from arbiter.web.tournament_tables import (
    MOST_GAMES,
    MOST_IN_CROSSTABLE,
    TIE_BREAKS,
    PairScore,
    crosstable,
    game_list,
    points,
)
from tests.web.site import SITES, Elements, Site, site


@pytest.mark.parametrize(("halves", "text"), [(0, "0"), (1, "½"), (2, "1"), (7, "3½")])
def test_points_are_written_as_people_do(halves: int, text: str) -> None:
    assert points(halves) == text


def test_a_crosstable_has_every_result_twice() -> None:
    spec = Spec("all", Format.ROUND_ROBIN, ("hop-it",), "1s")
    run = TournamentRun(spec, 5, random.Random(1), lambda game: 1 if game.seat1 < game.seat2 else 2)
    tournament = run.play()
    players = sorted(tournament.entrants)
    cross = crosstable(tournament, players)
    games = len(tournament.results) // 10  # for each pair
    for row, line in enumerate(cross):
        for column, pairing in enumerate(line):
            expected = None if row == column else PairScore(2 * games if row < column else 0, games)
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


async def test_the_crosstable_shows_the_games_of_who_left_early_in_brackets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = TournamentRun(Spec("all", Format.ROUND_ROBIN, ("hop-it",), "1s"), 3, random.Random(1), lambda game: 1)
    run.pair()
    run.withdraw("p000")
    tournament = run.play()
    assert crosstable(tournament, ["p001", "p000"]) == [
        [None, PairScore(4, 2, counts=False)],
        [PairScore(0, 2), None],
    ]
    async with site(tmp_path) as served:
        page = await shown(served, tournament, monkeypatch)
    assert page.count(">(2/2)<") == 2
    assert "(left early)" in page
    assert "In brackets: games that do not count" in page


@pytest.mark.parametrize("seed", range(25))
async def test_the_page_shows_any_tournament_in_any_state(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lots = random.Random(seed)
    run = TournamentRun(*drawn(lots), lots)
    for _ in range(lots.randint(0, 60)):
        run.step()
    tournament = run.tournament
    async with site(tmp_path) as served:
        words = Elements(await shown(served, tournament, monkeypatch)).words
        assert tournament.spec.name in words
        assert all(row.player in words for row in standings(tournament).rows)


async def shown(
    served: Site,
    tournament: Tournament,
    monkeypatch: pytest.MonkeyPatch,
    query: str = "",
    ratings: Mapping[str, Rating] | None = None,
) -> str:
    """Return the page of a tournament that the server does not have, without its live boards."""

    async def get(call: object, name: str) -> Tournament:
        return tournament

    async def table(call: object, name: str, category: str) -> tuple[str, Table]:
        return name, standings(tournament, ratings)

    async def match(call: object, name: str) -> SimpleNamespace:
        return SimpleNamespace(result="it has ended just now")

    monkeypatch.setattr(served.gate.tournaments, "get", get)
    monkeypatch.setattr(served.gate.tournaments, "standings", table)
    monkeypatch.setattr(served.gate.matches, "get", match)
    answer = await served.get(f"/tournaments/t1{query}")
    assert answer.status_code == 200
    return answer.text


async def test_a_ladder_marks_what_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = Spec("Nights", Format.LADDER, ("hop-it",), "1s", options=Options(validation=False, duration_ms=1_000_000))
    run = TournamentRun(spec, 4, random.Random(1))
    run.step()
    known = [(60, False, 1), (50, False, 1), (-110, False, 2), (200, True, 3)]
    ratings = {
        f"p{number:03}": Rating(elo, elo - 40, elo + 40, provisional, group)
        for number, (elo, provisional, group) in enumerate(known)
    }
    assert [row.player for row in standings(run.tournament, ratings).rows] == sorted(ratings)
    async with site(tmp_path) as served:
        page = await shown(served, run.tournament, monkeypatch, ratings=ratings)
    table = page.partition("<h2>Standings</h2>")[2].partition("<tbody>")[2].partition("</tbody>")[0]
    lines = ['class="group"' in row.partition(">")[0] for row in table.split("<tr")[1:]]
    assert lines == [False, False, True, True], (
        "lines above players whose order is established, and above provisional ones"
    )
    assert table.count("(provisional)") == 1
    assert "Provisional: has met fewer than three others." in page


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("players", [2, 3, 5, 8, 11])
async def test_a_bracket_shows_every_tie_and_its_winner(
    double: bool, players: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = Spec("cup", Format.KNOCKOUT, ("hop-it",), "1s", options=Options(double=double, third_place=not double))
    run = TournamentRun(spec, players, random.Random(players), no_shows=0.0)
    for _ in range(players):
        run.step()
    half = bracket(run.tournament)
    tournament = run.play()
    stages = bracket(tournament)
    ties = [tie for stage in stages for each in stage.rounds for tie in each.ties if not tie.empty]
    met = [tie for tie in ties if all(side.name for side in tie.sides)]
    assert len(met) == len({meeting.place for meeting in tournament.meetings})
    assert all([side.won for side in tie.sides].count(True) == 1 for tie in ties)
    assert sum(len(tie.matches) for tie in met) == sum(bool(each.match) for each in tournament.results.values())
    names = [stage.title for stage in stages]
    assert names[0] == ("Winners' bracket" if double else "Bracket")
    (winner,) = [row.player for row in standings(tournament).rows if row.reached == "winner"]
    final = stages[names.index("Final")].rounds[-1] if double else stages[0].rounds[-1]
    assert [side.name for side in final.ties[0].sides if side.won] == [winner]
    assert len([tie for stage in half for each in stage.rounds for tie in each.ties]) <= len(
        [tie for stage in stages for each in stage.rounds for tie in each.ties]
    )
    async with site(tmp_path) as served:
        page = await shown(served, tournament, monkeypatch)
        assert page.count('class="through"') == len(ties)
    assert bracket(TournamentRun(Spec("all", Format.SWISS, ("hop-it",), "1s"), 4, random.Random(1)).tournament) == []


@pytest.mark.long
async def test_games_are_listed_by_round_and_by_player(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = Spec("all", Format.ROUND_ROBIN, ("hop-it",), "1s", paired=False)
    tournament = TournamentRun(spec, 6, random.Random(1)).play()
    assert game_list(tournament, 0, 0).round == 5
    assert [each.round for each in game_list(tournament, 2, 0).games] == [2, 2, 2]
    mine = game_list(tournament, 0, 0, ["p003"]).games
    assert len(mine) == 5
    assert all("p003" in (each.game.seat1, each.game.seat2) for each in mine)
    assert len(game_list(tournament, 0, 0, ["p003", "p001"]).games) == 1
    async with site(tmp_path) as served:
        page = await shown(served, tournament, monkeypatch, "?round=2")
        assert 'href="?round=2#games" aria-current=page' in page
        assert sum(f'href="/matches/{each.match}"' in page for each in tournament.results.values()) >= 3
        for strange in ("?round=99", "?round=x", "?before=-1", "?player=nobody", "?player=%3Cb%3E"):
            assert "<b>" not in await shown(served, tournament, monkeypatch, strange)


@pytest.mark.long
def test_a_long_list_of_games_has_pages() -> None:
    spec = Spec("day and night", Format.ARENA, ("hop-it",), "1s", options=Options(duration_ms=30_000))
    tournament = TournamentRun(spec, 12, random.Random(1)).play()
    assert len(tournament.games) > MOST_GAMES
    listed, before = [], 0
    while True:
        part = game_list(tournament, 0, before)
        assert len(part.games) <= MOST_GAMES
        listed += [each.game.number for each in part.games]
        before = part.older
        if not before:
            break
    assert listed == list(range(len(tournament.games), 0, -1))


def test_every_tie_break_has_a_name() -> None:
    assert set(TIE_BREAKS) == {each.value for each in TieBreak}
    assert set(PHASES) == {each.value for each in TournamentPhase}


@pytest.mark.long
@pytest.mark.parametrize("servers", SITES)
async def test_a_tournament_has_its_page(servers: int, tmp_path: Path) -> None:
    async with site(tmp_path, servers) as served:
        spec = Spec("Evening", Format.ROUND_ROBIN, ("hop-it",), "1s")
        made = await served.server.arbiter.tournaments.create(spec, "org", "make")
        answer = await served.get(f"/tournaments/{made.id}")
        assert answer.status_code == 200
        assert "Evening" in (await served.get("/")).text
        assert (await served.get("/tournaments/none")).status_code == 404

        arbiter = served.server.arbiter
        await arbiter.tournaments.act(made.id, Cancel("org", "cancel", "rain"))
        log = f"/tournaments/{made.id}/tournament.log"
        assert f'href="{log}" download' in (await served.get(f"/tournaments/{made.id}")).text
        parts = [part async for part in arbiter.tournament_files.parts(made.id)]
        assert (await served.get(log)).content == b"".join(parts)
        assert b'"kind":"tournament_signature"' in parts[-1]
        assert (await served.get("/tournaments/none/tournament.log")).status_code == 404
        await arbiter.tournaments.stop()
