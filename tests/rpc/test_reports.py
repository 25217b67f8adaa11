"""A Swiss that was begun elsewhere goes on over real gRPC, is played to its end, and verifies."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import arbiter_client as arb
import pytest
from arbiter_client.bots.random import RandomBot

from arbiter.service.players.accounts import Scope
from tests.rpc.servers import level
from tests.rpc.test_tournaments import SWISS, World, verified
from tests.rpc.test_tournaments import world as world

SPEC: Final = replace(SWISS, name="City cup", paired=True, options=arb.TournamentOptions(rounds=3))


def line(number: int, name: str, rating: int, points: str, *cells: str) -> str:
    """Return the line of a player, as other programs write it."""
    return f"001 {number:4} m    {name:33} {rating:4} NED    12345678 1990/11/30 {points:>4} {number:4}" + "".join(
        f"  {cell}" for cell in cells
    )


NAMED: Final = ("Carlsen, M", "Ding, L", "cat", "dan", "eve")
REPORT: Final = "\r\n".join(
    (
        "012 City cup",
        "022 Utrecht",
        line(1, "Carlsen, M", 2830, "1.0", "   3 w 1"),
        line(2, "Ding, L", 2730, "0.5", "   4 b ="),
        line(3, "cat", 2100, "0.0", "   1 b 0"),
        line(4, "dan", 2000, "0.5", "   2 w ="),
        line(5, "eve", 1900, "1.0", "0000 - U"),
        "XXR 3",
        "XXP 1 5",
    )
)
PLAYERS: Final = {"Carlsen, M": "ann", "2": "ben"}


@pytest.mark.long
async def test_a_tournament_goes_on_after_a_report(world: World) -> None:
    organiser = await world.client("org", Scope.ORGANISE)
    for name in ("ann", "ben", "cat", "dan", "eve"):
        await world.bot(name, RandomBot(1))
    tournament_id = (await organiser.create_tournament(SPEC)).tournament_id
    gone_on = await organiser.go_on_from_report(tournament_id, REPORT, PLAYERS, request_id="r")
    assert [each.player for each in gone_on.entrants] == ["ann", "ben", "cat", "dan", "eve"]
    assert [each.rating for each in gone_on.entrants] == [2830, 2730, 2100, 2000, 1900]
    again = await organiser.go_on_from_report(tournament_id, REPORT, PLAYERS, request_id="r")
    assert again.tournament_id == tournament_id
    await world.over(tournament_id)
    await level(world.server)
    ended = await organiser.get_tournament(tournament_id)
    assert (ended.rounds, ended.games_ended) == (3, 2 + 4 + 4)
    rows = (await organiser.get_standings(tournament_id)).rows
    checked = await verified(organiser, tournament_id)
    assert (checked.games, checked.points) == (10, {row.player: row.half_points for row in rows})

    told: list[arb.PlayedElsewhere] = []
    rounds: list[int] = []
    results: list[arb.GameEnded] = []
    async for event in organiser.observe_tournament(tournament_id, "0"):
        match event.what:
            case arb.PlayedElsewhere():
                told.append(event.what)
            case arb.GamesPaired():
                rounds.append(event.what.round)
            case arb.GameEnded():
                results.append(event.what)
            case arb.TournamentEnded():
                break
    assert (told[0].players, told[0].caller) == (("ann", "ben", "cat", "dan", "eve"), "org")
    assert "Carlsen" not in told[0].report, "the names of persons stay out of the record"
    assert rounds == [1, 2, 3]
    assert [(each.match_id, each.winner, each.reason) for each in results[:2]] == [
        ("", 1, "played_elsewhere"),
        ("", 0, "played_elsewhere"),
    ]
    assert all(each.match_id for each in results[2:])


@pytest.mark.parametrize(
    ("report", "players", "complaint"),
    [
        ("no report", {}, "line 1, column 1: no line begins with 001"),
        (REPORT, {}, "players have no account here: line 3, Carlsen, M; line 4, Ding, L. Make accounts"),
        (REPORT, {"Carlsen, M": "ann", "2": "ann"}, "ann is in line 3 and in line 4: name another player"),
        (REPORT, {"Kasparov": "ann"}, "'Kasparov' is not allowed in players: expected names or numbers"),
        (REPORT.replace(" w 1", " w 0"), PLAYERS, "line 3, column 81: 1 points are not the sum of the results, 0"),
    ],
)
async def test_what_is_wrong_with_a_report_is_named_and_nothing_happens(
    world: World, report: str, players: dict[str, str], complaint: str
) -> None:
    organiser = await world.client("org", Scope.ORGANISE)
    for name in ("ann", "ben", "cat", "dan", "eve"):
        await world.client(name)
    tournament_id = (await organiser.create_tournament(SPEC)).tournament_id
    with pytest.raises(arb.ArbiterError) as caught:
        await organiser.go_on_from_report(tournament_id, report, players)
    assert caught.value.reason is arb.Reason.ARGUMENT_INVALID
    assert complaint in str(caught.value)
    assert (await organiser.get_tournament(tournament_id)).entrants == ()


@pytest.mark.parametrize(
    ("spec", "report", "why"),
    [
        (
            replace(SPEC, options=arb.TournamentOptions(rounds=5)),
            REPORT,
            "the report plans 3 rounds, and its specification 5",
        ),
        (
            replace(SPEC, format=arb.TournamentFormat.ROUND_ROBIN, options=arb.TournamentOptions()),
            REPORT,
            "a report is read into a Swiss of players, and this is a round robin",
        ),
        (replace(SPEC, entry=arb.EntryRules(capacity=4)), REPORT, "it has 4 places, and the report 5 players"),
        (SPEC, f"{REPORT}\n192 FIDE_DUTCH_2026_BAKU", "the report is accelerated, and its specification is not"),
    ],
)
async def test_a_tournament_that_is_not_for_the_report(
    world: World, spec: arb.TournamentSpec, report: str, why: str
) -> None:
    organiser = await world.client("org", Scope.ORGANISE)
    for name in ("ann", "ben", "cat", "dan", "eve"):
        await world.client(name)
    tournament_id = (await organiser.create_tournament(spec)).tournament_id
    with pytest.raises(arb.ArbiterError) as caught:
        await organiser.go_on_from_report(tournament_id, report, PLAYERS)
    assert caught.value.reason is arb.Reason.TOURNAMENT_CLOSED
    assert why in caught.value.facts["why"]
