"""The tables of a tournament as files: the same figures as in its state, in every format and form."""

from __future__ import annotations

import csv
import io
import random
from collections import defaultdict
from pathlib import Path

import arbiter_client as arb
import pytest
from arbiter_client.values.reading import read

from arbiter.cli import tournament_view as view
from arbiter.testing.random_tournaments import TournamentRun, drawn
from arbiter.tournaments import folding, trf, trf_report
from arbiter.tournaments.corrections import Disqualify
from arbiter.tournaments.folding import fold
from arbiter.tournaments.group_table import table_of
from arbiter.tournaments.groups import Groups
from arbiter.tournaments.spec import Format, Options, Spec
from arbiter.tournaments.standings import Table, standings
from arbiter.tournaments.state_copy import copied
from arbiter.tournaments.tournament import Tournament
from arbiter.web import table_files
from arbiter.web.table_files import TABLES, crosstable_columns, standings_columns
from arbiter.wire.tournament_messages import standings_message, standings_row_message
from tests.tournaments.test_corrections import correct
from tests.web.site import site


def any_tournament(seed: int, steps: int) -> Tournament:
    lots = random.Random(seed)
    run = TournamentRun(*drawn(lots), lots)
    for _ in range(steps):
        run.step()
    return run.tournament


@pytest.mark.parametrize("seed", range(25))
def test_the_tables_have_what_the_tournament_has(seed: int) -> None:
    tournament = any_tournament(seed, random.Random(seed).randint(0, 60))
    table = standings(tournament)
    found = {
        name: [dict(zip(columns.headings, row, strict=True)) for row in columns.rows]
        for name, columns in ((name, make(tournament, table, 0)) for name, make in TABLES.items())
    }
    assert [row["player"] for row in found["standings"]] == [row.player for row in table.rows]
    assert [row["team"] for row in found["teams"]] == [row.team for row in (table.teams.rows if table.teams else ())]
    assert len(found["games"]) == len(tournament.games)
    assert sum(row["state"] == "ended" for row in found["games"]) == len(tournament.results)
    scored: defaultdict[object, float] = defaultdict(float)
    for row in found["games"]:
        for seat in (1, 2):
            points = row[f"points {seat}"]
            scored[row[f"player {seat}"]] += points if isinstance(points, float) else 0
    if not any(row["player 1"] == row["player 2"] for row in found["games"]):
        assert all(scored[row.player] == row.game_points / 2 for row in table.rows)
    byes = [player for round_ in sorted(tournament.byes) for player in tournament.byes[round_]]
    assert [row["player 1"] for row in found["pairings"] if row["state"] == "bye"] == byes
    assert len(found["pairings"]) == len(tournament.meetings) + len(byes)
    for name in ("games", "pairings"):
        rows = [TABLES[name](tournament, table, each).rows for each in range(1, tournament.rounds + 1)]
        assert sum(map(len, rows)) == len(found[name]), "each row is of one round"


@pytest.mark.parametrize("seed", range(25))
def test_the_command_and_the_page_have_the_same_standings(seed: int) -> None:
    tournament = any_tournament(seed, 60)
    table = standings(tournament)
    asked = read(arb.Standings, standings_message(tournament.id, table, map(standings_row_message, table.rows)))
    assert standings_columns(tournament, table) == view.lines(asked, brief=False, decimal=True)
    if asked.teams is not None:
        assert TABLES["teams"](tournament, table, 0) == view.team_lines(asked.teams, decimal=True)


def test_standings_say_who_is_disqualified() -> None:
    run = TournamentRun(Spec("all", Format.ROUND_ROBIN, ("hop-it",), "1s"), 4, random.Random(1), lambda game: 0)
    correct(run, Disqualify("p001", from_start=True))
    run.withdraw("p002")
    table = standings(run.tournament)
    headings, rows = standings_columns(run.tournament, table)
    found = {row[1]: dict(zip(headings, row, strict=True)) for row in rows}
    assert [(found[name]["withdrawn"], found[name]["disqualified"]) for name in ("p000", "p001", "p002")] == [
        ("no", "no"),
        ("yes", "yes"),
        ("yes", "no"),
    ]
    asked = read(arb.Standings, standings_message(run.tournament.id, table, map(standings_row_message, table.rows)))
    assert standings_columns(run.tournament, table) == view.lines(asked, brief=False, decimal=True)
    names = {row[1] for row in view.lines(asked, brief=True)[1]}
    assert {"(p001, disqualified)", "(p002)*"} <= names


def test_a_crosstable_has_brackets_around_what_does_not_count() -> None:
    run = TournamentRun(Spec("all", Format.ROUND_ROBIN, ("hop-it",), "1s"), 4, random.Random(1), lambda game: 0)
    run.pair()
    run.withdraw("p000")
    tournament = run.play()
    table = standings(tournament)
    headings, rows = crosstable_columns(tournament, table)
    assert headings == ("number", "player", "points", "1", "2", "3", "4")
    assert rows[0] == (1, table.rows[0].player, 2.0, None, "1/2", "1/2", "(2/2)")


