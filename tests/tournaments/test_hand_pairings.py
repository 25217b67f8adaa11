"""Pairings by hand: what is asked is done in a round that has not begun, and the checker says which rule it breaks."""

from __future__ import annotations

import pytest

from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments.by_hand import HandPairing
from arbiter.tournaments.checker import broken_by_hand, violations, would_break
from arbiter.tournaments.corrections import Correction, Forbid, GiveBye, Hold, PairByHand, PairRound
from arbiter.tournaments.later_pairings import next_pairs
from arbiter.tournaments.meetings import Pair
from arbiter.tournaments.spec import Format
from arbiter.tournaments.tournament import TournamentPhase
from tests.tournaments.test_corrections import correct, rows_of, until, why
from tests.tournaments.test_game_rulings import run_of


def swiss(players: int = 6, rounds: int = 4, result: int = 1) -> TournamentRun:
    run = run_of(Format.SWISS, players, rounds=rounds)
    run.result = lambda game: result  # type: ignore[assignment, return-value]
    return run


def held(run: TournamentRun, round_: int = 2) -> TournamentRun:
    """Let a tournament pause before a round."""
    until(run, lambda: run.tournament.rounds == round_ - 1)
    assert not correct(run, Hold()).refusal
    until(run, lambda: run.tournament.phase is TournamentPhase.PAUSED)
    return run


def pairs(run: TournamentRun, round_: int) -> list[tuple[str, str]]:
    return [(each.first, each.second) for each in run.tournament.of_round(round_)]


def goes_on(run: TournamentRun) -> None:
    run.act(do.Continue("org", f"go on {len(run.log)}"))
    run.play()
    assert violations(run.log) == []


# Asked in advance


def test_players_meet_again_with_the_seats_that_the_organiser_asks_for_and_the_checker_says_so() -> None:
    run = swiss()
    until(run, lambda: run.tournament.rounds == 1)
    first, second = pairs(run, 1)[0]
    assert not correct(run, PairByHand(2, ((second, first),))).refusal
    run.play()
    assert pairs(run, 2)[0] == (second, first)
    assert len(pairs(run, 2)) == 3
    assert run.tournament.rounds == 4
    assert violations(run.log) == []
    assert f"round 2: {second} and {first} meet again" in broken_by_hand(run.log)
    undone = [each for each in run.log if not isinstance(each, ev.Corrected)]
    assert f"round 2: {second} and {first} meet again" in violations(undone), "without the decision it is a fault"


def test_what_is_asked_later_counts_and_who_has_gone_is_not_paired() -> None:
    run = swiss(8)
    correct(run, PairByHand(2, (("p000", "p001"), ("p002", "p003"))))
    correct(run, GiveBye("p001", 2))
    correct(run, PairByHand(2, (("p003", "p004"),)))
    assert run.tournament.by_hand[2] == HandPairing((Pair("p003", "p004"),), ("p001",))
    until(run, lambda: run.tournament.rounds == 1)
    run.withdraw("p003")
    run.play()
    assert run.tournament.byes[2] == ("p001",)
    assert not any("p003" in pair for pair in pairs(run, 2))
    assert any("p004" in pair for pair in pairs(run, 2))
    assert violations(run.log) == []


@pytest.mark.parametrize(("points", "byes"), [(2, ("p002",)), (1, ())])
def test_a_bye_by_hand_counts_a_point_or_half_of_one(points: int, byes: tuple[str, ...]) -> None:
    run = held(swiss())
    before = rows_of(run)["p002"].points
    assert not correct(run, GiveBye("p002", 2, points)).refusal
    correct(run, PairRound(2))
    run.pair()
    assert run.tournament.byes.get(2, ())[: len(byes)] == byes
    assert not any("p002" in pair for pair in pairs(run, 2))
    assert rows_of(run)["p002"].points - before == points
    goes_on(run)


