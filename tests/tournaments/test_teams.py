"""Tournaments of teams: who plays at which board, matches, standings by hand, and the checks of their rules."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from arbiter.errors import Refusal
from arbiter.matches import time_control
from arbiter.testing.random_tournaments import TournamentRun, drawn, restless
from arbiter.tournaments import codec, engine, formats
from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments.checker import violations
from arbiter.tournaments.corrections import Disqualify, Reinstate
from arbiter.tournaments.evolution import replay
from arbiter.tournaments.formats.teams import pair_teams
from arbiter.tournaments.game_ends import Winner
from arbiter.tournaments.meetings import ScheduledGame
from arbiter.tournaments.spec import EntryRules, Format, Options, Spec, TieBreak
from arbiter.tournaments.spec_text import read_spec, write_spec
from arbiter.tournaments.standings import standings
from arbiter.tournaments.team_boards import members
from arbiter.tournaments.team_standings import TeamRow, scores_of
from arbiter.tournaments.tournament import Tournament

NAMES = {"a": "abc", "d": "def", "g": "ghi"}  #: the teams of `run_of`, with their players


def spec_of(format_: Format = Format.ROUND_ROBIN, order: tuple[TieBreak, ...] = (), **options: object) -> Spec:
    made = Options(**({"boards": 2} | options))  # type: ignore[arg-type]
    return Spec("test", format_, ("hop-it",), "1s", paired=False, options=made, tie_breaks=order)


def by_name(game: ScheduledGame) -> Winner:
    """The name that sorts first wins."""
    return 1 if game.seat1 < game.seat2 else 2


def drawn_all(_: ScheduledGame) -> Winner:
    return 0


def run_of(
    spec: Spec, teams: str = "adg", result: Callable[[ScheduledGame], Winner | None] = by_name, *, start: bool = True
) -> TournamentRun:
    """Return a tournament of teams of three players, two of whom have boards: team `a` has the players a, b and c."""
    run = TournamentRun(spec, 0, random.Random(1), result)
    for team in teams:
        for player in NAMES[team]:
            enter(run, player, team)
    if start:
        assert run.act(do.Start("organiser", "go")).refusal is None
    return run


def enter(run: TournamentRun, player: str, team: str = "", rating: int = 0) -> engine.TournamentDecision:
    return run.act(do.Enter(player, "organiser", f"enter {player} {team}", rating=rating, team=team))


def pairs(tournament: Tournament) -> list[tuple[int, str]]:
    """Return who meets whom: the round, and both players, seat 1 first."""
    return [(meeting.round, meeting.first + meeting.second) for meeting in tournament.meetings]


def rows_of(tournament: Tournament) -> list[TeamRow]:
    table = standings(tournament).teams
    assert table is not None
    return list(table.rows)


def test_every_team_meets_every_other_one_board_by_board() -> None:
    tournament = run_of(spec_of()).play()
    # The Berger table of three: 2–3, then 1–2, then 3–1; the first team has seat 1 on odd boards.
    assert pairs(tournament) == [(1, "dg"), (1, "he"), (2, "ad"), (2, "eb"), (3, "ga"), (3, "bh")]


def test_in_the_scheveningen_system_each_player_meets_every_player_of_the_other_team() -> None:
    tournament = run_of(spec_of(scheveningen=True), "ad").play()
    assert pairs(tournament) == [(1, "ad"), (1, "be"), (2, "ea"), (2, "db")]
    [first, second] = rows_of(tournament)
    assert (first.team, first.match_points, first.board_points, first.matches) == ("a", 2, 8, 1)
    assert (second.team, second.match_points, second.board_points, second.losses) == ("d", 0, 0, 1)


@pytest.mark.parametrize("boards", [1, 2, 3, 4, 5, 8])
def test_seats_of_the_scheveningen_system_are_even(boards: int) -> None:
    run = TournamentRun(spec_of(boards=boards, scheveningen=True), 2 * boards, random.Random(1), by_name)
    tournament = run.play()
    met = [frozenset(meeting.players) for meeting in tournament.meetings]
    assert len(set(met)) == len(met) == boards**2
    for player in tournament.players:
        seats = [meeting.first == player for meeting in tournament.meetings_of[player]]
        assert abs(2 * sum(seats) - boards) <= 1
        assert not any(one == two == three for one, two, three in zip(seats, seats[1:], seats[2:], strict=False))


def test_a_reserve_has_the_board_of_who_withdrew_from_the_next_round_on() -> None:
    run = run_of(spec_of(cycles=2), "ad")
    run.pair()
    assert pairs(run.tournament) == [(1, "ad"), (1, "eb")]
    run.withdraw("a")  # it loses the game that it is paired for
    tournament = run.play()
    assert pairs(tournament) == [(1, "ad"), (1, "eb"), (2, "dc"), (2, "be")]
    assert tournament.results[1].reason == "walkover"
    assert violations(run.log) == []


def test_without_a_reserve_a_board_is_lost() -> None:
    run = run_of(spec_of(cycles=2), "ad")
    for player in "ac":
        run.withdraw(player)
    tournament = run.play()
    assert pairs(tournament) == [(1, "ad"), (1, "eb"), (2, "da"), (2, "be")]
    assert [result.reason for _, result in sorted(tournament.results.items())].count("walkover") == 2
    # Both matches ended 1–1, and d has won on board 1: the board count decides.
    shown = [(row.team, row.match_points, row.board_points) for row in rows_of(tournament)]
    assert shown == [("d", 2, 4), ("a", 2, 4)]
    assert violations(run.log) == []


def test_a_reinstated_player_has_its_board_back() -> None:
    run = run_of(spec_of(cycles=3), "ad")
    run.act(do.Correct("organiser", "out", Disqualify("a", from_start=False)))
    run.pair()
    run.act(do.Correct("organiser", "in", Reinstate("a")))
    tournament = run.play()
    assert [each for _, each in pairs(tournament)][:4] == ["cd", "eb", "da", "be"]
    assert violations(run.log) == []


def test_teams_are_numbered_by_the_ratings_of_their_boards() -> None:
    run = run_of(spec_of(), "", start=False)
    for team, ratings in (("a", (1, 1, 3000)), ("d", (100, 1)), ("g", (50, 50))):
        for player, rating in zip(NAMES[team], ratings, strict=False):
            enter(run, player, team, rating)
    run.act(do.Start("organiser", "go"))
    run.pair()  # d and g have 101 and 100 points, and a 2: its reserve does not count
    assert pairs(run.tournament)[:2] == [(1, "ga"), (1, "bh")]


def test_match_points_and_board_points_by_hand() -> None:
    # a beats d by 2–0 and g by 1½–½, d beats g by 2–0.
    def result(game: ScheduledGame) -> Winner:
        return 0 if {"b", "h"} == set(game.players) else by_name(game)

    tournament = run_of(spec_of(), "adg", result).play()
    rows = rows_of(tournament)
    shown = [(row.place, row.team, row.match_points, row.board_points, row.wins, row.losses) for row in rows]
    assert shown == [(1, "a", 4, 7, 2, 0), (2, "d", 2, 4, 1, 1), (3, "g", 0, 1, 0, 2)]
    assert rows[0].players == ("a", "b", "c")
    # In quarters: 4 match points; 3½ board points; nobody is level; EMGSB 2·2 + 0·1½; 2·2 + 1½·1 at the boards.
    assert rows[0].values == (16, 14, 0, 16, 22)
    assert standings(tournament).rows[0].team == "a"


def test_the_points_of_a_match_are_those_of_the_specification() -> None:
    drawn_match = run_of(spec_of(match_win=3, match_draw=2), "ad", drawn_all).play()
    assert [row.match_points for row in rows_of(drawn_match)] == [2, 2]
    won = run_of(spec_of(match_win=3, match_draw=2), "ad").play()
    assert [row.match_points for row in rows_of(won)] == [3, 0]


def test_teams_are_ordered_by_board_points_if_the_specification_says_so() -> None:
    def result(game: ScheduledGame) -> Winner:
        players = set(game.players)
        if "d" in players:
            return 1 if game.seat1 == "d" else 0
        return 0 if "e" in players else by_name(game)

    # d and e beat both other teams by 2½–1½ in four games, and a and b beat g and h by 4–0.
    orders = []
    for by_board_points in (False, True):
        spec = replace(spec_of(by_board_points=by_board_points), paired=True)
        tournament = run_of(spec, "adg", result).play()
        orders.append([(row.team, row.match_points, row.board_points) for row in rows_of(tournament)])
    assert orders[0] == [("d", 4, 10), ("a", 2, 11), ("g", 0, 3)]
    assert orders[1] == [("a", 2, 11), ("d", 4, 10), ("g", 0, 3)]


@pytest.mark.parametrize(
    ("tie_break", "value"),
    [
        (TieBreak.MATCH_POINTS, 16),
        (TieBreak.BOARD_POINTS, 16),
        (TieBreak.WINS, 8),
        (TieBreak.SONNEBORN_BERGER, 16),  # 2 match points against d, who has 2, and 2 against g, who has none
        (TieBreak.SONNEBORN_BERGER_BOARDS, 16),
        (TieBreak.BUCHHOLZ, 8),
        (TieBreak.BOARD_COUNT, 24),
    ],
)
def test_tie_breaks_of_teams(tie_break: TieBreak, value: int) -> None:
    tournament = run_of(spec_of(order=(tie_break,))).play()
    assert rows_of(tournament)[0].values == (value,)


def test_a_swiss_pairs_teams_of_the_same_score_and_none_again() -> None:
    run = TournamentRun(spec_of(Format.SWISS, boards=1, rounds=3), 0, random.Random(1), by_name)
    for number, player in enumerate("abcdef"):
        enter(run, player, player.upper(), 100 - number)
    run.act(do.Start("organiser", "go"))
    tournament = run.play()
    # The first half meets the second half, and seats alternate; then a, b and c have won.
    assert pairs(tournament)[:3] == [(1, "ad"), (1, "eb"), (1, "cf")]
    second = [set(pair) for round_, pair in pairs(tournament) if round_ == 2]
    assert sum(pair <= set("abc") or pair <= set("def") for pair in second) == 2
    met = [frozenset(pair) for _, pair in pairs(tournament)]
    assert len(set(met)) == len(met) == 9
    assert rows_of(tournament)[0].team == "A"
    assert violations(run.log) == []


def matchings(teams: list[str]) -> Iterator[list[tuple[str, str]]]:
    """Yield all ways to pair teams."""
    if not teams:
        yield []
        return
    for other in teams[1:]:
        rest = [team for team in teams[1:] if team != other]
        yield from ([(teams[0], other), *pairs] for pairs in matchings(rest))


@pytest.mark.parametrize("seed", range(5))
def test_no_other_pairs_of_teams_would_have_smaller_differences(seed: int) -> None:
    run = TournamentRun(spec_of(Format.SWISS, boards=1, rounds=4), 12, random.Random(seed), no_shows=0.0)
    tournament = run.tournament
    for round_ in range(1, 5):
        scores, met = scores_of(tournament), {frozenset(each.players) for each in tournament.meetings}
        names = {team: players[0].player for team, players in members(tournament).items()}  # at the only board
        found = pair_teams(tournament, list(names))

        def cost(pairs: list[tuple[str, str]], scores: dict[str, int] = scores) -> int:
            return sum((scores[one] - scores[other]) ** 2 for one, other in pairs)

        legal = (
            pairs
            for pairs in matchings(list(names))
            if not any(frozenset((names[one], names[other])) in met for one, other in pairs)
        )
        assert cost(found) == min(map(cost, legal))
        while tournament.rounds < round_ or (not tournament.all_decided() and tournament.end is None):
            run.step()


def test_the_lowest_team_has_the_bye_and_each_one_once() -> None:
    run = run_of(spec_of(Format.SWISS, rounds=3))
    tournament = run.play()
    assert [players[0] for _, players in sorted(tournament.byes.items())] == ["g", "d", "a"]
    assert violations(run.log) == []
    rows = {row.team: row for row in rows_of(tournament)}
    # A bye is a won match with half of the board points: a beats d and g by 2–0.
    assert (rows["a"].match_points, rows["a"].board_points) == (6, 10)
    assert (rows["g"].match_points, rows["g"].board_points) == (2, 2)


def test_a_swiss_of_teams_ends_when_all_have_met_and_rested() -> None:
    tournament = run_of(spec_of(Format.SWISS, rounds=9)).play()
    assert tournament.rounds == 3
    assert tournament.end is not None
    assert tournament.end.note == "no further pairing is allowed"


def test_forbidden_pairs_of_a_swiss_are_teams() -> None:
    spec = replace(spec_of(Format.SWISS, rounds=1), entry=EntryRules(forbidden=(("d", "a"),)))
    run = run_of(spec)
    assert not {"ad", "da"} & {pair for _, pair in pairs(run.play())}
    assert violations(run.log) == []
    assert {"ad", "da"} & {pair for _, pair in pairs(run_of(spec_of(Format.SWISS, rounds=1)).play())}


def test_a_team_that_is_gone_is_not_paired_any_more() -> None:
    run = run_of(spec_of(Format.SWISS, rounds=2))
    run.pair()
    for player in NAMES["a"]:
        run.withdraw(player)
    tournament = run.play()
    assert not {"a", "b", "c"} & {name for round_, pair in pairs(tournament) if round_ == 2 for name in pair}
    assert violations(run.log) == []


def test_the_check_of_a_swiss_finds_rematches_byes_and_who_is_not_paired() -> None:
    run = run_of(spec_of(Format.SWISS, rounds=3))
    run.play()
    first = next(event for event in run.log if isinstance(event, ev.Paired))
    same = [replace(each, byes=first.byes) if isinstance(each, ev.Paired) else each for each in run.log]
    assert "round 2: team g has a second bye" in violations(same)
    assert "round 1: team g was not paired" in faults_of(run, lambda paired: replace(paired, byes=()))
    even = run_of(spec_of(Format.SWISS, rounds=1), "ad")
    even.play()
    twice = [*even.log[:-1], replace(first, round=2, meetings=tuple(even.tournament.of_round(1)), byes=())]
    assert "round 2: teams a and d meet again" in violations(twice)


def test_players_enter_with_a_team_where_there_are_teams() -> None:
    run = run_of(spec_of(), "", start=False)
    without = enter(run, "a").refusal
    assert without is not None
    assert "it is for teams: say which team a plays in" in without.message
    alone = TournamentRun(replace(spec_of(), options=Options()), 2, random.Random(1))
    with_one = enter(alone, "x", "a").refusal
    assert with_one is not None


def test_teams_are_complete_at_the_start() -> None:
    run = run_of(spec_of(), "a", start=False)
    one = run.act(do.Start("organiser", "1")).refusal
    assert one is not None
    assert "2 teams are needed, and 1 there" in one.message
    enter(run, "d", "d")
    short = run.act(do.Start("organiser", "2")).refusal
    assert short is not None
    assert "each team needs 2 players, and d has 1" in short.message
    enter(run, "e", "d")
    assert run.act(do.Start("organiser", "3")).refusal is None
    late = enter(run, "f", "d").refusal
    assert late is not None


def test_a_reserve_who_enters_again_before_the_start_may_change_its_team() -> None:
    run = run_of(spec_of(), "ad", start=False)
    run.withdraw("c")
    assert enter(run, "c", "d").refusal is None
    assert run.tournament.entrants["c"].team == "d"


@pytest.mark.parametrize(
    ("changed", "allowed"),
    [
        ({"options": {"boards": 2, "match_draw": 3}}, "at most match_win, 2"),
        ({"options": {"boards": 2}, "tie_breaks": ["progressive"]}, "where teams are ranked, one of"),
        ({"tie_breaks": ["board_count"]}, "where players are ranked, one of"),
        ({"options": {"boards": 101}}, "a whole number from 0 to 100"),
    ],
)
def test_what_a_specification_can_not_say(changed: dict[str, object], allowed: str) -> None:
    plain = write_spec(replace(spec_of(), options=Options()))
    with pytest.raises(Refusal) as refused:
        read_spec(plain | changed, time_control.parse)
    assert allowed in refused.value.message


def faults_of(run: TournamentRun, change: Callable[[ev.Paired], ev.Paired]) -> list[str]:
    """Return what the check says about a tournament whose first round is another one."""
    log = list(run.log)
    first = next(number for number, event in enumerate(log) if isinstance(event, ev.Paired))
    paired = log[first]
    assert isinstance(paired, ev.Paired)
    log[first] = change(paired)
    return violations(log)


def test_the_check_finds_other_boards_and_other_seats() -> None:
    run = run_of(spec_of(), "ad")
    run.play()
    assert violations(run.log) == []

    def swapped(paired: ev.Paired) -> ev.Paired:
        meeting = paired.meetings[1]
        other = meeting._replace(first=meeting.second, second=meeting.first)
        return replace(paired, meetings=(paired.meetings[0], other))

    assert any("the match of a and d should be a – d, e – b" in fault for fault in faults_of(run, swapped))
    assert any("teams a and d met" in fault for fault in faults_of(run, lambda paired: replace(paired, meetings=())))
    without = [replace(event, team="") if isinstance(event, ev.Entered) else event for event in run.log]
    assert "a entered without a team" in violations(without)


@pytest.mark.parametrize("seed", range(12))
def test_random_tournaments_of_teams_are_legal_and_have_one_order(seed: int) -> None:
    lots = random.Random(seed)
    numbers = (each for each in range(1_000_000) if drawn(random.Random(each))[0].boards)
    number = next(each for at, each in enumerate(numbers) if at == seed)
    run = restless(random.Random(number))
    assert violations(run.log) == []
    table = standings(run.tournament).teams
    assert table is not None
    options = run.tournament.spec.options
    keys = [((row.board_points if options.by_board_points else row.match_points), *row.values) for row in table.rows]
    assert keys == sorted(keys, reverse=True)
    assert [row.place for row in table.rows] == [1 + sum(other > mine for other in keys) for mine in keys]
    again = replay([codec.read_event(codec.write_event(event)) for event in run.log])
    assert standings(again) == standings(run.tournament)
    ended = lots.randint(1, len(run.log))
    assert len(rows_of(replay(run.log[:ended]))) <= len(run.tournament.players) + len(run.tournament.entrants)


def test_the_formats_of_teams_have_no_late_entry_and_no_byes() -> None:
    for pairer in formats.OF_TEAMS.values():
        assert not any((pairer.late_entry, pairer.reentry, pairer.in_rounds, pairer.reported))


def test_bots_are_not_asked_to_enter_by_themselves() -> None:
    run = run_of(spec_of(), "ad", start=False)
    assert not engine.may_enter(run.tournament, "z", "", 0)
