"""A Swiss that was begun elsewhere goes on here: what is written is read back, and what a report says counts."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments import commands as do
from arbiter.tournaments import corrections as cor
from arbiter.tournaments import events as ev
from arbiter.tournaments.checker import violations
from arbiter.tournaments.evolution import replay
from arbiter.tournaments.formats.swiss import pair_round
from arbiter.tournaments.game_ends import ELSEWHERE
from arbiter.tournaments.report_history import POINTS, history_of
from arbiter.tournaments.spec import EntryRules, Format, Options, Spec
from arbiter.tournaments.standings import rated_games, standings
from arbiter.tournaments.tournament import Tournament, TournamentPhase
from arbiter.tournaments.trf import Cell, ReportedPlayer, read, read_with_lines, write
from arbiter.tournaments.trf_records import TrfError
from arbiter.tournaments.trf_report import report_of

REPORTS: Final = sorted((Path(__file__).parent / "swiss_2026").glob("*.trf"))
ROUNDS: Final = 6


def swiss(rounds: int = ROUNDS, **options: bool) -> Spec:
    return Spec("cup", Format.SWISS, ("hop-it",), "1s", paired=False, options=Options(rounds=rounds, **options))


def text_of(tournament: Tournament) -> str:
    return write(report_of(tournament, standings(tournament)))


def gone_on(spec: Spec, text: str, seed: int = 0) -> TournamentRun:
    """Return a tournament that goes on after a report, whose players have the same names here."""
    run = TournamentRun(spec, 0, random.Random(seed))
    players = tuple(each.name for each in sorted(read(text).players))
    said = run.act(do.GoOn("organiser", "go on", text, players, ("",) * len(players)))
    assert said.refusal is None, said.refusal
    return run


def restless_swiss(seed: int) -> TournamentRun:
    """Return a Swiss after some rounds in which everything has happened that a report can say."""
    lots = random.Random(seed)
    forbidden = EntryRules(forbidden=(("p000", "p003"), ("p002", "p001")))
    spec = swiss(accelerated=lots.random() < 0.5)
    spec = replace(spec, paired=lots.random() < 0.3, entry=forbidden)
    run = TournamentRun(spec, lots.randint(6, 15), lots, no_shows=0.2)
    until, late = lots.randint(1, ROUNDS - 1), 100
    while run.tournament.rounds < until or not run.tournament.all_decided():
        run.step()
        tournament = run.tournament
        if tournament.phase is TournamentPhase.ENDED:
            break
        if lots.random() < 0.05:
            late += 1
            run.enter(f"p{late}")
        if len(tournament.players) < 5:
            continue
        if lots.random() < 0.04:
            run.withdraw(lots.choice(tournament.players))
        if lots.random() < 0.2:
            player = lots.choice(tournament.players)
            past = [bye for bye in tournament.entrants[player].byes if bye <= tournament.rounds]
            run.change(player, (*past, *(n for n in range(tournament.rounds + 1, ROUNDS + 1) if lots.random() < 0.2)))
        if lots.random() < 0.1 and tournament.results:
            _decide(run, lots)
    return run


def _decide(run: TournamentRun, lots: random.Random) -> None:
    tournament = run.tournament
    number, request = lots.choice(list(tournament.results)), f"decision {tournament.revision}"
    points = lots.choice(((2, 0), (0, 2), (1, 1), (1, 0), (0, 0)))
    rulings: tuple[do.Command, ...] = (
        do.Rule("organiser", request, number, ev.Decision.POINTS, points),
        _void(request, number),
    )
    one, other = lots.sample(list(tournament.entrants), 2)
    corrections = (cor.Award(one, 1), cor.Forbid(one, other), cor.GiveBye(one, tournament.rounds + 1))
    results = lots.choice((cor.Results.STAND, cor.Results.FORFEIT, cor.Results.VOID))
    out = do.Correct("organiser", request, cor.Disqualify(one, True, results))
    others: list[do.Command] = [do.Correct("organiser", request, what) for what in corrections]
    run.act(lots.choice((*rulings, *others, out)))


def _void(request: str, number: int) -> do.Rule:
    return do.Rule("organiser", request, number, ev.Decision.VOID)


@pytest.mark.parametrize("seed", range(60))
def test_what_is_written_is_read_back_to_the_same_tournament(seed: int) -> None:
    ours = restless_swiss(seed).tournament
    text = text_of(ours)
    run = gone_on(ours.spec, text, seed)
    assert text_of(run.tournament).replace(" U", " F") == _without_places(text, run.tournament).replace(" U", " F")
    assert run.tournament.forbidden == ours.forbidden
    assert run.tournament.players == ours.players
    if not ours.by_hand.get(ours.rounds + 1):
        assert pair_round(run.tournament) == pair_round(ours)
    run.play()
    assert violations(run.log) == []
    assert replay(run.log).seeds == run.tournament.seeds


def _without_places(text: str, tournament: Tournament) -> str:
    """Return a report with the places of another tournament's: decisions on places by hand are in no report."""
    places = {row.player: row.place for row in standings(tournament).rows}
    report = read(text)
    return write(report._replace(players=tuple(each._replace(rank=places[each.name]) for each in report.players)))