def test_players_are_kept_apart_from_the_next_pairing_on() -> None:
    free = swiss(4, 3)
    free.play()
    met = pairs(free, 2)[0]
    run = swiss(4, 3)
    until(run, lambda: run.tournament.rounds == 1)
    assert not correct(run, Forbid(*met)).refusal
    assert why(run, Forbid(met[1], met[0])) == f"{met[1]} and {met[0]} are kept apart already"
    run.play()
    assert all(set(pair) != set(met) for n in (2, 3) for pair in pairs(run, n))
    assert violations(run.log) == []
    again = swiss(4, 3)
    until(again, lambda: again.tournament.rounds == 1)
    correct(again, Forbid(*met))
    correct(again, Forbid(*met, lifted=True))
    assert why(again, Forbid(*met, lifted=True)) == f"{met[0]} and {met[1]} may meet already"
    again.play()
    assert pairs(again, 2)[0] == met
    assert violations(again.log) == []


def test_a_pair_that_is_forbidden_can_still_be_paired_by_hand() -> None:
    run = swiss()
    until(run, lambda: run.tournament.rounds == 1)
    correct(run, Forbid("p000", "p001"))
    correct(run, PairByHand(2, (("p001", "p000"),)))
    run.play()
    assert ("p001", "p000") in pairs(run, 2)
    assert "round 2: p001 and p000 must not meet" in broken_by_hand(run.log)


@pytest.mark.parametrize("format_", [Format.ARENA, Format.LADDER])
def test_players_are_kept_apart_in_formats_that_pair_whoever_is_free(format_: Format) -> None:
    run = run_of(format_, 4)
    correct(run, Forbid("p000", "p001"))
    run.play()
    assert all({each.first, each.second} != {"p000", "p001"} for each in run.tournament.meetings)
    assert violations(run.log) == []


def test_neighbours_meet_if_the_rules_allow_no_pairing_of_the_others() -> None:
    run = swiss(4, 3)
    until(run, lambda: run.tournament.rounds == 1)
    (a, b), (c, d) = pairs(run, 1)
    correct(run, PairByHand(2, ((a, b),)))
    run.play()
    assert {frozenset(pair) for pair in pairs(run, 2)} == {frozenset((a, b)), frozenset((c, d))}
    assert len([text for text in broken_by_hand(run.log) if text.endswith("meet again")]) == 2
    assert violations(run.log) == []


# While it waits


def test_a_tournament_waits_after_the_round_and_is_paired_before_it_goes_on() -> None:
    run = held(swiss())
    paused = run.log[-1]
    assert isinstance(paused, ev.Paused)
    assert (paused.caller, paused.request) == ("org", "")
    assert run.tournament.all_decided()
    run.pair()
    assert run.tournament.rounds == 1, "nothing is paired before it is asked for"
    assert not correct(run, PairRound(2)).refusal
    run.pair()
    assert (run.tournament.rounds, [*run.tournament.ready()]) == (2, [])
    assert run.tournament.phase is TournamentPhase.PAUSED
    run.pair()
    assert run.tournament.rounds == 2
    goes_on(run)
    assert run.tournament.rounds > 2
    assert broken_by_hand(run.log) == []


def test_the_pause_after_the_round_can_be_taken_back_and_comes_before_the_first_one_too() -> None:
    run = swiss()
    correct(run, Hold())
    correct(run, Hold(off=True))
    assert why(run, Hold(off=True)) == "nobody has asked for a pause after the round"
    run.play()
    assert not any(isinstance(each, ev.Paused) for each in run.log)
    last = swiss(rounds=1)
    until(last, lambda: last.tournament.rounds == 1)
    correct(last, Hold())
    last.play()
    assert last.tournament.end is not None
    assert last.tournament.end.end is ev.End.COMPLETE, "after the last round it ends"


def test_a_pause_asked_for_between_two_rounds_comes_after_the_next_one() -> None:
    run = held(swiss())
    correct(run, Hold())
    run.act(do.Continue("org", "go on"))
    until(run, lambda: run.tournament.phase is TournamentPhase.PAUSED)
    assert (run.tournament.rounds, run.tournament.all_decided()) == (2, True)
    goes_on(run)
    assert run.tournament.rounds > 2, "it pauses once"


