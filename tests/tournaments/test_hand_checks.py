"""What the checker finds in pairings by hand: what was asked and not done, and changes of what has begun."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments.checker import violations
from arbiter.tournaments.corrections import Forbid, GiveBye, PairByHand, PairRound
from arbiter.tournaments.game_ends import NO_SHOW
from arbiter.tournaments.meetings import ScheduledGame
from arbiter.tournaments.spec import Format
from tests.tournaments.test_corrections import correct, until
from tests.tournaments.test_game_rulings import run_of
from tests.tournaments.test_hand_pairings import held, pairs, swiss

Change = Callable[[ev.Event], ev.Event]


def _paired(n: int, **changed: object) -> Change:
    def change(event: ev.Event) -> ev.Event:
        return replace(event, **changed) if isinstance(event, ev.Paired) and event.round == n else event  # type: ignore[arg-type]

    return change


def test_the_checker_finds_what_was_asked_and_not_done() -> None:
    run = held(swiss(7))
    correct(run, PairByHand(2, (("p001", "p000"),)))
    correct(run, GiveBye("p002", 2))
    correct(run, PairRound(2))
    run.pair()
    made = next(each for each in run.log if isinstance(each, ev.Paired) and each.round == 2)
    assert violations(run.log) == []
    swapped = made.meetings[0]
    games = tuple(_swapped(game) for game in swapped.games)
    turned = swapped._replace(first=swapped.second, second=swapped.first, games=games)
    wrong = [_paired(2, meetings=(turned, *made.meetings[1:]))(each) for each in run.log]
    assert any("were to meet by hand, and do not" in text for text in violations(wrong))
    wrong = [_paired(2, byes=())(each) for each in run.log]
    assert any("p002 was to have a bye by hand, and has none" in text for text in violations(wrong))


def _swapped(game: ScheduledGame) -> ScheduledGame:
    return game._replace(seat1=game.seat2, seat2=game.seat1)


def test_the_checker_finds_changes_of_rounds_that_have_begun() -> None:
    run = swiss()
    until(run, lambda: bool(run.tournament.results))
    decided = ev.Corrected(run.tournament.at, PairRound(1), "", "org", "x")
    assert any("was paired otherwise after it had begun" in text for text in violations([*run.log, decided]))
    run.play()
    decided = ev.Corrected(run.tournament.at, PairRound(2), "", "org", "x")
    assert "round 2 was changed by hand when a later one was paired" in violations([*run.log, decided])
    robin = run_of(Format.ROUND_ROBIN, 4)
    robin.pair()
    (a, b), (c, d) = pairs(robin, 1)
    for what in (PairByHand(1, ((a, c),)), PairByHand(1, ((a, "zoe"), (c, d)))):
        decided = ev.Corrected(0, what, "", "org", "x")
        assert any(
            "its pairs are not of players of as many meetings" in text for text in violations([*robin.log, decided])
        )
    robin.act(do.Begin(1, 1, "m"))
    robin.act(do.ReportResult(1, "m", 0, NO_SHOW, "absence"))
    decided = ev.Corrected(0, PairByHand(1, ((b, a),)), "", "org", "x")
    said = violations([*robin.log, decided])
    assert "game 1 was paired otherwise after it had a result" in said
    assert "game 1 was paired otherwise after it had begun" in said
    decided = ev.Corrected(0, Forbid("p000", "zoe"), "", "org", "x")
    assert "a player who never entered was kept apart from another" in violations([*robin.log, decided])