@pytest.mark.parametrize("seed", range(12))
def test_places_and_tie_breaks_are_those_of_the_tournament(seed: int) -> None:
    lots = random.Random(seed)
    run = TournamentRun(swiss(), 9, lots, no_shows=0.2)
    while run.tournament.rounds < 4 or not run.tournament.all_decided():
        run.step()
        if lots.random() < 0.05:
            run.withdraw(lots.choice(run.tournament.players))
    ours, theirs = standings(run.tournament), standings(gone_on(swiss(), text_of(run.tournament)).tournament)
    for one, other in zip(ours.rows, theirs.rows, strict=True):
        kept = (one.place, one.player, one.points, one.values, one.games, one.wins, one.withdrawn)
        assert kept == (other.place, other.player, other.points, other.values, other.games, other.wins, other.withdrawn)


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_a_report_of_another_program_goes_on_and_is_written_as_it_was(path: Path) -> None:
    report = read(path.read_text("utf-8"))
    named = report._replace(players=tuple(each._replace(name=f"p{each.number}") for each in report.players))
    half = named._replace(players=tuple(_until(each, 4) for each in named.players), planned=7)
    run = gone_on(swiss(7), write(half))
    written = read(text_of(run.tournament))
    for before, after in zip(sorted(half.players), written.players, strict=True):
        assert before._replace(cells=after.cells, rank=after.rank) == after
        assert [_plain(cell) for cell in before.cells] == [_plain(cell) for cell in after.cells]
    run.play()
    assert violations(run.log) == []
    assert run.tournament.rounds == 7 or "no further pairing" in (run.tournament.end or ev.Ended(0, ev.End.TIME)).note


def _until(player: ReportedPlayer, rounds: int) -> ReportedPlayer:
    cells = player.cells[:rounds]
    return player._replace(cells=cells, half_points=sum(POINTS[cell.result] for cell in cells))


def _plain(cell: Cell) -> Cell:
    """Return a cell with one mark for each meaning."""
    return cell._replace(result={"F": "U", " ": "Z", "W": "1", "D": "=", "L": "0"}.get(cell.result, cell.result))


@pytest.mark.parametrize("seed", range(10))
def test_games_of_the_last_round_without_a_result_are_played_here(seed: int) -> None:
    lots = random.Random(seed)
    run = TournamentRun(replace(swiss(), paired=True), 8, lots, no_shows=0)
    while run.tournament.rounds < 3 or not 0 < len(run.tournament.results) % 8 < 6:
        run.step()
    ours = run.tournament
    open_ = [each for each in ours.of_round(3) if not ours.decided(each)]
    run = gone_on(ours.spec, text_of(ours), seed)
    waiting = [*run.tournament.waiting]
    assert {frozenset(game.players) for game in waiting} == {frozenset(each.players) for each in open_}
    assert len(waiting) == 2 * len(open_), "both games of the specification are played"
    run.play()
    assert violations(run.log) == []
    assert run.tournament.end is not None
    assert run.tournament.end.end is ev.End.COMPLETE


def test_games_that_were_played_elsewhere_count_for_no_rating_and_can_be_ruled_on_and_played_again() -> None:
    run = TournamentRun(swiss(), 4, random.Random(1), no_shows=0)
    while run.tournament.rounds < 2 or not run.tournament.all_decided():
        run.step()
    run = gone_on(swiss(), text_of(run.tournament))
    assert {result.reason for result in run.tournament.results.values()} == {ELSEWHERE}
    assert rated_games(run.tournament) == []
    turned = do.Rule("organiser", "rule", 1, ev.Decision.VOID)
    assert run.act(turned).refusal is None
    assert run.tournament.results[1].void
    for what in (cor.PairRound(2), cor.PairByHand(2, (("p000", "p001"),)), cor.GiveBye("p000", 2)):
        refusal = run.act(do.Correct("organiser", str(what), what)).refusal
        assert refusal is not None
        assert refusal.facts["why"] == "round 2 was played elsewhere"
    assert run.act(do.Correct("organiser", "again", cor.Replay(2))).refusal is None
    assert [game.number for game in run.tournament.waiting] == [2]
    run.play()
    assert violations(run.log) == []