def test_seats_are_swapped_and_opponents_changed_and_all_others_stay() -> None:
    run = held(swiss(8))
    correct(run, PairRound(2))
    run.pair()
    before = pairs(run, 2)
    (a, b), (c, d), *others = before
    assert not correct(run, PairByHand(2, ((b, a),))).refusal
    run.pair()
    assert set(pairs(run, 2)) == {(b, a), (c, d), *others}
    correct(run, PairByHand(2, ((a, c), (d, b))))
    run.pair()
    assert set(pairs(run, 2)) == {(a, c), (d, b), *others}
    games = [game.number for meeting in run.tournament.of_round(2) for game in meeting.games]
    assert games == list(range(games[0], games[0] + len(games))), "numbers have no gaps"
    correct(run, PairRound(2, afresh=True))
    run.pair()
    assert pairs(run, 2) == before
    assert why(run, PairByHand(1, ((a, b),))) == "round 1 is over"
    goes_on(run)


def test_a_round_is_paired_again_after_a_withdrawal_and_a_late_entry() -> None:
    run = held(swiss(6))
    correct(run, PairRound(2))
    run.pair()
    gone = pairs(run, 2)[0][0]
    run.withdraw(gone)
    run.enter("late")
    assert run.tournament.results.keys() & {game.number for m in run.tournament.of_round(2) for game in m.games}
    assert not correct(run, PairRound(2)).refusal, "a walkover is no game that has begun"
    run.pair()
    there = {player for pair in pairs(run, 2) for player in pair}
    assert gone not in there
    assert "late" in there
    assert run.tournament.entrants["late"].joined == 2
    goes_on(run)


def test_a_match_that_was_being_made_for_other_players_does_not_begin() -> None:
    run = swiss()
    run.pair()
    game = run.tournament.games[0]
    correct(run, PairByHand(1, ((game.seat2, game.seat1),)))
    run.pair()
    assert not run.act(do.Begin(1, 1, "late")).events
    assert run.act(do.Begin(1, 2, "new")).events
    assert why(run, PairRound(1)) == "round 1 has begun, with game 1"
    run.act(do.ReportResult(1, "new", None, "stopped", "arbiter"))
    assert 1 not in run.tournament.results, "it has all its attempts"
    assert violations(run.log) == []


def test_the_round_is_known_before_it_is_paired_with_what_it_breaks() -> None:
    run = swiss()
    until(run, lambda: run.tournament.rounds == 1)
    first = pairs(run, 1)[0]
    what = PairByHand(2, (first,))
    correct(run, what)
    assert next_pairs(run.tournament, what) is None, "the round before goes on"
    until(run, lambda: run.tournament.all_decided())
    found = next_pairs(run.tournament, what)
    assert found is not None
    assert found.pairs[0] == Pair(*first)
    said = would_break(run.log, 2, found.pairs, found.byes)
    assert f"{first[0]} and {first[1]} meet again" in said
    until(run, lambda: run.tournament.rounds == 2)
    assert next_pairs(run.tournament, what) == found
    assert [f"round 2: {each}" for each in said] == broken_by_hand(run.log)


# Round robin


def test_seats_and_opponents_of_a_round_robin_change_where_no_game_has_begun() -> None:
    run = run_of(Format.ROUND_ROBIN, 6, paired=True)
    run.pair()
    last = run.tournament.rounds
    (a, b), (c, d), other = pairs(run, last)
    before = [each.number for each in run.tournament.of_round(last)]
    assert not correct(run, PairByHand(last, ((b, a),))).refusal
    assert pairs(run, last) == [(b, a), (c, d), other]
    assert violations(run.log) == []
    assert broken_by_hand(run.log) == []
    assert not correct(run, PairByHand(last, ((a, c), (d, b)))).refusal
    assert pairs(run, last) == [(a, c), (d, b), other]
    assert [each.number for each in run.tournament.of_round(last)] == before
    assert run.tournament.meetings_of[c][-1].first == a
    run.play()
    assert violations(run.log) == []
    said = broken_by_hand(run.log)
    assert {text for text in said if text.endswith("met 2 times")} == {
        f"{x} and {y} met 2 times" for x, y in _sorted(run, (a, c), (b, d))
    }
    assert {text for text in said if text.endswith("met 0 times")} == {
        f"{x} and {y} met 0 times" for x, y in _sorted(run, (a, b), (c, d))
    }


