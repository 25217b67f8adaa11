"""Ties of a knockout: seats that favour nobody, players who do not come, and tournaments without a winner."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest

from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments.checker import violations
from arbiter.tournaments.formats.knockout import Bracket
from arbiter.tournaments.game_ends import NO_SHOW, Winner
from arbiter.tournaments.meetings import ScheduledGame
from arbiter.tournaments.spec import Format, Options, Spec
from arbiter.tournaments.standings import standings

ELO_100 = 0.64  #: the chance to win of a player who is 100 Elo better


class Even(random.Random):
    """Random numbers with which all players have the same rating: they are seeded p000, p001, …."""

    def randint(self, a: int, b: int) -> int:
        return a


def spec_of(best_of: int = 1, *, paired: bool = False, double: bool = False, third_place: bool = False) -> Spec:
    options = Options(best_of=best_of, double=double, third_place=third_place)
    return Spec("test", Format.KNOCKOUT, ("hop-it",), "1s", paired=paired, options=options)


def winner_of(number: int, best_of: int, *, earlier: bool) -> str:
    """Return who wins a knockout of two equal players if seat 1 is worth 100 Elo; by the rules of today or earlier."""
    lots = Even(number)

    def drawn(game: ScheduledGame) -> Winner:
        return 1 if lots.random() < ELO_100 else 2

    run = TournamentRun(spec_of(best_of), 2, lots, drawn, tournament=f"t{number}")
    if earlier:
        run.tournament.rules = ""
    run.play()
    assert earlier or violations(run.log) == []
    winner = Bracket(run.tournament).winner
    assert winner is not None
    return winner


@pytest.mark.long
@pytest.mark.parametrize(("best_of", "earlier_share"), [(1, 0.64), (3, 0.55), (4, 0.60)])
def test_seats_do_not_favour_the_better_seed(best_of: int, earlier_share: float) -> None:
    """Between equal players the better seed wins half of the ties, ± 4.5 % (three standard deviations)."""
    ties = 1_000
    share = Counter(winner_of(number, best_of, earlier=False) for number in range(ties))["p000"] / ties
    assert abs(share - 0.5) < 0.047
    earlier = Counter(winner_of(number, best_of, earlier=True) for number in range(300))["p000"] / 300
    assert abs(earlier - earlier_share) < 0.09, "the test sees the favour that there was"


def test_extra_games_come_in_pairs() -> None:
    for first_extra in (1, 2):
        winners = iter((0, first_extra, first_extra, *[0] * 9))
        run = TournamentRun(spec_of(), 2, Even(1), lambda _, winners=winners: next(winners))  # type: ignore[misc]
        run.play()
        meetings = run.tournament.meetings
        assert len(meetings) == 5, "the first pair of extra games was level, since seats are swapped"
        assert all(one.first == other.second for one, other in pairwise(meetings))
        assert violations(run.log) == []


class Absent(TournamentRun):
    """A tournament to whose games some players do not come."""

    def __init__(self, spec: Spec, players: int, *absent: str) -> None:
        self.absent = absent
        super().__init__(spec, players, Even(1), lambda game: 1 if game.seat1 < game.seat2 else 2)

    def act(self, command: do.Command) -> object:  # type: ignore[override]
        if isinstance(command, do.ReportResult):
            game = self.tournament.games[command.game - 1]
            gone = tuple(seat for seat, player in ((1, game.seat1), (2, game.seat2)) if player in self.absent)
            if gone:
                winner: Winner | None = None if len(gone) == 2 else 2 if gone == (1,) else 1
                command = replace(command, winner=winner, reason=NO_SHOW, cause="absence", absent=gone)
        return super().act(command)


def waits(run: TournamentRun) -> Counter[str]:
    """Return how many matches each tie waited for players who did not come."""
    games, tournament = Counter[str](), run.tournament
    for event in run.log:
        if isinstance(event, ev.EndedGame) and event.match and event.reason == NO_SHOW:
            games[tournament.meetings[tournament.games[event.game - 1].meeting - 1].place] += 1
    return games


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("best_of", [1, 3, 4])
def test_a_tie_to_which_nobody_comes_is_lost_by_both_after_one_wait(best_of: int, paired: bool) -> None:
    run = Absent(spec_of(best_of, paired=paired), 4, "p000", "p003")  # they meet in the first round
    tournament = run.play()
    assert waits(run) == {"W1.1": 1}
    assert Bracket(tournament).winner == "p001", "who wins the other semi-final meets nobody"
    rows = {row.player: row.reached for row in standings(tournament).rows}
    assert rows == {
        "p001": "winner",
        "p002": "round 1",
        "p000": "round 1, lost by both",
        "p003": "round 1, lost by both",
    }
    assert violations(run.log) == []
    assert tournament.end is not None
    assert tournament.end.note == ""


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("paired", [False, True])
def test_an_absent_player_is_waited_for_once_in_a_tie(paired: bool, double: bool) -> None:
    run = Absent(spec_of(3, paired=paired, double=double), 4, "p000")
    tournament = run.play()
    assert set(waits(run).values()) == {1}
    winner = Bracket(tournament).winner
    assert winner == "p001"
    assert violations(run.log) == []


@pytest.mark.parametrize("options", [{}, {"double": True}, {"third_place": True}])
def test_a_tournament_to_which_nobody_comes_has_no_winner_and_says_so(options: dict[str, bool]) -> None:
    run = Absent(spec_of(2, **options), 4, *(f"p{number:03}" for number in range(4)))
    tournament = run.play()
    assert Bracket(tournament).winner is None
    assert all(row.reached.endswith("lost by both") for row in standings(tournament).rows)
    assert tournament.end is not None
    assert tournament.end.note == "it has no winner: nobody went on from the final"
    assert violations(run.log) == []


@pytest.mark.parametrize("played", [0, 2, 4])
@pytest.mark.parametrize("double", [False, True])
def test_nobody_wins_a_tournament_from_which_all_have_withdrawn(played: int, double: bool) -> None:
    run = TournamentRun(spec_of(3, double=double), 6, Even(2), lambda _: 1)
    for _ in range(played):
        run.step()
    for player in list(run.tournament.players):
        run.withdraw(player)
    tournament = run.play()
    assert Bracket(tournament).winner is None
    assert "winner" not in {row.reached for row in standings(tournament).rows}
    assert tournament.end is not None
    assert tournament.end.note.startswith("it has no winner")


def test_a_tie_in_which_both_stay_away_later_is_won_by_its_leader() -> None:
    run = Absent(spec_of(3), 2)
    while not run.tournament.results:
        run.step()
    run.absent = ("p000", "p001")
    assert Bracket(run.play()).winner == "p000"
    assert waits(run) == {"W1.1": 1}


def test_the_checker_finds_a_tie_that_waits_again_and_one_without_swapped_seats() -> None:
    run = Absent(spec_of(3), 2, "p000")
    run.play()
    paired = next(event for event in run.log if isinstance(event, ev.Paired))
    [meeting] = paired.meetings
    number = len(run.tournament.games) + 1
    again = meeting._replace(
        number=len(run.tournament.meetings) + 1,
        games=tuple(g._replace(number=number, meeting=2) for g in meeting.games),
    )
    found = violations([*run.log, replace(paired, round=2, meetings=(again,))])
    assert [text for text in found if "waits again for p000" in text]
    assert [text for text in found if f"with {meeting.first} in seat 1 again" in text]