def player(number: int, points: str, *cells: str) -> str:
    return f"001 {number:4}      {f'p{number}':33} {2500 - number:4}{'':28}{points:>4}     " + "".join(
        f"  {cell}" for cell in cells
    )


FIELD: Final = (
    player(1, "1.0", "   2 w 1"),
    player(2, "0.0", "   1 b 0"),
    player(3, "1.0", "   4 b +"),
    player(4, "0.0", "   3 w -"),
)


def of_field(*more: str, **instead: str) -> str:
    """Return a report of four players after round 1; p1 and so on: another line for a player."""
    return "\n".join([*(instead.get(f"p{n}", line) for n, line in enumerate(FIELD, 1)), *more])


def the_virtual(tournament: Tournament) -> object:
    return tournament.virtual


def the_forbidden(tournament: Tournament) -> object:
    return tournament.forbidden


def the_byes(tournament: Tournament) -> object:
    return tournament.entrants["p4"].byes


def the_players(tournament: Tournament) -> object:
    return tournament.players


def the_initial_colour(tournament: Tournament) -> object:
    return tournament.initial


def the_byes_by_hand(tournament: Tournament) -> object:
    return tournament.by_hand[3].byes


APART: Final = {frozenset(("p1", "p3")), frozenset(("p1", "p4")), frozenset(("p3", "p4"))}


@pytest.mark.parametrize(
    ("line", "what", "expected"),
    [
        ("XXR 6", the_players, ["p1", "p2", "p3", "p4"]),
        ("142 6", the_players, ["p1", "p2", "p3", "p4"]),
        ("XXP 1 3 4", the_forbidden, APART),
        ("260   1   6    1    3    4", the_forbidden, APART),
        ("260   1   1    1    3    4", the_forbidden, frozenset()),
        ("XXA    1  1.0  1.0  0.5", the_virtual, {"p1": (2, 2, 1)}),
        ("250       1.0   1   2    1    2", the_virtual, {"p1": (2, 2), "p2": (2, 2)}),
        ("240 H   2    4", the_byes, (2,)),
        ("240 H   2    3    4\n240 H   4    4", the_byes, (2, 4)),
        ("240 F   3    4", the_byes_by_hand, ("p4",)),
        ("240 Z   2    4", the_players, ["p1", "p2", "p3"]),
        ("XXZ 4 2", the_players, ["p1", "p3"]),
        ("XXC white1", the_initial_colour, 1),
        ("XXC black1", the_initial_colour, 2),
        ("152 B", the_initial_colour, 2),
        ("", the_initial_colour, 1),
        ("162  W 1.0    D 0.5    L 0.0", the_players, ["p1", "p2", "p3", "p4"]),
        ("XXS W=1.0 D=0.5 PAB=1.0", the_players, ["p1", "p2", "p3", "p4"]),
        ("BBW  1.0\nBBD  0.5\nBBU  1.0", the_players, ["p1", "p2", "p3", "p4"]),
        ("192 FIDE_DUTCH_2026", the_players, ["p1", "p2", "p3", "p4"]),
        ("013 Team A   1 2\n202 BH:C1\n### a remark", the_players, ["p1", "p2", "p3", "p4"]),
    ],
)
def test_what_other_records_say(line: str, what: Callable[[Tournament], object], expected: object) -> None:
    run = gone_on(swiss(), of_field(line))
    assert what(run.tournament) == expected
    run.play()
    assert violations(run.log) == []


def test_marks_after_the_last_round_are_byes_to_come() -> None:
    text = of_field(
        p1=player(1, "1.0", "   2 w 1", "0000 - H"),
        p2=player(2, "0.0", "   1 b 0", "0000 - Z"),
        p3=player(3, "2.0", "   4 b +", "0000 - F"),
    )
    tournament = gone_on(swiss(), text).tournament
    assert tournament.rounds == 1
    assert tournament.entrants["p1"].byes == (2,)
    assert tournament.players == ["p1", "p3", "p4"]
    assert tournament.by_hand[2].byes == ("p3",)


