"""Tournament reports: a round trip without loss, files of another program, what is wrong, and tournaments of ours."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.plain_text import plain
from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments.dutch import Entry
from arbiter.tournaments.dutch import pair_round as dutch_round
from arbiter.tournaments.formats.swiss import pair_round
from arbiter.tournaments.spec import Format, Options, Spec
from arbiter.tournaments.standings import standings
from arbiter.tournaments.trf import NAME, RESULTS, Cell, Report, ReportedPlayer, read, write
from arbiter.tournaments.trf_records import TrfError
from arbiter.tournaments.trf_report import report_of
from tests.tournaments.reports import POINTS, result_of

REPORTS: Final = sorted((Path(__file__).parent / "swiss_2026").glob("*.trf"))
PLAIN: Final = st.characters(exclude_categories=("C", "Z")).filter(lambda char: plain(char) == char)


@st.composite
def reports(draw: st.DrawFn) -> Report:
    count, rounds = draw(st.integers(1, 6)), draw(st.integers(0, 4))
    cell = st.builds(Cell, st.integers(0, count), st.sampled_from("wb-"), st.sampled_from(RESULTS))
    players = [
        ReportedPlayer(
            number,
            draw(st.text(PLAIN, max_size=NAME)),
            draw(st.integers(0, 9_999)),
            draw(st.integers(-19, 199)),
            draw(st.integers(0, 9_999)),
            tuple(draw(st.lists(cell, min_size=rounds, max_size=rounds))),
        )
        for number in range(1, count + 1)
    ]
    return Report(draw(st.text(PLAIN, max_size=40)), tuple(players), draw(st.integers(0, 99)))


@pytest.mark.long
@given(reports())
def test_a_report_reads_back(report: Report) -> None:
    assert read(write(report)) == report


@given(st.text() | st.text("001X2R =wb-\n.9", max_size=300).map("001    1".__add__))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        report = read(text)
    except TrfError:
        return
    assert read(write(report)).players == tuple(each._replace(name=each.name[:NAME]) for each in report.players)


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_a_report_of_another_program_reads_and_reads_back(path: Path) -> None:
    report = read(path.read_text("utf-8"))
    assert report.name == "AutoTest Tournament " + report.name.rpartition(" ")[2]
    for player in report.players:
        assert player.half_points == sum(POINTS[cell.result] for cell in player.cells)
    assert read(write(report)) == report


LINE: Final = "001    1      ann                               1800                             1.0    1     2 w 1"
OTHER: Final = "001    2      ben                               1700                             0.0    2     1 b 0"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("012 Cup", "line 1, column 1: no line begins with 001"),
        (f"{LINE}\n{LINE}", "line 2, column 5: player 1 has line 1 already: remove one"),
        (LINE, "line 1, column 92: there is no player 2: add its line or write 0000"),
        (f"{OTHER}\n{LINE[:96]}x{LINE[97:]}", "line 2, column 97: 'x' is no colour: write w, b or -"),
        (f"{OTHER}\n{LINE[:98]}?", "line 2, column 99: '?' is no result: write one of 1=0WDL+-UFHZ, or a blank"),
        (LINE.replace("1800", "18o0"), "line 1, column 49: expected a rating, and found '18o0'"),
        (LINE.replace("1.0", "1.3"), "line 1, column 81: '1.3' are no points: write them as 4.5"),
        ("001    x", "line 1, column 5: expected a player's number"),
        (f"{LINE}\n{OTHER}\nXXR many", "line 3, column 5: expected how many rounds are planned"),
    ],
)
def test_what_is_wrong_is_named(text: str, complaint: str) -> None:
    with pytest.raises(TrfError) as caught:
        read(text)
    assert complaint in str(caught.value)


def field(players: int, rounds: int, *others: str) -> str:
    """Return a report of players who have no results."""
    line = f"{'':83}{'0000 - Z  ' * rounds}"
    return "\n".join((*(f"001 {number:4}{line}" for number in range(1, players + 1)), *others))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (field(2, 3) + " " * 1_048_576, "a report of more than 1048576 is not read"),
        (field(200, 101), "line 1, column 1: 200 players and 101 rounds: more than 20000 in all are not read"),
        (field(30, 1, "240 F 999    1"), "line 1, column 1: 30 players and 999 rounds: more than 20000 in all"),
        (field(210, 1, f"XXP {' '.join(map(str, range(1, 211)))}"), "line 211, column 1: pairs, byes and virtual"),
        (field(3, 1, *["260   1   2    1    2    3"] * 6_667), "line 6670, column 1: pairs, byes and virtual points"),
        (field(21, 1, "250       1.0 001 999    1   21"), "line 22, column 1: pairs, byes and virtual points"),
        (field(1, 1, f"XXA    1 {' 0.5 ' * 20_001}"), "line 2, column 1: pairs, byes and virtual points"),
        (field(1, 1, *["XXZ    1"] * 20_001), "line 20002, column 1: pairs, byes and virtual points"),
    ],
    ids=["characters", "rounds", "byes to come", "pairs", "again and again", "a range", "virtual points", "byes"],
)
def test_a_report_that_is_too_much_to_read_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(TrfError, match=complaint):
        read(text)


def test_a_large_report_is_read() -> None:
    assert len(read(field(1_000, 20, "250       1.0   1  10    1  500", "XXZ    1    2")).players) == 1_000


def spec(format_: Format, paired: bool = False, rounds: int = 0) -> Spec:
    return Spec("cup", format_, ("hop-it",), "1s", paired=paired, options=Options(rounds=rounds))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("format_", [Format.SWISS, Format.ROUND_ROBIN])
def test_the_results_of_a_report_are_the_points_of_the_standings(format_: Format, paired: bool, seed: int) -> None:
    rounds = 4 if format_ is Format.SWISS else 0
    tournament = TournamentRun(spec(format_, paired, rounds), 5 + seed, random.Random(seed)).play()
    table = standings(tournament)
    report = read(write(report_of(tournament, table)))
    assert report.planned == tournament.spec.options.rounds
    rows = {row.player: row for row in table.rows}
    for player in report.players:
        row = rows[player.name]
        assert (player.half_points, player.rank) == (row.points, row.place)
        assert sum(POINTS[cell.result] for cell in player.cells) == row.points
        for round_, cell in enumerate(player.cells):
            if cell.opponent:
                other = report.players[cell.opponent - 1].cells[round_]
                assert (other.opponent, {cell.colour, other.colour}) == (player.number, {"w", "b"})


@pytest.mark.parametrize("seed", range(5))
def test_the_next_round_is_paired_from_a_report_as_from_the_tournament(seed: int) -> None:
    run = TournamentRun(spec(Format.SWISS, rounds=5), 9, random.Random(seed))
    compared: set[int] = set()
    for _ in range(80):
        run.step()
        tournament = run.tournament
        if not tournament.seeds or not tournament.all_decided() or tournament.rounds in (*compared, 5):
            continue
        report = read(write(report_of(tournament, standings(tournament))))
        entries = [
            Entry(each.number, [result_of(cell) for cell in each.cells], not tournament.entrants[name].withdrawn)
            for name, each in zip(tournament.seeds, report.players, strict=True)
        ]
        paired, ours = dutch_round(entries, 5), pair_round(tournament)
        assert paired is not None
        assert ours is not None
        names = [(tournament.seeds[one - 1], tournament.seeds[other - 1]) for one, other in paired.pairs]
        assert names == [(pair.first, pair.second) for pair in ours[0]]
        compared.add(tournament.rounds)
    assert len(compared) > 2
