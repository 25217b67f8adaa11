"""Openings: each pair goes through the book on its own, and the organiser knows where games may come again."""

from __future__ import annotations

import dataclasses
import random
import tomllib
from collections import Counter, defaultdict
from typing import Any

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments import codec, formats
from arbiter.tournaments import events as ev
from arbiter.tournaments.checker import violations
from arbiter.tournaments.openings import MOST_LISTED, Turn, different, opening, start
from arbiter.tournaments.spec import Format, OpeningOrder, Openings, Options, Spec
from arbiter.tournaments.spec_text import read_spec, write_spec
from tests.refusals import refusing

Line = tuple[str, ...]
Seating = tuple[str, str, Line]

#: the round robin of an organiser: four players, four cycles, two lines
TWO_LINES = """
name = "x"
format = "round_robin"
games = ["pods"]
time = "none"
[options]
cycles = 4
[openings.lines]
pods = ["a1 c3", "a1 c4"]
"""


def lines(number: int) -> dict[str, tuple[Line, ...]]:
    return {"circle-of-life": tuple((f"{column}{row}",) for column in "abcde" for row in range(1, 6))[:number]}


def spec_of(format_: Format, openings: Openings, *, paired: bool = False, **options: object) -> Spec:
    chosen = Options(**options)  # type: ignore[arg-type]
    return Spec("x", format_, ("circle-of-life",), "1s", paired=paired, options=chosen, openings=openings)


def played(spec: Spec, players: int) -> TournamentRun:
    tournament_run = TournamentRun(spec, players, random.Random(1), lambda game: 1)
    tournament_run.play()
    assert violations(tournament_run.log) == []
    return tournament_run


def lines_of_pairs(tournament_run: TournamentRun) -> dict[frozenset[str], list[Line]]:
    """Return the openings of each pair's meetings, in order; all games of a meeting have the same one."""
    games = tournament_run.tournament.games
    begun = {event.game: event.opening for event in tournament_run.log if isinstance(event, ev.Begun)}
    found: dict[frozenset[str], dict[int, Line]] = defaultdict(dict)
    for number, line in sorted(begun.items()):
        game = games[number - 1]
        assert found[frozenset((game.seat1, game.seat2))].setdefault(game.meeting, line) == line
    return {pair: list(by_meeting.values()) for pair, by_meeting in found.items()}


def seatings(tournament_run: TournamentRun) -> Counter[Seating]:
    """Return how often two players had an opening in the same seats."""
    games = tournament_run.tournament.games
    begun = (event for event in tournament_run.log if isinstance(event, ev.Begun))
    return Counter((games[each.game - 1].seat1, games[each.game - 1].seat2, each.opening) for each in begun)


def test_each_pair_of_a_round_robin_plays_both_lines() -> None:
    spec = read_spec(tomllib.loads(TWO_LINES), lambda text: text)
    found = lines_of_pairs(played(spec, 4))
    assert len(found) == 6
    for pair, had in found.items():
        assert Counter(had) == {("a1", "c3"): 2, ("a1", "c4"): 2}, pair
        assert had[0] != had[1]


@pytest.mark.parametrize("openings", [Openings(lines=lines(10)), Openings(3, "a seed"), Openings(1, "a seed")])
def test_every_opponent_in_a_gauntlet_gets_all_lines_in_the_same_order(openings: Openings) -> None:
    found = list(lines_of_pairs(played(spec_of(Format.GAUNTLET, openings, paired=True, cycles=10), 5)).values())
    assert len(found) == 4
    assert all(had == found[0] for had in found)
    assert len(set(found[0])) == 10


def test_opponents_in_a_gauntlet_may_get_other_lines() -> None:
    spec = spec_of(Format.GAUNTLET, Openings(lines=lines(10)), cycles=2, same_openings=False)
    found = list(lines_of_pairs(played(spec, 6)).values())
    assert len({line for had in found for line in had}) == 10


def test_pairs_begin_at_different_lines_so_that_all_are_played() -> None:
    cases: dict[Format, dict[str, Any]] = {Format.ROUND_ROBIN: {}, Format.SWISS: {"rounds": 4}, Format.KNOCKOUT: {}}
    for format_, options in cases.items():
        found = lines_of_pairs(played(spec_of(format_, Openings(lines=lines(5)), **options), 8))
        assert len({had[0] for had in found.values()}) == 5, format_


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("number", [4, 5])
@pytest.mark.parametrize("order", [OpeningOrder.SEQUENTIAL, OpeningOrder.RANDOM])
def test_no_seating_comes_again_before_the_pair_has_had_all(order: OpeningOrder, number: int, paired: bool) -> None:
    openings = Openings(0, "a seed", lines(number), order)
    cycles = number * (1 if paired else 2)
    tournament_run = played(spec_of(Format.ROUND_ROBIN, openings, paired=paired, cycles=cycles), 4)
    assert set(seatings(tournament_run).values()) == {1}
    for had in lines_of_pairs(tournament_run).values():
        assert len(set(had[:number])) == number
    assert not formats.of(tournament_run.tournament.spec).caution(tournament_run.tournament.spec)


