"""Specifications, tournaments and standings as messages: every field is converted, both ways."""

from __future__ import annotations

import random
import tomllib
from dataclasses import replace
from typing import Any

import pytest
from arbiter_protos.v1 import tournament_pb2 as pb
from google.protobuf.message import Message

from arbiter.errors import Reason, Refusal
from arbiter.testing.random_tournaments import restless
from arbiter.tournaments import spec as specs
from arbiter.tournaments.events import End
from arbiter.tournaments.league_rules import LeagueSeason
from arbiter.tournaments.spec_text import read_spec
from arbiter.tournaments.standings import Faults, StandingsRow, standings
from arbiter.tournaments.tournament import Entrant, TournamentPhase
from arbiter.wire.tournament_messages import (
    spec_message,
    spec_of,
    standings_message,
    standings_row_message,
    tournament_message,
)

FULL = tomllib.loads("""
name = "Spring cup"
format = "arena"
games = ["pods(size=5)", "circle-of-life"]
time = "1m+1s"
rated = false
paired = false
at_once = 3
tie_breaks = [
    "direct_encounter", "sonneborn_berger", "buchholz", "buchholz_cut_1", "buchholz_cut_2", "buchholz_median_1",
    "wins", "wins_seat_2", "games_seat_2", "progressive",
]
time_odds = { ann = "30s" }

[options]
cycles = 2
heads = 3
rounds = 5
accelerated = true
best_of = 3
third_place = true
keep_early_leavers = true
duration = "60s"
validation = false
elo0 = -5
elo1 = 20
alpha = 10
beta = 20
most_meetings = 99
normalised = true
elo_parts = 10
boards = 4
scheveningen = true
match_win = 3
match_draw = 2
by_board_points = true

[openings]
lines = { circle-of-life = [["e5"], ["d4"]] }

[entry]
invited = ["ann", "ben"]
versions = ["1."]
forbidden = [["ann", "ben"]]
badge = true

[groups]
categories = { rust = ["ann", "ben"] }
authors = { "Ada L." = ["cat", "dan", "eve"], "Grace H." = ["fay", "gus"] }
apart = true
one_prize = true

[schedule]
every = "friday 18:00 Europe/Berlin"
start_ms = 1_800_000_000_000
entry_closes_ms = 1_700_000_000_000

[series]
best = 3
last = 8
place_points = [10, 7, 5]

[league]
divisions = ["First", "Second"]
size = 6
move = 2
missing = 3

[adjudication]
plies = 300
material = 3
material_plies = 12
evaluation = 400
evaluation_plies = 6
draw_evaluation = 20
draw_plies = 40
draw_from_ply = 80
plugin = "judge"
syzygy_pieces = 6
syzygy_ignore_50 = true

[policy]
illegal_moves = 2
kept_refusals = 50
no_show_ms = 10_000
abandon_ms = 20_000
move_cap_ms = 30_000
resume_ms = 40_000
start = "at_once"
no_show = "void"
ready_ms = 5_000
""")


def read(values: dict[str, Any]) -> specs.Spec:
    return read_spec(values, lambda text: text)


def unset(message: Message) -> list[str]:
    """Return the empty fields of a message and its parts."""
    said = {field.name for field, _ in message.ListFields()}
    found = [field.name for field in message.DESCRIPTOR.fields if field.name not in said]
    for _, value in message.ListFields():
        found += unset(value) if isinstance(value, Message) else []
    return found


@pytest.mark.parametrize(
    ("words", "enum", "prefix"),
    [
        ([each.name for each in specs.Format], pb.TournamentFormat, "TOURNAMENT_FORMAT_"),
        ([each.name for each in TournamentPhase], pb.TournamentPhase, "TOURNAMENT_PHASE_"),
        ([each.name for each in End], pb.TournamentEnd, "TOURNAMENT_END_"),
        ([each.value.upper() for each in specs.TieBreak], pb.TieBreak, "TIE_BREAK_"),
    ],
)
def test_an_enumeration_has_the_same_words_everywhere(words: list[str], enum: Any, prefix: str) -> None:
    assert {name.removeprefix(prefix) for name in enum.keys()} == {*words, "UNSPECIFIED"}  # noqa: SIM118


def test_a_full_specification_is_converted_and_back() -> None:
    spec = read(FULL)
    message = spec_message(spec)
    # these exclude a third place, opening lines and a league; a server alone fills in its seasons
    openings = ["plies", "seed", "book", "book_plies", "book_hash", "book_size", "book_to_comment"]
    season = ["before", "division", "first", "places", "moves"]
    assert unset(message) == ["double", *openings, "capacity", *season]
    assert spec_of(message) == spec


def test_a_season_of_a_league_is_shown_and_not_taken() -> None:
    season = LeagueSeason(3, 1, "t1", {"First": ("ann",), "Second": ("ben", "cat")}, {"entered": ("cat",)})
    message = spec_message(replace(read(FULL), season=season))
    assert (message.season.before, message.season.division, message.season.first) == (3, 1, "t1")
    places = {group.name: tuple(group.players) for group in message.season.places}
    moves = {group.name: tuple(group.players) for group in message.season.moves}
    assert (places, moves) == (season.places, season.moves)
    with pytest.raises(Refusal, match="the server fills it in"):
        spec_of(message)