@pytest.mark.long
@pytest.mark.parametrize(
    ("format_", "options"), [(Format.SWISS, Options(rounds=3)), (Format.ROUND_ROBIN, Options(boards=2, cycles=2))]
)
async def test_the_files_of_the_page(
    format_: Format, options: Options, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = Groups({"in rust": ("p001", "p003")}, {"Ada": ("p000", "p001")}, one_prize=True)
    spec, boards = Spec("cup", format_, ("hop-it",), "1s", options=options, groups=groups), options.boards
    tournament = TournamentRun(spec, 5, random.Random(1), lambda game: 0).play()
    table = standings(tournament)

    async def get(call: object, name: str, *, whole: bool = False) -> Tournament:
        return tournament

    async def of(call: object, name: str, category: str = "") -> tuple[str, Table]:
        return name, table_of(table, groups.tables, category)

    async with site(tmp_path) as served:
        monkeypatch.setattr(served.gate.tournaments, "get", get)
        monkeypatch.setattr(served.gate.tournaments, "standings", of)
        page = (await served.get("/tournaments/t1")).text
        assert ("teams.csv" in page) is ("<h2>Teams</h2>" in page) is bool(boards)
        for name, make in TABLES.items():
            if name == "teams" and not boards:
                continue
            columns = make(tournament, table, 0)
            path = f"/tournaments/{tournament.id}/{name}"
            answer = await served.get(f"{path}.json")
            assert answer.headers["content-type"] == "application/json"
            assert answer.json() == [dict(zip(columns.headings, row, strict=True)) for row in columns.rows]
            answer = await served.get(f"{path}.csv")
            assert answer.headers["content-type"] == "text/csv; charset=utf-8"
            assert answer.headers["content-disposition"] == f'attachment; filename="{name}.csv"'
            assert len(list(csv.reader(io.StringIO(answer.text), strict=True))) == 1 + len(columns.rows)
            answer = await served.get(f"{path}.md")
            assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
            assert answer.text.count("\n") == 2 + len(columns.rows)
            assert all(f'href="{path}.{form}"' in page for form in ("csv", "json", "md"))
        rows = (await served.get("/tournaments/t1/standings.json?category=in%20rust")).json()
        assert [row["player"] for row in rows] == [row.player for row in table.rows if row.player in ("p001", "p003")]
        assert [row["prize"] for row in (await served.get("/tournaments/t1/standings.json")).json()].count(None) == 1
        of_rust = (await served.get("/tournaments/t1?category=in%20rust")).text
        assert "Standings of in rust" in of_rust
        assert of_rust.count('?player=p002#games"') < page.count('?player=p002#games"')
        assert 'href="/tournaments/t1/standings.csv?category=in%20rust"' in of_rust
        assert (await served.get("/tournaments/t1?category=go")).status_code == 400
        second = (await served.get("/tournaments/t1/pairings.json?round=2")).json()
        assert {row["round"] for row in second} == {2}
        assert [row["state"] for row in second] == ["ended", "ended", *(() if boards else ("bye",))]
        answer = await served.get(f"/tournaments/{tournament.id}/tournament.trf")
        assert answer.status_code == (404 if boards else 200)
        if boards:
            return
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert answer.text == trf.write(trf_report.report_of(tournament, table))
        assert f'href="/tournaments/{tournament.id}/tournament.trf"' in page
        tournament = TournamentRun(Spec("cup", Format.KNOCKOUT, ("hop-it",), "1s"), 4, random.Random(1)).play()
        table = standings(tournament)
        assert "reports of a Swiss" in (await served.get("/tournaments/t1/tournament.trf")).text
        assert "tournament.trf" not in (await served.get("/tournaments/t1")).text
        for path in ("games.xml", "players.csv", "games.CSV"):
            assert (await served.get(f"/tournaments/t1/{path}")).status_code == 404


@pytest.mark.parametrize("most", [10, 1_000])
async def test_the_files_of_a_long_ladder_have_its_newest_games(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading all of them takes the memory and the time of all of them."""
    monkeypatch.setattr(folding, "KEPT", 6)
    monkeypatch.setattr(folding, "AT_ONCE", 2)
    monkeypatch.setattr(table_files, "MOST_GAMES", most)
    spec = Spec("years", Format.LADDER, ("hop-it",), "1s", options=Options(validation=False))
    run = TournamentRun(spec, 4, random.Random(1), lambda game: 0)
    while len(run.tournament.results) < 80:
        run.step()
    short = copied(run.tournament)
    fold(short)
    assert short.old

    async def get(call: object, name: str, *, whole: bool = False) -> Tournament:
        return run.tournament if whole else short

    async def of(call: object, name: str, category: str = "") -> tuple[str, Table]:
        return name, standings(short)

    async with site(tmp_path) as served:
        monkeypatch.setattr(served.gate.tournaments, "get", get)
        monkeypatch.setattr(served.gate.tournaments, "standings", of)
        for name in ("games", "pairings"):
            columns = TABLES[name](short if most == 10 else run.tournament, standings(short), 0)
            answer = (await served.get(f"/tournaments/{short.id}/{name}.json")).json()
            assert answer == [dict(zip(columns.headings, row, strict=True)) for row in columns.rows]
            assert (answer[0].get("game", answer[0].get("pairing")) == 1) is (most == 1_000)
