"""Standings of every format: examples computed by hand, and properties of random tournaments with late players."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable

import pytest

from arbiter.testing.random_tournaments import TournamentRun, restless
from arbiter.tournaments import codec
from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments.evolution import apply, replay
from arbiter.tournaments.formats.arena import arena_scores
from arbiter.tournaments.game_ends import NO_SHOW, Winner
from arbiter.tournaments.meetings import ScheduledGame
from arbiter.tournaments.spec import Format, Options, Spec, TieBreak
from arbiter.tournaments.standings import (
    Faults,
    StandingsRow,
    Table,
    points_text,
    quarters_text,
    standings,
)
from arbiter.tournaments.tournament import Tournament


def spec_of(format_: Format, *, paired: bool = False, order: tuple[TieBreak, ...] = (), **options: object) -> Spec:
    spec_options = Options(**options)  # type: ignore[arg-type]
    return Spec("test", format_, ("hop-it",), "1s", paired=paired, options=spec_options, tie_breaks=order)


def better(game: ScheduledGame) -> Winner:
    """The name that sorts first wins."""
    return 1 if game.seat1 < game.seat2 else 2


class Even(random.Random):
    """Random numbers with which all players have the same rating."""

    def randint(self, a: int, b: int) -> int:
        return a


def run_of(spec: Spec, players: int, result: Callable[[ScheduledGame], Winner | None] | None = None) -> TournamentRun:
    """Return a tournament that has started, whose players p000, p001, … are seeded in this order."""
    return TournamentRun(spec, players, Even(1), result)


def end(
    tournament_run: TournamentRun, number: int, winner: Winner | None, *, reason: str = "by lot", cause: str = "rules"
) -> None:
    """Play one game to its end."""
    attempt = tournament_run.tournament.attempts.get(number, 0) + 1
    assert tournament_run.act(do.Begin(number, attempt, f"m{number}.{attempt}")).events
    assert tournament_run.act(do.ReportResult(number, f"m{number}.{attempt}", winner, reason, cause)).events


def row(tournament: Tournament, player: str) -> StandingsRow:
    return next(each for each in standings(tournament).rows if each.player == player)


def places(tournament: Tournament) -> list[tuple[int, str]]:
    return [(each.place, each.player) for each in standings(tournament).rows]


# Random tournaments


@pytest.fixture(scope="module")
def tournaments(seeds: int) -> list[TournamentRun]:
    return [restless(random.Random(seed)) for seed in range(seeds * 2)]


@pytest.mark.long
def test_standings_follow_from_the_log_at_every_moment(tournaments: list[TournamentRun]) -> None:
    for tournament_run in tournaments:
        again = replay(tournament_run.log[:1])
        assert standings(again).rows == ()
        for number, event in enumerate(tournament_run.log[1:], start=1):
            apply(again, event)
            if number % max(1, len(tournament_run.log) // 10) == 0:
                check(again, standings(again))
        table = standings(tournament_run.tournament)
        assert standings(again) == table == standings(replay(read_again(tournament_run.log)))
        check(again, table)


def read_again(log: list[ev.Event]) -> list[ev.Event]:
    return [codec.read_event(json.loads(json.dumps(codec.write_event(event)))) for event in log]


def check(tournament: Tournament, table: Table) -> None:
    """Check properties of any table: its sums, and that its places follow from its columns."""
    spec, rows = tournament.spec, table.rows
    assert [each.player for each in rows] == list(dict.fromkeys(each.player for each in rows))
    ended = [(tournament.games[n - 1], played) for n, played in tournament.results.items()]
    counted = [(game, played) for game, played in ended if game.seat1 != game.seat2]
    nobody = sum(not played.played and played.winner == 0 for _, played in counted)
    assert sum(each.games for each in rows) == 2 * len(counted)
    assert sum(each.game_points for each in rows) == 2 * (len(counted) - nobody)
    assert sum(each.losses for each in rows) == sum(each.wins for each in rows) + 2 * nobody
    for fault, without in (("walkovers", lambda p: not p.match), ("crashes", lambda p: p.reason == NO_SHOW)):
        lost = sum(1 if p.winner else 2 for _, p in counted if without(p))
        assert sum(getattr(each.faults, fault) for each in rows) == lost
    for each in rows:
        assert each.games == each.wins + each.draws + each.losses
        assert each.game_points == 2 * each.wins + each.draws
        lost = points_not_counted(tournament, each.player)
        by_meetings = spec.format is Format.SWISS and not spec.boards
        assert each.points == (each.meeting_points if by_meetings else each.game_points - lost)
        assert len(each.values) == len(table.tie_breaks)
        assert each.withdrawn == tournament.entrants[each.player].withdrawn
    decided = [m for m in tournament.meetings if m.first != m.second and tournament.decided(m)]
    absent = sum(
        all(not tournament.results[game.number].played for game in m.games)
        and tournament.score(m, m.first) == tournament.score(m, m.second)
        for m in decided
    )
    byes = sum(len(players) for players in tournament.byes.values())
    assert sum(each.meeting_points for each in rows) == 2 * (len(decided) - absent + byes)
    if spec.format is Format.ARENA:
        scores = arena_scores(tournament, (each.player for each in rows))
        assert [each.arena_points for each in rows] == [*scores.values()]
        keys = [(1, each.arena_points or 0, each.values) for each in rows]
    elif spec.format is Format.KNOCKOUT:
        return
    else:
        keys = [(int(not each.left_early), each.points, each.values) for each in rows]
    assert keys == sorted(keys, reverse=True)
    assert [each.place for each in rows] == [keys.index(key) + 1 for key in keys]


def points_not_counted(tournament: Tournament, player: str) -> int:
    """Return the points of a player's games in a round robin against those who left early, unless it is one of them.

    It is written from the rule: a player that has withdrawn, and has not completed half of the games of the tables.
    """
    if tournament.spec.format is not Format.ROUND_ROBIN or tournament.spec.options.keep_early_leavers:
        return 0
    total = (len(tournament.seeds) - 1) * tournament.spec.options.cycles * tournament.spec.games_a_meeting
    theirs: dict[str, list[tuple[str, int, bool]]] = {name: [] for name in tournament.seeds}
    for number, result in tournament.results.items():
        game = tournament.games[number - 1]
        for seat, name, other in ((1, game.seat1, game.seat2), (2, game.seat2, game.seat1)):
            completed = result.played or result.winner == seat
            theirs[name].append((other, result.half_points(seat), completed))
    early = {
        name
        for name, games in theirs.items()
        if tournament.entrants[name].withdrawn and sum(completed for *_, completed in games) < total / 2
    }
    return 0 if player in early else sum(points for other, points, _ in theirs.get(player, []) if other in early)


@pytest.mark.long
def test_the_order_of_results_does_not_matter(tournaments: list[TournamentRun]) -> None:
    for seed, tournament_run in enumerate(tournaments):
        again = replay(tournament_run.log)
        results = list(again.results.items())
        random.Random(seed).shuffle(results)
        again.results = dict(results)
        assert standings(again) == standings(tournament_run.tournament)


@pytest.mark.long
def test_places_do_not_depend_on_names(tournaments: list[TournamentRun]) -> None:
    for seed, tournament_run in enumerate(tournaments):
        names = sorted(tournament_run.tournament.entrants)
        new = dict(zip(names, random.Random(seed).sample(names, len(names)), strict=True))
        renamed = replay(renaming(tournament_run.log, new))
        table = standings(tournament_run.tournament)
        assert standings(renamed).rows == tuple(each._replace(player=new[each.player]) for each in table.rows)


def renaming(log: list[ev.Event], names: dict[str, str]) -> list[ev.Event]:
    text = json.dumps([codec.write_event(event) for event in log])
    return [codec.read_event(event) for event in json.loads(re.sub(r"p\d{3}", lambda name: names[name[0]], text))]


# Examples by hand


def test_before_the_start_all_entered_players_share_the_first_place() -> None:
    tournament = run_of(spec_of(Format.ROUND_ROBIN), 3).tournament
    entries = Tournament(tournament.created)
    for entrant in tournament.entrants.values():
        apply(entries, ev.Entered(0, entrant.player, "", 0, (), "organiser", entrant.player))
    assert places(entries) == [(1, "p000"), (1, "p001"), (1, "p002")]
    apply(entries, ev.Withdrawn(0, "p001", "organiser", "out"))
    assert places(entries) == [(1, "p000"), (1, "p002")]


def test_a_round_robin_counts_games_and_breaks_ties_in_the_order_of_the_specification() -> None:
    # a beats b, b beats c, c beats a; all beat d, but a only draws.
    wins = {("p000", "p001"), ("p001", "p002"), ("p002", "p000"), ("p001", "p003"), ("p002", "p003")}

    def result(game: ScheduledGame) -> Winner:
        return 1 if (game.seat1, game.seat2) in wins else 2 if (game.seat2, game.seat1) in wins else 0

    tournament_run = run_of(spec_of(Format.ROUND_ROBIN), 4, result)
    table = standings(tournament_run.play())
    assert table.tie_breaks == (TieBreak.DIRECT, TieBreak.SONNEBORN_BERGER, TieBreak.WINS)
    # b and c have two points; b beat c.
    assert [(each.place, each.player, points_text(each.points)) for each in table.rows] == [
        (1, "p001", "2"), (2, "p002", "2"), (3, "p000", "1½"), (4, "p003", "½"),
    ]  # fmt: skip
    # b: c's 2 and d's ½; c: a's 1½ and d's ½.
    assert [[quarters_text(value) for value in each.values] for each in table.rows[:2]] == [
        ["1", "2½", "2"],
        ["0", "2", "2"],
    ]
    other = spec_of(Format.ROUND_ROBIN, order=(TieBreak.WINS,))
    assert places(run_of(other, 4, result).play())[:2] == [(1, "p001"), (1, "p002")]


def test_a_swiss_counts_a_meeting_as_won_by_more_points_in_its_games() -> None:
    tournament_run = run_of(spec_of(Format.SWISS, paired=True, rounds=1), 5)
    tournament_run.pair()
    first, second = tournament_run.tournament.meetings
    assert tournament_run.tournament.byes == {1: ("p004",)}
    end(tournament_run, first.games[0].number, 1)
    before = row(tournament_run.tournament, first.first)
    assert (before.points, before.meeting_points, before.game_points, before.games) == (0, 0, 2, 1)
    end(tournament_run, first.games[1].number, 0)
    end(tournament_run, second.games[0].number, 1)
    end(tournament_run, second.games[1].number, 1)
    winner, loser = row(tournament_run.tournament, first.first), row(tournament_run.tournament, first.second)
    assert (winner.points, winner.game_points, winner.wins, winner.draws) == (2, 3, 1, 1)
    assert (loser.points, loser.game_points, loser.losses) == (0, 1, 1)
    level = row(tournament_run.tournament, second.first)
    assert (level.points, level.meeting_points, level.game_points, level.wins, level.losses) == (1, 1, 2, 1, 1)
    bye = row(tournament_run.tournament, "p004")
    assert (bye.points, bye.meeting_points, bye.game_points, bye.games) == (2, 2, 0, 0)
    # Buchholz cut 1 and Buchholz: of one round only the dummy is left, with half a point.
    assert dict(zip(standings(tournament_run.tournament).tie_breaks, bye.values, strict=True))[TieBreak.BUCHHOLZ] == 2


def test_requested_byes_give_half_a_point_until_a_withdrawal() -> None:
    tournament_run = run_of(spec_of(Format.SWISS, rounds=3), 6, better)
    for player in ("p006", "p007"):
        tournament_run.act(do.Enter(player, "organiser", player, byes=(1, 3)))
    while tournament_run.tournament.rounds < 2:
        tournament_run.step()
    assert [row(tournament_run.tournament, player).points for player in ("p006", "p007")] == [1, 1]
    tournament_run.withdraw("p006")
    tournament_run.play()
    assert tournament_run.tournament.rounds == 3
    gone, stayed = row(tournament_run.tournament, "p006"), row(tournament_run.tournament, "p007")
    assert (gone.points, gone.withdrawn) == (1 + 2 * gone.wins, True)
    assert (stayed.points, stayed.withdrawn) == (2 + 2 * stayed.wins, False)


def test_a_late_player_has_no_points_for_missed_rounds() -> None:
    tournament_run = run_of(spec_of(Format.SWISS, rounds=2), 4, better)
    tournament_run.pair()
    tournament_run.act(do.Enter("p009", "organiser", "late"))
    assert row(tournament_run.tournament, "p009").points == 0
    tournament_run.play()
    # Paired in round 2, the player loses, or has the bye.
    late = row(tournament_run.tournament, "p009")
    allotted = "p009" in tournament_run.tournament.byes[2]
    assert (late.points, late.games) == ((2, 0) if allotted else (0, 1))


def test_faults_have_columns_of_their_own() -> None:
    tournament_run = run_of(spec_of(Format.ROUND_ROBIN, cycles=2), 3)
    tournament_run.pair()
    of = [game.number for game in tournament_run.tournament.games if {game.seat1, game.seat2} == {"p000", "p001"}]
    loser = {number: tournament_run.tournament.games[number - 1].seat1 for number in of}
    end(tournament_run, of[0], 2, reason="time", cause="time")
    end(tournament_run, of[1], None, reason="arbiter_fault", cause="arbiter")
    assert row(tournament_run.tournament, loser[of[0]]).faults == Faults(timeouts=1)
    assert row(tournament_run.tournament, loser[of[0]]).games == 1
    end(tournament_run, of[1], 2, reason="abandonment", cause="absence")
    others = [game.number for game in tournament_run.tournament.games if game.number not in of]
    end(tournament_run, others[0], 2, reason="illegal_moves", cause="rule_violation")
    total = [
        sum(column) for column in zip(*(each.faults for each in standings(tournament_run.tournament).rows), strict=True)
    ]
    assert total == [1, 1, 1, 0]
    tournament_run.withdraw("p002")
    gone = row(tournament_run.tournament, "p002")
    assert gone.withdrawn
    assert gone.faults.walkovers == 3
    assert gone.games == gone.losses + gone.wins == 4


def test_an_arena_is_ordered_by_arena_points_and_a_returning_player_goes_on() -> None:
    tournament_run = run_of(spec_of(Format.ARENA, duration_ms=4_000), 0, better)
    for number in range(4):
        tournament_run.enter(f"p{number:03}")
    for _ in range(20):
        tournament_run.step()
    games = row(tournament_run.tournament, "p001").games
    assert games > 0
    tournament_run.withdraw("p001")
    assert row(tournament_run.tournament, "p001").withdrawn
    tournament_run.enter("p001")
    tournament_run.play()
    found = row(tournament_run.tournament, "p001")
    assert not found.withdrawn
    assert found.games > games
    best = row(tournament_run.tournament, "p000")
    # All won, so all games but the first two count double.
    assert (best.draws, best.losses) == (0, 0)
    assert best.arena_points == 4 * best.wins - 4
    assert best.points == 2 * best.wins


def test_a_returning_player_is_listed_once() -> None:
    tournament_run = run_of(spec_of(Format.ARENA, duration_ms=4_000), 3, better)
    tournament_run.withdraw("p001")
    tournament_run.enter("p001")
    assert tournament_run.tournament.players == ["p000", "p001", "p002"]
    assert len(standings(tournament_run.tournament).rows) == 3


def test_validation_games_are_not_counted() -> None:
    tournament_run = run_of(spec_of(Format.LADDER, duration_ms=60_000), 3, better)
    tournament_run.pair()
    for game in list(tournament_run.tournament.ready()):
        end(tournament_run, game.number, 2, reason="time", cause="time")
    assert len(tournament_run.tournament.results) == 3
    for each in standings(tournament_run.tournament).rows:
        assert (each.place, each.games, each.points, each.meeting_points, each.faults) == (1, 0, 0, 0, Faults())


@pytest.mark.parametrize(("half_points", "text"), [(0, "0"), (1, "½"), (2, "1"), (5, "2½"), (20, "10")])
def test_points_text(half_points: int, text: str) -> None:
    assert points_text(half_points) == text