@pytest.mark.parametrize("part", [{"book_plies": 4}, {"book_to_comment": True}])
def test_an_opening_book_is_converted_and_back(part: dict[str, Any]) -> None:
    book = {"book": "a.pgn", "book_first": 7, "book_hash": "0f" * 32, "book_size": 9, **part}
    spec = read(
        {"name": "cup", "format": "swiss", "games": ["chess"], "time": "1m", "openings": book, "options": {"rounds": 3}}
    )
    message = spec_message(spec)
    assert {name: getattr(message.openings, name) for name in book} == book
    assert spec_of(message) == spec


@pytest.mark.parametrize("format_", specs.Format)
def test_omitted_fields_have_the_defaults_of_a_file(format_: specs.Format) -> None:
    options = {"rounds": 3} if format_ is specs.Format.SWISS else {}
    options |= {"duration_ms": 1_000} if format_ is specs.Format.ARENA else {}
    plain = {"name": "cup", "format": format_.value, "games": ["pods"], "time": "1m"}
    message = pb.TournamentSpec(name="cup", games=["pods"], time="1m", options=pb.TournamentOptions(**options))  # type: ignore[arg-type]
    message.format = pb.TournamentFormat.Value(f"TOURNAMENT_FORMAT_{format_.name}")
    assert spec_of(message) == read(plain | {"options": options})
    assert spec_of(spec_message(spec_of(message))) == spec_of(message)


TO_COMMENT = "openings.book_to_comment"


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        (pb.TournamentSpec(format=pb.TOURNAMENT_FORMAT_UNSPECIFIED), "format"),
        (pb.TournamentSpec(format=77), "format"),  # type: ignore[arg-type]
        (pb.TournamentSpec(at_once=0), "at_once"),
        (pb.TournamentSpec(tie_breaks=[99]), "tie_breaks"),  # type: ignore[list-item]
        (pb.TournamentSpec(options=pb.TournamentOptions(rounds=101)), "options.rounds"),
        (pb.TournamentSpec(openings=pb.Openings(plies=2)), "openings.seed"),
        *(
            (pb.TournamentSpec(openings=pb.Openings(book=book, book_plies=plies, book_to_comment=True)), TO_COMMENT)
            for book, plies in (("", 0), ("a.epd", 0), ("a.pgn", 2))
        ),
        (pb.TournamentSpec(openings=pb.Openings(lines=[pb.OpeningLine(game="pods")] * 1_001)), "openings.lines.pods"),
        (
            pb.TournamentSpec(openings=pb.Openings(lines=[pb.OpeningLine(game="pods", moves=["a"] * 101)])),
            "openings.lines.pods",
        ),
    ],
)
def test_a_mistake_is_named_by_its_field_in_the_message(wrong: pb.TournamentSpec, where: str) -> None:
    message = pb.TournamentSpec(name="cup", format=pb.TOURNAMENT_FORMAT_ROUND_ROBIN, games=["pods"], time="1m")
    message.MergeFrom(wrong)
    if where == "format":
        message.format = wrong.format
    with pytest.raises(Refusal) as caught:
        spec_of(message)
    assert (caught.value.reason, caught.value.facts["where"]) == (Reason.PARAMETER_INVALID, where)


def test_entrants_and_rows_have_all_fields() -> None:
    entrant = {field.name for field in pb.Entrant.DESCRIPTOR.fields}
    assert entrant == {*Entrant._fields} - {"left"}
    renamed = {"half_points": "points", "tie_break_quarters": "values"}
    renamed |= {"awarded_half_points": "awarded"}
    renamed |= {"meeting_half_points": "meeting_points", "game_half_points": "game_points"}
    row = {field.name for field in pb.StandingsRow.DESCRIPTOR.fields}
    assert {renamed.get(name, name) for name in row} == set(StandingsRow._fields)
    assert {field.name for field in pb.Faults.DESCRIPTOR.fields} == set(Faults._fields)


@pytest.mark.parametrize("seed", range(14))
def test_whole_tournaments_and_their_standings_are_converted(seed: int) -> None:
    tournament = restless(random.Random(seed)).tournament
    message, entrants = tournament_message(tournament)
    assert spec_of(message.spec) == tournament.spec
    assert message.phase == pb.TOURNAMENT_PHASE_ENDED
    assert {each.player for each in entrants} == set(tournament.entrants)
    assert (message.games, message.games_ended) == (len(tournament.games), len(tournament.results))
    table = standings(tournament)
    converted = standings_message(tournament.id, table, map(standings_row_message, table.rows))
    assert [row.player for row in converted.rows] == [row.player for row in table.rows]
    assert [row.half_points for row in converted.rows] == [row.points for row in table.rows]
    assert all(len(row.tie_break_quarters) == len(converted.tie_breaks) for row in converted.rows)
