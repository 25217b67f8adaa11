"""A series by commands on a real server: a date is left out, and the table over it is read."""

from __future__ import annotations

import csv
import io
import shlex
from pathlib import Path

import arbiter_client as arb
import pytest
from arbiter_client.values.reading import read

from arbiter.cli.tournament_view import series_lines
from arbiter.service.ports.journal import TournamentSummary
from arbiter.service.tournaments.series_tables import Series
from arbiter.tournaments.events import Created
from arbiter.tournaments.schedule import Schedule, SeriesRules
from arbiter.tournaments.series_table import PlayerResult, series_table
from arbiter.tournaments.spec import Format, Spec
from arbiter.tournaments.tournament import Tournament
from arbiter.web.table_files import series_columns
from arbiter.wire.tournament_messages import series_message, series_row_message
from tests.cli.command import WAIT_S, Arbiter, Server
from tests.documents import block, commands

SERIES = """
name = "Friday cup"
format = "round_robin"
games = ["circle-of-life(target=1)"]
time = "1m"
paired = false
rated = false

[schedule]
every = "friday 18:00 Europe/Berlin"

[series]
place_points = [3, 1]
"""


def ids(arbiter: Arbiter, phase: str) -> list[str]:
    rows = arbiter("tournament", "list", "--phase", phase).out.splitlines()[1:]
    return [row.split("\t")[0] for row in rows]


@pytest.mark.long
def test_a_date_is_left_out_as_the_page_says_and_the_table_is_read(
    server: Server, arbiter: Arbiter, tmp_path: Path
) -> None:
    file = tmp_path / "cup.toml"
    file.write_text(SERIES)
    for name in ("walter", "wendy"):
        arbiter("token", "create", name, "--save")
    first = arbiter("tournament", "create", str(file)).out.strip()
    lines = [shlex.split(line) for line in commands(block("deploy/SERIES.md", "--series-goes-on"))]
    out, off = ([word.replace("TOURNAMENT", "last") for word in line[1:]] for line in lines)
    ran = arbiter(*out)
    assert ran.out.startswith("over (cancelled: holidays): "), ran.err
    [second] = ids(arbiter, "open")
    assert (second != first, ids(arbiter, "ended")) == (True, [first])

    arbiter("tournament", "enter", second, "walter", "wendy")
    assert arbiter("tournament", "series", second).out.splitlines() == ["place\tplayer\tpoints"]
    arbiter("tournament", "start", second)
    with (
        server.running("tournament", "watch", second) as watcher,
        server.bot("random", "walter"),
        server.bot("random", "wendy"),
    ):
        watcher.communicate(timeout=WAIT_S)
    [third] = ids(arbiter, "open")
    rows = list(csv.reader(io.StringIO(arbiter("tournament", "series", third, "--csv").out)))
    assert rows[0] == ["place", "player", "points", second]
    assert [row[0] for row in rows[1:]] in (["1", "2"], ["1", "1"])
    assert {row[1] for row in rows[1:]} == {"walter", "wendy"}
    assert arbiter(*off).out.startswith("over (cancelled: no more): ")
    assert ids(arbiter, "open") == []
    single = tmp_path / "single.toml"
    single.write_text(SERIES.partition("[schedule]")[0])
    arbiter("tournament", "create", str(single))
    assert "false for a tournament without schedule.every" in arbiter(*out).complaint


def test_the_command_and_the_file_of_the_page_have_the_same_table() -> None:
    rules = SeriesRules(best=1, last=7)
    spec = Spec("cup", Format.SWISS, ("pods",), "1s", schedule=Schedule(every="daily 18:00 UTC"), series=rules)
    tournament = Tournament(Created(1, "t3", spec, "org", "make"))
    kept = [TournamentSummary(name, "cup", "swiss", "ended", "org", name, 1, 2, 3) for name in ("t1", "t2")]
    there = [
        {"ann": PlayerResult(1, 5, True), "ben": PlayerResult(2, 3, True)},
        {"ann": PlayerResult(1, 2, True), "cat": PlayerResult(2, 1, True)},
    ]
    series = Series(tournament, kept, "t4", series_table(there, rules))
    asked = read(arb.Series, series_message(series, [series_row_message(series, row) for row in series.rows]))
    assert (asked.rules, asked.next_tournament_id) == (arb.SeriesRules(1, 7), "t4")
    assert series_columns(series) == series_lines(asked, ["t1", "t2"])
    assert series_columns(series).rows[0] == (1, "ann", 2.5, 2.5, "(1)")


LEAGUE = """
[league]
divisions = ["First", "Second"]
size = 2
"""


@pytest.mark.long
def test_the_command_shows_the_divisions_of_a_season(server: Server, arbiter: Arbiter, tmp_path: Path) -> None:
    file = tmp_path / "league.toml"
    file.write_text(SERIES + LEAGUE)
    names = ("walter", "wendy", "wilma", "wolf", "late")
    for name in names:
        arbiter("token", "create", name, "--save")
    first = arbiter("tournament", "create", str(file)).out.strip()
    arbiter("tournament", "enter", first, *names[:4])
    before = arbiter("tournament", "series", first)
    assert f"First ({first}): walter, wendy, wilma, wolf" in before.out, before.err
    arbiter("tournament", "start", first)
    shown = arbiter("tournament", "series", first).out.splitlines()
    assert f"First ({first}): walter, wendy" in shown
    assert any(line.startswith("Second (") and line.endswith("): wilma, wolf") for line in shown)
    assert "Since the season before: entered: walter, wendy, wilma, wolf." in shown
    late = arbiter("tournament", "enter", first, "late")
    assert "after its start" in late.err
