"""A tournament of teams over real gRPC: entered by its organiser, played, and its standings as messages."""

from __future__ import annotations

from dataclasses import replace

import arbiter_client as arb
import pytest
from arbiter_client.bots.random import RandomBot

from arbiter.service.players.accounts import Scope
from tests.rpc.servers import level
from tests.rpc.test_tournaments import LEAGUE, World, anext_events
from tests.rpc.test_tournaments import world as world

SPEC = replace(LEAGUE, name="Teams", options=arb.TournamentOptions(boards=2, scheveningen=True, match_win=3))
MEMBERS = {"ann": "red", "ben": "blue", "cat": "red", "dan": "blue"}


@pytest.mark.long
async def test_a_match_of_teams_from_its_specification_to_its_standings(world: World) -> None:
    organiser = await world.client("org", Scope.ORGANISE, Scope.OBSERVE)
    made = await organiser.create_tournament(SPEC)
    assert made.spec == SPEC
    players = {}
    for seed, name in enumerate(MEMBERS):
        players[name] = await world.bot(name, RandomBot(seed))
    with pytest.raises(arb.ArbiterError, match="the organiser enters the players of teams"):
        await players["ann"].enter_tournament(made.tournament_id, team="blue")
    with pytest.raises(arb.ArbiterError, match="it is for teams"):
        await players["ann"].enter_tournament(made.tournament_id)
    with pytest.raises(arb.ArbiterError, match="0 to 40 printable characters"):
        await organiser.enter_tournament(made.tournament_id, "ann", team="t" * 41)
    for name, team in MEMBERS.items():
        entrant = await organiser.enter_tournament(made.tournament_id, name, team=team, request_id=f"enter {name}")
        assert (entrant.player, entrant.team) == (name, team)
    with pytest.raises(arb.ArbiterError, match="was used by another request"):
        await organiser.enter_tournament(made.tournament_id, "ann", team="blue", request_id="enter ann")
    await level(world.server)
    before = (await organiser.get_standings(made.tournament_id)).teams
    assert before is not None
    assert [(row.team, row.players) for row in before.rows] == [("red", ("ann", "cat")), ("blue", ("ben", "dan"))]

    await organiser.start_tournament(made.tournament_id)
    await world.over(made.tournament_id)
    await level(world.server)
    stand = await organiser.get_standings(made.tournament_id)
    assert stand.teams is not None
    assert {row.player: row.team for row in stand.rows} == MEMBERS
    scored = {team: sum(row.half_points for row in stand.rows if row.team == team) for team in ("red", "blue")}
    assert {row.team: row.board_half_points for row in stand.teams.rows} == scored
    assert sum(scored.values()) == 2 * 4
    assert sorted(row.match_points for row in stand.teams.rows) in ([0, 3], [1, 1])
    assert [each.name for each in stand.teams.tie_breaks][:2] == ["MATCH_POINTS", "BOARD_POINTS"]
    events = [event.what for event in await anext_events(organiser, made.tournament_id, 5)]
    assert [event.team for event in events if isinstance(event, arb.EntrantEvent)] == list(MEMBERS.values())
