"""A player is told why it has no game just now: through the whole service in virtual time."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from arbiter.service.tournaments.capacity import Capacity
from arbiter.service.tournaments.unpaired import why_unpaired
from arbiter.testing.clock import settle, virtually
from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments import commands as do
from arbiter.tournaments.formats.pairer import FreePlayers
from arbiter.tournaments.spec import EntryRules, Format
from arbiter.tournaments.tournament import Tournament, TournamentPhase
from arbiter.tournaments.unpaired_reasons import WORDS, Why
from tests.service.tournaments.contest import Contest, spec_of


def reason(contest: Contest, player: str) -> Why | None:
    """Return why a player has no game in the only open tournament."""
    found = contest.server.arbiter.tournaments.unpaired(player)
    return found[0].why if found else None


async def until(contest: Contest, player: str, why: Why, most_s: int = 3_000) -> None:
    """Wait until a player has no game for this reason."""
    for _ in range(20 * most_s):
        if reason(contest, player) is why:
            return
        await asyncio.sleep(0.05)
    pytest.fail(f"{player} never waited because of {why}")


def test_every_reason_has_words() -> None:
    assert set(WORDS) == set(Why)


async def somebody(contest: Contest, why: Why) -> None:
    """Wait until some player is unpaired for this reason."""
    found: set[Why | None] = set()
    for _ in range(2_000):
        found |= {reason(contest, name) for name in contest.names}
        if why in found:
            return
        await asyncio.sleep(0.01)
    pytest.fail(str(found))


@virtually
async def test_before_the_start_in_a_pause_and_to_others() -> None:
    contest = Contest(2)
    tournament_id = await contest.open(spec_of(Format.LADDER, validation=False))
    await settle()
    assert reason(contest, "p000") is Why.NOT_STARTED
    assert reason(contest, "nobody") is None
    await contest.act(tournament_id, do.Start("org", "start"))
    await contest.act(tournament_id, do.Pause("org", "pause"))
    await until(contest, "p000", Why.PAUSED)


@virtually
async def test_on_a_ladder() -> None:
    contest = Contest(2)
    spec = spec_of(Format.LADDER, validation=False, duration_ms=0)
    tournament_id = await contest.start(spec)
    await contest.leave("p001")
    await until(contest, "p001", Why.AWAY)
    await until(contest, "p000", Why.NOBODY)
    await contest.act(tournament_id, do.Withdraw("p000", "org", "out"))
    assert reason(contest, "p000") is None


@virtually
async def test_of_players_who_must_not_meet() -> None:
    contest = Contest(2)
    rules = EntryRules(forbidden=(("p000", "p001"),))
    await contest.start(spec_of(Format.LADDER, validation=False, duration_ms=0, entry=rules))
    await until(contest, "p000", Why.FORBIDDEN)


@virtually
async def test_of_two_in_an_arena_who_have_just_met() -> None:
    contest = Contest(4)
    await contest.start(spec_of(Format.ARENA, duration_ms=600_000))
    await somebody(contest, Why.JUST_MET)


@virtually
async def test_in_a_swiss_with_a_bye() -> None:
    contest = Contest(3)
    await contest.start(spec_of(Format.SWISS, rounds=3))
    await somebody(contest, Why.BYE)


@virtually
async def test_in_a_knockout() -> None:
    contest = Contest(4)
    tournament_id = await contest.start(spec_of(Format.KNOCKOUT, best_of=1))
    seen: dict[str, set[Why | None]] = {name: set() for name in contest.names}
    for _ in range(20_000):
        tournament = await contest.tournament(tournament_id)
        if tournament.phase is TournamentPhase.ENDED:
            break
        for name in contest.names:
            seen[name].add(reason(contest, name))
        await asyncio.sleep(0.01)
    out = [name for name, found in seen.items() if Why.OUT in found]
    assert len(out) == 2, "who loses its first tie is out; the finalists play until the end"


class Slots:
    """How many more matches each player accepts."""

    def __init__(self, **free: int) -> None:
        self._free = free

    def free_slots(self, player: str) -> int | None:
        """Return how many more matches a player accepts."""
        return self._free.get(player)

    most_matches = free_slots


@pytest.mark.parametrize(
    ("free", "most", "why"),
    [
        ({"p000": 1, "p001": 1}, 9, Why.NEXT),
        ({"p000": 0, "p001": 1}, 9, Why.FULL),
        ({"p000": 1, "p001": 0}, 9, Why.OPPONENT),
        ({"p000": 1, "p001": 1}, 0, Why.SERVER_FULL),
    ],
)
def test_of_a_game_that_does_not_begin(free: dict[str, Any], most: int, why: Why) -> None:
    run = TournamentRun(spec_of(Format.ROUND_ROBIN), 2, random.Random(1))
    run.pair()
    tournament: Tournament = run.tournament
    assert why_unpaired(tournament, "p000", Capacity(Slots(**free), most), FreePlayers) is why
    run.play()
    assert why_unpaired(tournament, "p000", Capacity(Slots(**free), most), FreePlayers) is None
