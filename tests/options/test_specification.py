"""What a tournament's organiser decides, and what it changes: one field at a time, in a tournament of the same lots."""

from __future__ import annotations

import random
from dataclasses import fields, replace
from typing import Any, Final

import pytest

from arbiter.matches.adjudication import AdjudicationRules
from arbiter.service.tournaments.game_matches import rules_of
from arbiter.service.tournaments.trial_decision import PairTest
from arbiter.testing.clock import virtually
from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments import engine
from arbiter.tournaments.openings import Turn, opening
from arbiter.tournaments.spec import Adjudication, EntryRules, Format, Openings, Options, Spec, TieBreak
from arbiter.tournaments.standings import standings
from tests.service.tournaments.contest import Contest
from tests.service.tournaments.contest import spec_of as spec_of_contest

USUAL: Final[dict[Format, dict[str, Any]]] = {
    Format.SWISS: {"rounds": 4},
    Format.ARENA: {"duration_ms": 5_000},
    Format.LADDER: {"duration_ms": 5_000, "validation": False},
    Format.TRIAL: {"most_meetings": 6},
}
OPTIONS: Final[list[tuple[Format, str, Any]]] = [
    (Format.ROUND_ROBIN, "cycles", 2),
    (Format.GAUNTLET, "cycles", 2),
    (Format.GAUNTLET, "heads", 2),
    (Format.SWISS, "rounds", 5),
    (Format.SWISS, "accelerated", True),
    (Format.KNOCKOUT, "best_of", 3),
    (Format.KNOCKOUT, "double", True),
    (Format.KNOCKOUT, "third_place", True),
    (Format.ARENA, "duration_ms", 9_000),
    (Format.LADDER, "duration_ms", 9_000),
    (Format.LADDER, "validation", True),
    (Format.TRIAL, "most_meetings", 9),
]
TRIAL_OPTIONS: Final = [
    ("elo0", -300),
    ("elo1", 300),
    ("alpha", 400),
    ("beta", 400),
    ("normalised", True),
    ("elo_parts", 2),
]


def spec_of(format_: Format, **options: Any) -> Spec:
    """Return a specification with the usual options of its format, and others."""
    given = USUAL.get(format_, {}) | options
    return Spec("test", format_, ("circle-of-life",), "1s", paired=False, options=Options(**given))


def played(spec: Spec) -> list[tuple[str, str, str]]:
    """Return who plays whom at what: seats and variants, in order."""
    players = 2 if spec.format is Format.TRIAL else 12
    run = TournamentRun(spec, players, random.Random(7), lambda game: 1 if game.seat1 < game.seat2 else 2)
    tournament = run.play(most_steps=1_000)  # none of these needs as many; it says so if one does not end
    return [(game.seat1, game.seat2, game.game) for game in tournament.games]


def test_the_format_decides_who_meets_whom() -> None:
    tables = [played(spec_of(format_)) for format_ in Format if format_ is not Format.TRIAL]
    for number, table in enumerate(tables):
        assert table
        assert table not in tables[:number]


@pytest.mark.parametrize(("format_", "option", "value"), OPTIONS)
def test_an_option_of_a_format_changes_who_meets_whom(format_: Format, option: str, value: Any) -> None:
    assert played(spec_of(format_)) != played(spec_of(format_, **{option: value}))


@pytest.mark.parametrize(("option", "value"), TRIAL_OPTIONS)
def test_an_option_of_a_trial_changes_its_test(option: str, value: int) -> None:
    def tested(**options: int) -> str:
        spec = spec_of(Format.TRIAL, most_meetings=40, **options)
        tournament = TournamentRun(spec, 2, random.Random(7), lambda game: game.number % 3 and 1).play()
        return repr(PairTest(tournament)._standing)

    assert tested() != tested(**{option: value})


def test_the_games_of_a_meeting_are_those_of_the_specification() -> None:
    plain = spec_of(Format.ROUND_ROBIN)
    both = replace(plain, games=("circle-of-life", "pods(size=3)"))
    paired = replace(plain, paired=True)
    assert len(played(both)) == len(played(paired)) == 2 * len(played(plain))
    assert {game for _, _, game in played(both)} == set(both.games)
    pairs = {(one, two) for one, two, _ in played(paired)}
    assert pairs == {(two, one) for one, two in pairs}


def test_a_player_has_as_many_games_at_once_as_the_specification_says() -> None:
    def most_at_once(at_once: int) -> int:
        run = TournamentRun(replace(spec_of(Format.ROUND_ROBIN), at_once=at_once), 5, random.Random(7))
        most = 0
        while not run.tournament.end:
            run.step()
            under_way = [run.tournament.games[number - 1] for number in run.tournament.running]
            busy = [player for game in under_way for player in (game.seat1, game.seat2)]
            most = max([most, *(busy.count(player) for player in busy)])
        return most

    assert most_at_once(1) == 1
    assert most_at_once(3) == 3


@pytest.mark.parametrize("format_", [Format.SWISS])
def test_forbidden_pairs_do_not_meet(format_: Format) -> None:
    plain = spec_of(format_)
    pair = next((one, two) for one, two, _ in played(plain))
    without = replace(plain, entry=EntryRules(forbidden=(pair,)))
    assert not any({one, two} == {*pair} for one, two, _ in played(without))


def test_openings_are_those_of_the_specification() -> None:
    def opened(openings: Openings, variant: str = "pods(size=3)") -> list[tuple[str, ...]]:
        return [opening(openings, variant, Turn(number, number)) for number in range(5)]

    assert opened(Openings()) == [()] * 5
    drawn = opened(Openings(plies=2, seed="a"))
    assert {len(each) for each in drawn} == {2}
    assert drawn != opened(Openings(plies=2, seed="b"))
    assert {len(each) for each in opened(Openings(plies=3, seed="a"))} == {3}
    lines = Openings(lines={"pods(size=3)": (("a1",), ("b1",))})
    assert set(opened(lines)) == {("a1",), ("b1",)}
    assert opened(lines, "hop-it") == [()] * 5


def test_tie_breaks_are_those_of_the_specification() -> None:
    spec = replace(spec_of(Format.ROUND_ROBIN), tie_breaks=(TieBreak.WINS_SEAT_2, TieBreak.DIRECT))
    assert standings(TournamentRun(spec, 4, random.Random(7)).play()).tie_breaks == spec.tie_breaks


def test_a_tournament_has_the_name_of_its_specification() -> None:
    tournament, _ = engine.create("t1", replace(spec_of(Format.SWISS), name="the cup"), "org", "make", 0)
    assert tournament.spec.name == "the cup"


@pytest.mark.parametrize("rated", [True, False])
@virtually
async def test_matches_are_rated_and_timed_and_judged_as_the_specification_says(rated: bool) -> None:
    contest = Contest(2)
    spec = spec_of_contest(Format.ROUND_ROBIN, rated=rated, time="7s", policy={"illegal_moves": 7})
    ended = await contest.ended(await contest.start(spec))
    (result,) = ended.tournament.results.values()
    match = await contest.server.arbiter.matches.match(result.match)
    assert match.created.rated is rated
    assert match.created.policy.illegal_moves == 7
    assert match.created.time == "7s"


@pytest.mark.parametrize("name", [each.name for each in fields(AdjudicationRules)])
def test_matches_end_by_the_rules_of_the_specification(name: str) -> None:
    spec = spec_of(Format.ROUND_ROBIN)
    changed = rules_of(replace(spec, adjudication=Adjudication(**{name: 7})))  # type: ignore[arg-type]
    assert (getattr(rules_of(spec), name), getattr(changed, name)) == (0, 7)