def _sorted(run: TournamentRun, *some: tuple[str, str]) -> list[tuple[str, str]]:
    order = run.tournament.seeds.index
    return [(x, y) if order(x) < order(y) else (y, x) for x, y in some]


def test_a_round_robin_needs_whole_pairs_that_have_not_begun() -> None:
    run = run_of(Format.ROUND_ROBIN, 6)
    run.pair()
    (a, b), (c, d), *_ = pairs(run, 5)
    assert (
        why(run, PairByHand(5, ((a, c),)))
        == f"{b} would have no opponent in round 5: name pairs of all whose opponents change"
    )
    assert why(run, PairByHand(6, ((a, c),))) == "it has no round 6 that is paired"
    first = run.tournament.games[0]
    run.act(do.Begin(1, 1, "m"))
    assert why(run, PairByHand(1, ((first.seat2, first.seat1),))) == "game 1 of round 1 has begun, or has a result"
    run.withdraw(c)
    assert why(run, PairByHand(5, ((c, a), (b, d)))) == f"{c} does not play in it"


# What is refused


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (PairByHand(2, ()), "1 to 500 pairs of different players"),
        (PairByHand(2, (("p000", "p000"),)), "1 to 500 pairs of different players"),
        (PairByHand(0, (("p000", "p001"),)), "it has 4 rounds, and no round 0"),
        (PairByHand(5, (("p000", "p001"),)), "it has 4 rounds, and no round 5"),
        (PairByHand(1, (("p000", "p001"),)), "round 1 has begun, with game"),
        (PairByHand(2, (("zoe", "p001"),)), "zoe does not play in it"),
        (PairByHand(2, (("p000", "p005"),)), "p005 sits out round 2: change the byes of its entry first"),
        (GiveBye("p005", 2), "p005 sits out round 2"),
        (GiveBye("zoe", 2), "zoe does not play in it"),
        (GiveBye("p000", 2, 3), "1 or 2"),
        (PairRound(1), "round 1 has begun, with game"),
        (PairRound(2), "the round before round 2 goes on"),
        (PairRound(3), "the round before round 3 goes on"),
        (PairRound(2, afresh=True), "nothing is asked by hand for round 2"),
        (Forbid("p000", "p000"), "another player than the first"),
        (Forbid("p000", "zoe"), "zoe has not entered it"),
    ],
)
def test_what_can_not_be_asked_is_refused_with_the_reason(what: Correction, said: str) -> None:
    run = swiss()
    run.change("p005", (2,))
    until(run, lambda: bool(run.tournament.attempts))
    assert said in why(run, what)
    assert violations(run.log) == []


def test_a_round_that_begins_at_once_is_not_ordered_and_one_that_was_paired_since_is_another() -> None:
    run = swiss()
    until(run, lambda: bool(run.tournament.results))
    seen = run.tournament.revision
    until(run, lambda: run.tournament.rounds == 2)
    refused = correct(run, PairByHand(2, (("p000", "p001"),)), revision=seen).refusal
    assert refused is not None
    begun = "has begun" in str(refused.facts.get("why"))
    assert begun or refused.facts["why"] == "its round has been paired"
    run = swiss()
    until(run, lambda: run.tournament.all_decided() and run.tournament.rounds == 1)
    assert "is paired at once" in why(run, PairRound(2))
    seen = run.tournament.revision
    run.pair()
    refused = correct(run, PairByHand(2, (("p000", "p001"),)), revision=seen).refusal
    assert refused is not None
    assert refused.facts["why"] == "its round has been paired"
    assert not correct(run, PairByHand(2, (("p000", "p001"),)), revision=run.tournament.revision).refusal
