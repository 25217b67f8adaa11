"""Categories over real gRPC: the organiser enters players in them, and each has standings of its own."""

from __future__ import annotations

from dataclasses import replace

import arbiter_client as arb
import pytest

from arbiter.service.players.accounts import Scope
from tests.rpc.test_tournaments import LEAGUE, World, anext_events
from tests.rpc.test_tournaments import world as world

SPEC = replace(LEAGUE, groups=arb.PlayerGroups(authors=(arb.PlayerGroup("Ada", ("ann", "ben")),)))
CATEGORIES = {"ann": "rust", "ben": "", "cat": "rust"}


async def test_an_organiser_enters_players_in_categories(world: World) -> None:
    organiser = await world.client("org", Scope.ORGANISE, Scope.OBSERVE)
    cup = (await organiser.create_tournament(SPEC)).tournament_id
    clients = {name: await world.client(name, Scope.PLAY, Scope.OBSERVE) for name in CATEGORIES}
    with pytest.raises(arb.ArbiterError, match="the organiser enters the players of categories"):
        await clients["ann"].enter_tournament(cup, category="rust")
    with pytest.raises(arb.ArbiterError, match="0 to 40 printable characters"):
        await organiser.enter_tournament(cup, "ann", category="c" * 41)
    with pytest.raises(arb.ArbiterError, match="a name that no author has"):
        await organiser.enter_tournament(cup, "ann", category="Ada")
    for name, category in CATEGORIES.items():
        for _ in range(2):  # a repeated request
            entrant = await organiser.enter_tournament(cup, name, category=category, request_id=f"enter {name}")
            assert entrant.category == category
    with pytest.raises(arb.ArbiterError, match="was used by another request"):
        await organiser.enter_tournament(cup, "ann", category="go", request_id="enter ann")
    for category, players in (("rust", {"ann", "cat"}), ("Ada", {"ann", "ben"}), ("", set(CATEGORIES))):
        assert {row.player for row in (await organiser.get_standings(cup, category)).rows} == players
    with pytest.raises(arb.ArbiterError, match="one of Ada, rust"):
        await organiser.get_standings(cup, "go")
    events = [event.what for event in await anext_events(organiser, cup, 4)]
    assert [each.category for each in events if isinstance(each, arb.EntrantEvent)] == list(CATEGORIES.values())