def test_a_random_order_is_shuffled_by_the_seed_and_for_each_pair() -> None:
    def orders(seed: str) -> list[list[Line]]:
        openings = Openings(0, seed, lines(10), OpeningOrder.RANDOM)
        return list(lines_of_pairs(played(spec_of(Format.ROUND_ROBIN, openings, cycles=10), 3)).values())

    first = orders("one")
    assert all(sorted(had) == sorted(lines(10)["circle-of-life"]) for had in first)
    assert first == orders("one") != orders("another")
    assert first[0] != first[1] != first[2]


@pytest.mark.parametrize("plies", [1, 3])
def test_random_plies_do_not_repeat_before_all_have_come(plies: int) -> None:
    openings = Openings(plies, "a seed")
    found = [opening(openings, "circle-of-life", Turn(0, times)) for times in range(61)]
    assert len(set(found)) == 61  # of one ply there are 61
    again = opening(openings, "circle-of-life", Turn(0, 61))
    assert (again == found[0]) is (plies == 1)


def test_openings_beyond_those_that_are_compared_are_drawn_alone() -> None:
    found = [opening(Openings(2, "a seed"), "hop-it", Turn(0, times)) for times in range(900)]
    assert len(set(found)) == 900  # all that there are, each once
    assert len(opening(Openings(3, "a seed"), "circle-of-life", Turn(0, MOST_LISTED + 5))) == 3


# Start positions by lot


CHESS960 = """
name = "x"
format = "round_robin"
games = ["chess960"]
time = "none"
paired = true
[options]
cycles = 3
"""


def of_chess960(more: str = "") -> Spec:
    return read_spec(tomllib.loads(CHESS960 + more), lambda text: text)


def test_each_pair_of_games_has_a_start_position_of_its_own_by_lot() -> None:
    spec = of_chess960('[openings]\nseed = "s"\nplies = 2\n')
    tournament_run = played(spec, 3)
    games = tournament_run.tournament.games
    found: dict[int, set[tuple[str, Line]]] = defaultdict(set)
    for event in tournament_run.log:
        if isinstance(event, ev.Begun):
            found[games[event.game - 1].meeting].add((event.position, event.opening))
    assert len(found) == 9
    assert {len(openings) for openings in found.values()} == {1}, "both games of a pair begin alike"
    assert all(len(line) == 2 for openings in found.values() for _, line in openings)
    rules = registry.game("chess960")
    initial = rules.text(rules.initial())
    assert {position or initial for openings in found.values() for position, _ in openings} <= set(rules.starts())
    assert len({position for openings in found.values() for position, _ in openings}) > 1


def test_a_pair_plays_all_start_positions_before_one_comes_again() -> None:
    openings = Openings(seed="s")
    found = [start(openings, "chess960", Turn(0, times)) for times in range(960)]
    assert len(set(found)) == 960
    assert start(openings, "chess960", Turn(0, 960)) == found[0]
    assert [start(openings, "chess960", Turn(0, times, pair=1)) for times in range(9)] != found[:9]
    assert [start(Openings(seed="t"), "chess960", Turn(0, times)) for times in range(9)] != found[:9]
    assert different(openings, "chess960", 5_000) == 960


@pytest.mark.parametrize("game", ["chess", "chess960(start=17)"])
def test_a_game_with_one_start_position_begins_there(game: str) -> None:
    assert start(Openings(seed="s"), game, Turn(0, 3)) == ""


def test_lines_stand_in_place_of_the_lot() -> None:
    lines = '[openings.lines]\nchess960 = ["e2e4 e7e5"]\n'
    tournament_run = played(of_chess960(lines), 2)
    begun = [event for event in tournament_run.log if isinstance(event, ev.Begun)]
    assert {(event.position, event.opening) for event in begun} == {("", ("e2e4", "e7e5"))}


def test_a_lot_needs_a_seed() -> None:
    with pytest.raises(Refusal, match="a text that the start positions of chess960 are drawn from"):
        of_chess960()