def test_late_players_have_the_last_numbers() -> None:
    cells = ("0000 - Z", "   3 b 1")
    second = (player(2, "0.0", "   1 b 0", "   1 w 0"), player(3, "0.0", "0000 -  ", "   5 w 0"))
    text = "\n".join(
        (
            *(player(1, "2.0", "   2 w 1", "   2 b 1"), *second),
            *(player(4, "0.0"), player(5, "1.0", *cells), player(6, "0.0", "0000 - Z", "0000 - Z")),
        )
    )
    entrants = gone_on(swiss(), text).tournament.entrants
    assert [each.joined for each in entrants.values()] == [1, 1, 2, 2, 2, 3]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (of_field("299 x"), "line 5, column 1: points that do not follow from results are not read: take the line"),
        (of_field("XXR 0").replace("   2 w 1", "   1 w 1"), "line 1, column 92: a player is its own opponent"),
        (of_field().replace("2 w 1", "2 w U"), "line 1, column 92: 'U' is no result with another player"),
        (of_field().replace("   1 b 0", "0000 b 0"), "line 2, column 92: '0' is no result without another player"),
        (
            of_field().replace("   1 b 0", "   4 b 0"),
            "line 1, column 92: player 1 has met 2, whose line says otherwise",
        ),
        (of_field().replace("1 b 0", "1 b 1"), "line 1, column 92: '1' here and '1' in line 2 are no result of a game"),
        (of_field().replace("1 b 0", "1 b -"), "'1' here and '-' in line 2 are no result of a game: correct one"),
        (of_field().replace("1 b 0", "1 w 0"), "line 1, column 92: players 1 and 2 need one colour each, w and b"),
        (of_field().replace(" 1.0 ", " 2.5 ", 1), "line 1, column 81: 2.5 points are not the sum of the results, 1"),
        (
            of_field("XXR 0", "240 H   7    1", "XXR 6"),
            "line 7, column 5: the report has round 7, and plans 6 rounds: correct one",
        ),
        (of_field("240 X   7    1"), "line 5, column 5: 'X' is no bye: write F, H or Z"),
        (of_field("240 H        1"), "line 5, column 7: expected a round, from 1"),
        (of_field("240 H   2    9"), "line 5, column 5: there is no player 9: add its line or take the number out"),
        (of_field("240 Z   3    4"), "line 4, column 112: player 4 sits out round 3 without points, and plays before"),
        (of_field("240 Z   2    4\n240 H   3    4"), "player 4 is away in round 2 without points, and not for good"),
        (of_field("XXP 1"), "line 5, column 5: expected the numbers of two players or more, each once"),
        (of_field("XXP 1 x"), "line 5, column 7: expected a player's number, and found 'x'"),
        (
            of_field("XXR 6", "260   2   4    1    2"),
            "line 6, column 5: players 1 and 2 must not meet in some rounds to come only",
        ),
        (of_field("250       1.0   2   1    1    2"), "line 5, column 15: expected the first and the last round"),
        (of_field("250  2.0  1.0   1   2    1    2"), "line 5, column 5: match points of teams are not read"),
        (of_field("XXA    1  one"), "line 5, column 10: 'one' are no points: write them as 0.5"),
        (of_field("XXA    1  100"), "line 5, column 10: '100' are no points: write them as 0.5"),
        (of_field().replace(" 1.0 ", " 100 ", 1), "line 1, column 81: '100' are no points: write them as 4.5"),
        (of_field("XXC rank"), "line 5, column 5: pairing by the order of the lines is not read"),
        (of_field("152 X"), "line 5, column 5: 'X' is no colour: write W or B"),
        (of_field("162  W 3.0    D 1.0"), "line 5, column 5: W = 3 points are not counted here: a win is 1"),
        (of_field("XXS W=3.0"), "line 5, column 5: W = 3 points are not counted here"),
        (of_field("BBU  0.5"), "line 5, column 5: BBU = 0.5 points are not counted here"),
        (
            "\n".join((player(1, "0.0", "   2 w  ", "   2 b 0"), player(2, "1.0", "   1 b  ", "   1 w 1"))),
            "line 1, column 92: a game of round 1 has no result, and round 2 is paired: add its result",
        ),
    ],
)
def test_what_a_report_can_not_say_is_named(text: str, complaint: str) -> None:
    with pytest.raises(TrfError) as caught:
        history_of(read_with_lines(text))
    assert complaint in str(caught.value)


@given(st.text() | st.text("0123 xXRPAZC24560.H=wb-\n", max_size=200).map(of_field))
def test_any_text_is_a_history_or_refused(text: str) -> None:
    try:
        report = read_with_lines(text)
        history = history_of(report)
    except TrfError:
        return
    nameless = [each._replace(name="") for each in report.report.players]
    record = write(report.report._replace(name="", players=tuple(nameless)))
    kept = history_of(read_with_lines(record))
    assert kept == history._replace(players=tuple(each._replace(name="") for each in history.players))
