"""Who plays in which division of a league: promotion, relegation, newcomers, and who leaves."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.tournaments.league import Member, Move, Placement, in_words, place
from arbiter.tournaments.league_rules import LeagueRules, LeagueSeason
from arbiter.tournaments.spec_text import read_spec, write_spec

RULES = LeagueRules(("A", "B", "C"), size=4, move=1, missing=2)


def placed(last: Sequence[str], asked: str = "", rules: LeagueRules = RULES, least: int = 2) -> Placement:
    """Return a placement. last: the players of each division, one letter each, by place: small ones have left."""
    members = [[Member(player.upper(), player.islower()) for player in division] for division in last]
    return place(rules, members, [*asked], least)


def text(placement: Placement) -> tuple[str, ...]:
    return tuple("".join(players) for players in placement.divisions)


@pytest.mark.parametrize(
    ("rules", "last", "asked", "divisions", "said"),
    [
        (RULES, (), "ABCDEFGHIJ", ("ABCD", "EFGH", "IJ"), "entered: A, B, C, D, E, F, G, H, I, J"),
        (RULES, ("ABCD", "EFGH", "IJKL"), "", ("ABCE", "DFGI", "HJKL"), "promoted: E, I; relegated: D, H"),
        (
            RULES,
            ("ABCD", "EFGH", "IJ"),
            "XAY",
            ("ABCE", "DFGI", "HJXY"),
            "promoted: E, I; relegated: D, H; entered: X, Y",
        ),
        (LeagueRules(("A", "B"), 4, 2), ("ABCD", "EFGH"), "", ("ABEF", "CDGH"), "promoted: E, F; relegated: C, D"),
        (LeagueRules(("A", "B"), 4, 0), ("ABCD", "EFGH"), "", ("ABCD", "EFGH"), "nobody has moved"),
        # A place that has become free is filled by whoever would have gone down, then from below.
        (RULES, ("AbCD", "EFGH"), "", ("ACED", "FGH"), "promoted: E; left: B"),
        (RULES, ("AbcD", "EFGH"), "", ("AEDF", "GH"), "promoted: E, F; left: B, C"),
        (RULES, ("ABCD", "EfGH", "IJK"), "", ("ABCE", "DGIH", "JK"), "promoted: E, I; relegated: D; left: F"),
        # A last division that could not play joins the one above it.
        (RULES, ("ABCD", "EFGH", "IJ"), "", ("ABCE", "DFGI", "HJ"), "promoted: E, I; relegated: D, H"),
        (RULES, ("ABCD", "EFGH", "Ij"), "", ("ABCE", "DFGHI"), "promoted: E, I; relegated: D; left: J"),
        (RULES, ("ABCD", "E"), "", ("ABCDE",), "promoted: E"),
        # Who has left may ask again, and begins at the bottom.
        (RULES, ("aBCD", "EFGH"), "A", ("BCED", "FGHA"), "promoted: E; entered: A; left: A"),
    ],
)
def test_who_plays_where(
    rules: LeagueRules, last: Sequence[str], asked: str, divisions: tuple[str, ...], said: str
) -> None:
    found = placed(last, asked, rules)
    assert (text(found), in_words(found.moves)) == (divisions, said)


def test_who_is_missing_drops_out_after_so_many_seasons() -> None:
    def left(missing: int, missed: int) -> tuple[str, ...]:
        division = [Member("A"), Member("B", missed=missed), Member("C")]
        found = place(LeagueRules(("A", "B"), 4, 1, missing), [division], [], 2)
        assert ("B" in found.divisions[0]) == (not found.moves)
        return found.moves.get(Move.DROPPED_OUT, ())

    assert [left(2, missed) for missed in range(4)] == [(), (), ("B",), ("B",)]
    assert left(0, 20) == (), "nobody drops out"
    assert left(1, 1) == ("B",)


def test_everybody_plays_in_one_division_or_is_said_to_be_gone() -> None:
    for seed in range(200):
        _everybody_is_placed(seed)


def _everybody_is_placed(seed: int) -> None:
    lots = random.Random(seed)
    size = lots.randint(2, 6)
    names = tuple(f"division {number}" for number in range(lots.randint(2, 5)))
    rules = LeagueRules(names, size, lots.randint(0, size // 2), lots.randint(0, 2))
    last: list[list[Member]] = []
    for player in range(lots.randint(0, 40)):
        if not last or (len(last[-1]) >= size and len(last) < len(names)):
            last.append([])
        last[-1].append(Member(f"p{player}", lots.random() < 0.1, lots.choice((0, 0, 0, 1, 2))))
    asked = [f"p{player}" for player in lots.sample(range(60), lots.randint(0, 12))]
    found = place(rules, last, asked, 2)
    playing = [player for division in found.divisions for player in division]
    gone = {*found.moves.get(Move.LEFT, ()), *found.moves.get(Move.DROPPED_OUT, ())}
    assert len(set(playing)) == len(playing)
    assert set(playing) == ({each.player for division in last for each in division} - gone) | set(asked)
    assert len(found.divisions) <= len(names)
    sizes = [len(division) for division in found.divisions]
    assert all(each == size for each in sizes[:-1]) or sizes[:-1] == []
    assert len(sizes) < 2 or sizes[-1] >= 2
    order = [player for player in playing if player in asked]
    assert [player for player in order if player in found.moves.get(Move.ENTERED, ())] == list(
        found.moves.get(Move.ENTERED, ())
    )


def values(**more: object) -> dict[str, object]:
    league = {"divisions": ["First", "Second"], "size": 4}
    cup = {"name": "cup", "format": "round_robin", "games": ["pods"], "time": "1s", "league": league}
    return cup | {"schedule": {"every": "friday 18:00 UTC"}} | more


@pytest.mark.parametrize(
    ("more", "where", "allowed"),
    [
        ({"league": {"divisions": ["First"]}}, "league.divisions", "two or more"),
        ({"league": {"divisions": ["First", "First"]}}, "league.divisions", "different"),
        ({"league": {"size": 4}}, "league", "no league.divisions"),
        ({"league": {"divisions": ["A", "B"], "size": 5, "move": 3}}, "league.move", "at most half"),
        ({"league": {"divisions": ["A", "B"], "size": 1}}, "league.size", "from 2 to 1000"),
        ({"format": "ladder"}, "format", "round_robin or swiss or knockout or arena"),
        ({"format": "trial"}, "format", "round_robin or swiss or knockout or arena"),
        ({"options": {"boards": 2}}, "options.boards", "players"),
        ({"entry": {"capacity": 9}}, "entry.capacity", "league.size"),
        ({"schedule": {}}, "schedule.every", "seasons begin"),
        ({"season": {"division": 1}}, "season", "the server fills it in"),
        ({"season": {"places": {"A": ["ann"]}}}, "season", "the server fills it in"),
    ],
)
def test_another_league_is_refused(more: dict[str, object], where: str, allowed: str) -> None:
    with pytest.raises(Refusal, match=allowed) as caught:
        read_spec(values(**more), str)
    assert (caught.value.reason, caught.value.facts["where"]) == (Reason.PARAMETER_INVALID, where)


def test_a_season_is_read_from_the_record() -> None:
    spec = read_spec(values(), str)
    assert spec.season == LeagueSeason()
    season = LeagueSeason(3, 1, "t1", {"First": ("ann",), "Second": ("ben", "cat")}, {"entered": ("cat",)})
    written = write_spec(spec) | {"season": {**vars_of(season)}, "schedule": {}}
    assert read_spec(written, str, stored=True).season == season


def vars_of(season: LeagueSeason) -> dict[str, object]:
    return {name: getattr(season, name) for name in ("before", "division", "first", "places", "moves")}