def test_the_checker_knows_the_start_positions() -> None:
    spec = of_chess960('[openings]\nseed = "s"\n')
    log = played(spec, 2).log
    strange = [
        dataclasses.replace(each, position="8/8/8/8/8/8/k1K5/8 w - - 0 1") if isinstance(each, ev.Begun) else each
        for each in log
    ]
    assert any("an opening that the specification does not give" in wrong for wrong in violations(strange))
    same = [dataclasses.replace(each, position="") if isinstance(each, ev.Begun) else each for each in log]
    assert any("before the pair has had all 960" in wrong for wrong in violations(same))


# Tournaments of older servers


def test_a_stored_tournament_without_an_order_keeps_its_openings_by_the_number_of_the_meeting() -> None:
    spec = spec_of(Format.GAUNTLET, Openings(lines=lines(5)), cycles=5)
    created = codec.write_event(ev.Created(7, "t1", spec, "org", "r"))
    del created["spec"]["openings"]["order"]
    del created["spec"]["options"]["same_openings"]
    read = codec.read_event(created)
    assert isinstance(read, ev.Created)
    assert read.spec.openings.order is OpeningOrder.MEETING
    found = lines_of_pairs(played(read.spec, 6))
    assert all(len(set(had)) == 1 for had in found.values())  # five opponents, five lines: each has one of its own
    assert codec.read_event(codec.write_event(read)) == read


def test_random_plies_of_older_servers_are_drawn_as_before() -> None:
    openings = Openings(4, "a seed", order=OpeningOrder.MEETING)
    assert opening(openings, "hop-it", Turn(3, 0)) == ("a3xc4", "g4xg6xe5", "c4xa3xc2xa1xa3", "g3-g4")


# What an organiser writes, and is told


@pytest.mark.parametrize(
    ("openings", "where", "allowed"),
    [
        ({"order": "meeting"}, "openings.order", "sequential or random"),
        ({"order": 3}, "openings.order", "sequential or random"),
        ({"order": "random"}, "openings.order", "sequential where no lines are given; plies are random anyway"),
        ({"order": "random", "plies": 2, "seed": "s"}, "openings.order", "sequential where no lines are given"),
        ({"order": "random", "lines": {"hop-it": ["b5-c5"]}}, "openings.seed", "a text by which the lines are"),
        ({"seed": "s"}, "openings.seed", "left out: only random plies (openings.plies) and a random order"),
        ({"seed": "s", "lines": {"hop-it": ["b5-c5"]}}, "openings.seed", "left out: only random plies"),
    ],
)
def test_an_order_that_cannot_be_is_refused(openings: dict[str, object], where: str, allowed: str) -> None:
    values = {"name": "x", "format": "round_robin", "games": ["hop-it"], "time": "1m", "openings": openings}
    with refusing(Reason.PARAMETER_INVALID) as caught:
        read_spec(values, lambda text: text)
    assert caught.value.facts["where"] == where
    assert allowed in caught.value.facts["allowed"]


def test_an_order_is_read_back() -> None:
    spec = spec_of(Format.GAUNTLET, Openings(0, "s", lines(2), OpeningOrder.RANDOM), same_openings=False)
    assert read_spec(write_spec(spec), lambda text: text) == spec


@pytest.mark.parametrize(
    ("format_", "options", "number", "paired", "told"),
    [
        (Format.ROUND_ROBIN, {}, 0, True, False),
        (Format.ROUND_ROBIN, {"cycles": 2}, 0, True, True),
        (Format.ROUND_ROBIN, {"cycles": 2}, 0, False, False),
        (Format.ROUND_ROBIN, {"cycles": 3}, 0, False, True),
        (Format.GAUNTLET, {"cycles": 10}, 10, True, False),
        (Format.GAUNTLET, {"cycles": 11}, 10, True, True),
        (Format.GAUNTLET, {"cycles": 20}, 10, False, False),
        (Format.GAUNTLET, {"cycles": 21}, 10, False, True),
        (Format.SWISS, {"rounds": 9}, 0, True, False),
        (Format.KNOCKOUT, {}, 2, True, True),
        (Format.KNOCKOUT, {}, 20, True, False),
        (Format.ARENA, {"duration_ms": 1000}, 20, True, True),
        (Format.LADDER, {}, 20, True, True),
        (Format.TRIAL, {"most_meetings": 20}, 20, True, False),
        (Format.TRIAL, {"most_meetings": 21}, 20, True, True),
    ],
)
def test_the_organiser_is_told_where_an_opening_comes_again_in_the_same_seats(
    format_: Format, options: dict[str, int], number: int, paired: bool, told: bool
) -> None:
    spec = spec_of(format_, Openings(lines=lines(number)) if number else Openings(), paired=paired, **options)
    caution = formats.of(spec).caution(spec)
    assert bool(caution) is told
    assert f"({max(1, number)} in circle-of-life)" in caution or not told


