"""Categories and authors: tables of their own, bots of one author that never meet, and one place for the prizes."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments import commands as do
from arbiter.tournaments import engine
from arbiter.tournaments import events as ev
from arbiter.tournaments.checker import violations
from arbiter.tournaments.corrections import Disqualify
from arbiter.tournaments.evolution import apply
from arbiter.tournaments.group_table import table_of
from arbiter.tournaments.groups import Groups, prize_places
from arbiter.tournaments.spec import Format, Options, Spec
from arbiter.tournaments.spec_text import read_spec
from arbiter.tournaments.standings import standings

AUTHORS: Mapping[str, tuple[str, ...]] = {"Ada": ("p000", "p001", "p002"), "Grace": ("p003", "p004")}
SPEC = Spec("all", Format.ROUND_ROBIN, ("hop-it",), "1s", groups=Groups(authors=AUTHORS, one_prize=True))


def of_format(format_: Format) -> Spec:
    options = Options(rounds=4) if format_ is Format.SWISS else Options(duration_ms=8_000, validation=False)
    return replace(SPEC, format=format_, options=options)


@pytest.mark.parametrize("format_", [Format.SWISS, Format.ARENA, Format.LADDER])
@pytest.mark.parametrize("seed", range(3))
def test_bots_of_one_author_never_meet(format_: Format, seed: int) -> None:
    def met(groups: Groups) -> set[frozenset[str]]:
        run = TournamentRun(replace(of_format(format_), groups=groups), 9, random.Random(seed))
        run.play()
        assert violations(run.log) == []
        return {frozenset(each.players) for each in run.tournament.meetings}

    one, two = sorted(next(iter(met(Groups()))))
    third = next(player for player in ("p000", "p001", "p002") if player not in (one, two))
    authors = {"Ada": (one, two, third)}
    assert frozenset((one, two)) in met(Groups(authors=authors))
    found = met(Groups(authors=authors, apart=True))
    assert found
    assert not found & {frozenset(pair) for pair in combinations(authors["Ada"], 2)}


@pytest.mark.parametrize("format_", [Format.SWISS, Format.ARENA, Format.LADDER])
def test_the_checker_finds_a_meeting_of_two_bots_of_one_author(format_: Format) -> None:
    run = TournamentRun(replace(of_format(format_), groups=Groups()), 6, random.Random(1))
    run.play()
    first, created = run.tournament.meetings[0], run.log[0]
    assert isinstance(created, ev.Created)
    apart = Groups(authors={"Ada": first.players}, apart=True)
    found = violations([replace(created, spec=replace(created.spec, groups=apart)), *run.log[1:]])
    assert any(first.first in each and first.second in each for each in found), found


def test_only_the_best_bot_of_an_author_has_a_place_for_the_prizes() -> None:
    rows = [("a1", 1, False), ("a2", 2, False), ("b1", 3, False), ("b2", 3, False), ("c", 3, True), ("d", 6, False)]
    assert prize_places(rows, {"Ada": ("a1", "a2")}) == [1, 0, 2, 2, 0, 4]
    assert prize_places(rows, {"Ben": ("b1", "b2", "c")}) == [1, 2, 3, 0, 0, 4]
    assert prize_places(rows, {}) == [1, 2, 3, 3, 0, 5]


@pytest.mark.parametrize("seed", range(10))
def test_the_standings_have_the_places_for_the_prizes(seed: int) -> None:
    run = TournamentRun(SPEC, 7, random.Random(seed))
    run.play()
    table = standings(run.tournament)
    winners = [row.player for row in table.rows if row.prize_place]
    best = [next(row.player for row in table.rows if row.player in bots) for bots in AUTHORS.values()]
    assert set(winners) == {"p005", "p006", *best}
    assert {row.prize_place for row in table.rows} <= {0, 1, 2, 3, 4}
    every = TournamentRun(replace(SPEC, groups=replace(SPEC.groups, one_prize=False)), 7, random.Random(seed))
    every.play()
    assert {row.prize_place for row in standings(every.tournament).rows} == {0}


def test_who_is_disqualified_leaves_its_prize_to_the_next_bot_of_its_author() -> None:
    run = TournamentRun(SPEC, 7, random.Random(2))
    run.play()
    winner = next(row.player for row in standings(run.tournament).rows if row.player in AUTHORS["Ada"])
    run.act(do.Correct("organiser", "out", Disqualify(winner, from_start=True)))
    prizes = {row.player: row.prize_place for row in standings(run.tournament).rows}
    assert prizes[winner] == 0
    assert sum(bool(prizes[player]) for player in AUTHORS["Ada"]) == 1


def test_a_category_has_places_of_its_own() -> None:
    groups = replace(SPEC.groups, categories={"rust": ("p006", "p001", "nobody"), "new": ("nobody",)})
    run = TournamentRun(replace(SPEC, groups=groups), 7, random.Random(4))
    run.play()
    table = standings(run.tournament)
    assert table_of(table, groups.tables, "") == table
    for name, players in groups.tables.items():
        rows = table_of(table, groups.tables, name).rows
        assert [row.player for row in rows] == [row.player for row in table.rows if row.player in players]
        for at, row in enumerate(rows):
            before = sum(other.place < whole(table.rows, row) for other in table.rows if other.player in players)
            assert row.place == before + 1, at
    with pytest.raises(Refusal, match="one of rust, new, Ada, Grace") as caught:
        table_of(table, groups.tables, "go")
    assert caught.value.reason is Reason.ARGUMENT_INVALID


def whole(rows: tuple[object, ...], row: object) -> int:
    return next(each.place for each in rows if each.player == row.player)  # type: ignore[attr-defined, no-any-return]


def test_an_entry_may_name_a_category_beside_those_of_the_specification() -> None:
    groups = replace(SPEC.groups, categories={"rust": ("ann",)})
    tournament, _ = engine.create("t1", replace(SPEC, groups=groups), "organiser", "make", 0)

    def act(command: do.Command) -> Refusal | None:
        decision = engine.decide(tournament, command, 1)
        for event in decision.events:
            apply(tournament, event)
        return decision.refusal

    for player, category in (("ann", "rust"), ("ben", "rust"), ("cat", "go"), ("dan", "")):
        assert act(do.Enter(player, "organiser", f"enter {player}", category=category)) is None
    assert tournament.categories == {"rust": ("ann", "ben"), **AUTHORS, "go": ("cat",)}
    act(do.Withdraw("ben", "organiser", "out"))
    act(do.Enter("ben", "organiser", "in", category="go"))
    assert tournament.categories["go"] == ("ben", "cat")
    refused = act(do.Enter("eve", "organiser", "e", category="Ada"))
    assert refused is not None
    assert "a name that no author has" in refused.message


def test_players_of_a_category_that_are_level_share_its_place() -> None:
    groups = Groups(categories={"rust": ("p001", "p002", "p003")})
    run = TournamentRun(replace(SPEC, groups=groups), 4, random.Random(1))
    rows = table_of(standings(run.tournament), groups.tables, "rust").rows
    assert [row.place for row in rows] == [1, 1, 1], "nobody has played"


@pytest.mark.parametrize(
    ("groups", "where", "allowed"),
    [
        ({"authors": ["ann"]}, "groups.authors", "a table"),
        ({"authors": {"Ada": ["ann"]}}, "groups.authors.Ada", "2 to 10 players"),
        ({"authors": {"Ada": [f"p{n}" for n in range(11)]}}, "groups.authors.Ada", "2 to 10 players"),
        ({"authors": {"Ada": ["ann", "ann"]}}, "groups.authors.Ada", "each player once"),
        ({"authors": {"Ada": ["ann", "ben"], "Eve": ["cat", "ben"]}}, "groups.authors.Eve", "Ada has it too"),
        ({"authors": {"Ada": ["ann", 7]}}, "groups.authors.Ada", "printable"),
        ({"authors": {"A\x1b": ["ann", "ben"]}}, "groups.authors", "printable"),
        ({"authors": {f"a{n}": [f"a{n}", f"b{n}"] for n in range(201)}}, "groups.authors", "at most 200"),
        ({"categories": {f"c{n}": ["ann"] for n in range(51)}}, "groups.categories", "at most 50"),
        ({"categories": {"rust": []}}, "groups.categories.rust", "a list of players"),
        ({"categories": {"rust": "ann"}}, "groups.categories.rust", "a list of players"),
        ({"categories": {"rust": [f"p{n}" for n in range(2_001)]}}, "groups.categories.rust", "at most 2000"),
        (
            {"categories": {"Ada": ["ann"]}, "authors": {"Ada": ["ann", "ben"]}},
            "groups.authors.Ada",
            "no category has",
        ),
        ({"apart": True}, "groups.apart", "groups.authors"),
        ({"one_prize": True}, "groups.one_prize", "groups.authors"),
        ({"authors": {"Ada": ["ann", "ben"]}, "apart": True}, "groups.apart", "false in a round robin"),
    ],
)
def test_other_groups_are_refused(groups: object, where: str, allowed: str) -> None:
    values = {"name": "cup", "format": "round_robin", "games": ["pods"], "time": "1s", "groups": groups}
    with pytest.raises(Refusal, match=allowed) as caught:
        read_spec(values, str)
    assert (caught.value.reason, caught.value.facts["where"]) == (Reason.PARAMETER_INVALID, where)