def test_enough_random_plies_need_no_warning_in_any_format() -> None:
    for format_ in Format:
        spec = spec_of(format_, Openings(4, "s"), paired=True, cycles=50)
        assert not formats.of(spec).caution(spec), format_


# The checker


def spoiled(tournament_run: TournamentRun, number: int, line: Line) -> list[str]:
    """Return the faults of a log in which the game with this number begins with another line."""
    return violations(
        dataclasses.replace(event, opening=line) if isinstance(event, ev.Begun) and event.game == number else event
        for event in tournament_run.log
    )


def test_the_checker_finds_every_fault_of_openings() -> None:
    all_lines = lines(4)["circle-of-life"]
    paired = played(spec_of(Format.ROUND_ROBIN, Openings(lines=lines(4)), paired=True, cycles=4), 2)
    assert "that the specification does not give: c1" in spoiled(paired, 1, ("c1",))[0]
    assert "that the specification does not give: none" in spoiled(paired, 1, ())[0]
    assert "another opening than the other games of meeting 1" in spoiled(paired, 2, all_lines[3])[0]
    single = played(spec_of(Format.ROUND_ROBIN, Openings(lines=lines(4)), cycles=4), 2)
    assert "before the pair has had all 4" in spoiled(single, 4, all_lines[0])[0]
    assert (
        "out of order"
        in spoiled(played(spec_of(Format.ROUND_ROBIN, Openings(lines=lines(4)), cycles=2), 2), 2, all_lines[3])[0]
    )
    gauntlet = played(spec_of(Format.GAUNTLET, Openings(lines=lines(4))), 3)
    assert "than other pairs that have met 0 times before" in spoiled(gauntlet, 2, all_lines[1])[0]
    plies = played(spec_of(Format.ROUND_ROBIN, Openings(1, "s"), cycles=4), 2)
    first = next(event.opening for event in plies.log if isinstance(event, ev.Begun))
    assert "before the pair has had all 61" in spoiled(plies, 3, first)[0]


@pytest.mark.parametrize(
    ("size", "entries", "fault"),
    [
        (4, (1, 2, 3, 4), ""),
        (4, (1, 2, 3, 5), "that the specification does not give: 5"),
        (4, (1, 2, 3, 0), "that the specification does not give: 0"),
        (4, (1, 2, 3, 1), "before the pair has had all 4"),
        (5_000, (1, 2, 3, 3), ""),  # an entry that the rules do not allow may have been left out
    ],
)
def test_the_checker_finds_faults_of_books(size: int, entries: tuple[int, ...], fault: str) -> None:
    spec = spec_of(Format.ROUND_ROBIN, Openings(), cycles=4)
    of_book = dataclasses.replace(spec, openings=Openings(book="a.txt", book_hash="0" * 64, book_size=size))
    log: list[ev.Event] = []
    for event in played(spec, 2).log:
        if isinstance(event, ev.Created):
            event = dataclasses.replace(event, spec=of_book)
        if isinstance(event, ev.Begun):
            event = dataclasses.replace(event, opening=("a1",), entry=entries[event.game - 1])
        log.append(event)
    found = violations(log)
    assert len(found) == bool(fault)
    assert fault in "".join(found)


@pytest.mark.parametrize(
    ("openings", "where", "allowed"),
    [
        ({"book": "../a.txt"}, "openings.book", "the name of a file"),
        ({"book": "a.txt", "plies": 2, "seed": "x"}, "openings.book", "left out where plies or lines are given"),
        ({"book_plies": 2}, "openings.book_plies", "left out where no openings.book is given"),
        ({"book_size": 2}, "openings.book_size", "left out where no openings.book is given"),
        ({"book": "a.txt", "book_hash": "0F"}, "openings.book_hash", "64 hexadecimal digits"),
    ],
)
def test_a_book_that_can_not_be_is_refused(openings: dict[str, object], where: str, allowed: str) -> None:
    values = {"name": "cup", "format": "round_robin", "games": ["pods"], "time": "none", "openings": openings}
    with pytest.raises(Refusal) as refused:
        read_spec(values, lambda text: text)
    assert refused.value.facts["where"].startswith(where)
    assert refused.value.facts["allowed"].startswith(allowed)
