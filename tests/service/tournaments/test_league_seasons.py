"""A league over its seasons: all divisions are played, players move, and nothing is lost if servers die in between."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from typing import Any

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.service.tournaments.driver import PLACINGS
from arbiter.service.tournaments.league_seasons import SeasonStart
from arbiter.service.tournaments.series_tables import Series
from arbiter.testing.clock import virtually
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.tournaments import commands as do
from arbiter.tournaments.corrections import Disqualify
from arbiter.tournaments.events import Decision, End
from arbiter.tournaments.league import Member, Move, place
from arbiter.tournaments.league_rules import LeagueRules
from arbiter.tournaments.spec import Format, Spec
from arbiter.tournaments.tournament import Tournament, TournamentPhase
from tests.service.sharing.servers import servers
from tests.service.tournaments.contest import Contest
from tests.service.tournaments.test_next_in_series import hourly
from tests.service.tournaments.test_series_tables import without_threads as without_threads

RULES = LeagueRules(("First", "Second", "Third"), size=4, move=1, missing=2)
PLAYERS = 10


def league(**rules: Any) -> Spec:
    return replace(hourly(), name="Bots", league=replace(RULES, **rules))


async def season(server: InMemoryArbiter, tournament: str) -> Series:
    return await server.arbiter.series.of(tournament)


async def divisions(contest: Contest, first: str) -> list[Tournament]:
    """Return the tournaments of a season, the highest division first."""
    return [await contest.tournament(each.tournament_id) for each in (await season(contest.server, first)).divisions]


async def begin(contest: Contest, first: str) -> None:
    """Wait until a season has just begun: the players are placed, and the first games go on."""
    starts_ms = (await contest.tournament(first)).spec.schedule.start_ms
    await asyncio.sleep((starts_ms - contest.server.clock.now_ms()) / 1_000 + 0.01)


async def play(contest: Contest, first: str) -> list[Tournament]:
    """Play a season to its end; return its tournaments."""
    await begin(contest, first)
    for each in await divisions(contest, first):
        await contest.ended(each.id)
    return await divisions(contest, first)


async def standing(contest: Contest, division: Tournament) -> list[Member]:
    return [Member(row.player, row.withdrawn) for row in (await contest.server.arbiter.tables.of(division)).rows]


async def after(contest: Contest, first: str) -> str:
    return (await season(contest.server, first)).next


def places(found: Series) -> list[list[str]]:
    return [list(each.players) for each in found.divisions]


@pytest.mark.long
@virtually
async def test_the_first_season_is_divided_by_rating_and_the_next_ones_by_the_standings() -> None:
    contest = Contest(PLAYERS)
    first = await contest.open(league())
    for number, name in enumerate(contest.names):
        await contest.act(first, do.ChangeEntry(name, "org", f"rate {name}", rating=1_000 + number))
    played = await play(contest, first)
    names = contest.names[::-1]
    assert places(await season(contest.server, first)) == [names[:4], names[4:8], names[8:]]
    assert [each.spec.name for each in played] == ["Bots", "Bots: Second", "Bots: Third"]
    for _ in range(2):
        assert all(each.end is not None and each.end.end is End.COMPLETE for each in played)
        expected = place(RULES, [await standing(contest, each) for each in played], [], 2)
        first = await after(contest, first)
        played = await play(contest, first)
        found = await season(contest.server, first)
        assert [tuple(each) for each in places(found)] == list(expected.divisions)
        assert dict(found.moves) == dict(expected.moves)
        assert found.moves.keys() == {Move.PROMOTED, Move.RELEGATED}
        for each, players in zip(played, expected.divisions, strict=True):
            assert sorted(each.seeds) == sorted(players)
            of_each = await season(contest.server, each.id)
            assert (of_each.divisions, of_each.moves) == (found.divisions, found.moves)
        assert played[1].spec.season.before == played[0].spec.season.before


@pytest.mark.long
@virtually
async def test_newcomers_begin_at_the_bottom_and_whoever_leaves_is_gone() -> None:
    contest = Contest(PLAYERS)
    first = await contest.open(league())
    await begin(contest, first)
    leaves, cheats = places(await season(contest.server, first))[0][:2]
    await contest.act(first, do.Withdraw(leaves, leaves, "no more"))
    await play(contest, first)
    await contest.act(first, do.Correct("org", "out", Disqualify(cheats, from_start=True)))
    coming = await after(contest, first)
    contest.names.append("newcomer")
    await contest.connect("newcomer")
    await contest.act(coming, do.Enter("newcomer", "newcomer", "me too"))
    await contest.act(coming, do.Enter(leaves, leaves, "again"))
    await play(contest, coming)
    found = await season(contest.server, coming)
    assert found.moves[Move.LEFT] == (leaves, cheats)
    assert found.moves[Move.ENTERED] == ("newcomer", leaves)
    assert places(found)[-1][-2:] == ["newcomer", leaves]
    assert cheats not in [player for division in places(found) for player in division]
    with pytest.raises(Refusal, match=r"enter the next one|it is over") as caught:
        await contest.act(coming, do.Enter(cheats, cheats, "again"))
    assert caught.value.reason is Reason.TOURNAMENT_CLOSED


@virtually
async def test_whoever_enters_a_season_that_has_begun_is_sent_to_the_next_one() -> None:
    contest = Contest(PLAYERS)
    arena = replace(league(), format=Format.ARENA, options=replace(league().options, duration_ms=60_000))
    first = await contest.open(arena)
    await begin(contest, first)
    for each in ("late", places(await season(contest.server, first))[2][0]):
        with pytest.raises(Refusal, match="enter the next one"):
            await contest.act(first, do.Enter(each, each, "me too"))
    lower = (await season(contest.server, first)).divisions[1].tournament_id
    with pytest.raises(Refusal, match="enter the next one"):
        await contest.act(lower, do.Enter("late", "late", "me too"))


@pytest.mark.long
@virtually
async def test_whoever_misses_two_seasons_drops_out() -> None:
    contest = Contest(PLAYERS)
    first = await contest.open(league())
    missing = "p003"
    await contest.leave(missing)
    contest.names.remove(missing)
    for number in range(3):
        await play(contest, first)
        found = await season(contest.server, first)
        there = missing in [player for division in places(found) for player in division]
        assert there == (number < 2)
        assert found.moves.get(Move.DROPPED_OUT, ()) == ((missing,) if number == 2 else ())
        first = await after(contest, first)


@pytest.mark.long
@virtually
async def test_a_ruling_before_the_next_season_moves_players_and_one_after_it_does_not() -> None:
    contest = Contest(4)
    first = await contest.open(league(divisions=("First", "Second"), size=2))
    played = await play(contest, first)
    lost = (await standing(contest, played[0]))[-1].player
    game = next(each for each in played[0].games if lost in each.players)
    points = (2, 0) if game.seat1 == lost else (0, 2)
    await contest.act(first, do.Rule("org", "rule", game.number, Decision.POINTS, points))
    won = (await standing(contest, await contest.tournament(first)))[0].player
    assert won == lost
    coming = await after(contest, first)
    await play(contest, coming)
    before = await season(contest.server, coming)
    assert won in places(before)[0]
    await contest.act(first, do.Rule("org", "late", game.number, Decision.POINTS, points[::-1]))
    assert places(await season(contest.server, coming)) == places(before)


@virtually
async def test_a_season_that_goes_on_is_waited_for() -> None:
    contest = Contest(4)
    first = await contest.open(league(divisions=("First", "Second"), size=2))
    await begin(contest, first)
    lower = (await season(contest.server, first)).divisions[1].tournament_id
    await contest.act(lower, do.Pause("org", "wait"))
    await contest.ended(first)
    coming = await after(contest, first)
    with pytest.raises(Refusal, match=f"goes on, with tournament {lower}"):
        await contest.act(coming, do.Start("org", "now"))
    await begin(contest, coming)
    assert (await contest.tournament(coming)).phase is TournamentPhase.ENTRY
    assert await after(contest, coming) == ""
    await contest.act(lower, do.Continue("org", "on"))
    await contest.ended(lower)
    await contest.ended(coming)
    assert len(places(await season(contest.server, coming))) == 2
    assert await after(contest, coming)


@pytest.mark.long
@virtually
async def test_a_season_that_nobody_enters_is_left_out_and_the_next_one_has_all_members() -> None:
    contest = Contest(4)
    first = await contest.server.arbiter.tournaments.create(league(), "org", "make")
    await begin(contest, first.id)
    assert (await contest.tournament(first.id)).phase is TournamentPhase.ENDED, "too few players"
    coming = await after(contest, first.id)
    for name in contest.names:
        await contest.act(coming, do.Enter(name, "org", f"enter {name}"))
        await contest.connect(name)
    await play(contest, coming)
    coming = await after(contest, coming)
    await play(contest, coming)
    assert sorted(places(await season(contest.server, coming))[0]) == contest.names


@virtually
async def test_the_organiser_may_begin_a_season_early() -> None:
    contest = Contest(4)
    first = await contest.open(league(divisions=("First", "Second"), size=2))
    await contest.act(first, do.Start("org", "now"))
    for each in await divisions(contest, first):
        await contest.ended(each.id)
    assert [len(each) for each in places(await season(contest.server, first))] == [2, 2]


def enter_after_placements(
    monkeypatch: pytest.MonkeyPatch, contest: Contest, tournament_id: str, times: int
) -> list[str]:
    """Have somebody enter a tournament after each of its next placements; return the requests, which are to come."""
    place_players, entered = SeasonStart.place, list[str]()

    async def then_enter(self: SeasonStart, tournament: Tournament) -> None:
        await place_players(self, tournament)
        if tournament.id == tournament_id and len(entered) < times:
            entered.append(f"me too {len(entered) + 1}")
            await contest.act(tournament_id, do.Enter("late", "late", entered[-1]))

    monkeypatch.setattr(SeasonStart, "place", then_enter)
    return entered


@virtually
async def test_whoever_enters_between_the_placement_and_a_start_by_hand_is_not_in_the_season(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also one who enters again: no start is decided while somebody is there who has no division."""
    contest = Contest(4)
    first = await contest.open(league(divisions=("First", "Second"), size=2))
    entered = enter_after_placements(monkeypatch, contest, first, 3)
    started = await contest.act(first, do.Start("org", "now"))
    assert len(entered) == 3
    assert (started.phase, len(started.seeds)) == (TournamentPhase.RUNNING, 2)
    assert sorted(player for each in places(await season(contest.server, first)) for player in each) == contest.names
    assert (await contest.act(first, do.Start("org", "now"))).phase is TournamentPhase.RUNNING, "a repeated request"


@virtually
async def test_a_start_is_refused_if_somebody_enters_after_each_placement(monkeypatch: pytest.MonkeyPatch) -> None:
    contest = Contest(4)
    first = await contest.open(league(divisions=("First", "Second"), size=2))
    entered = enter_after_placements(monkeypatch, contest, first, PLACINGS)
    with pytest.raises(Refusal, match="players have entered: send the request again"):
        await contest.act(first, do.Start("org", "now"))
    assert len(entered) == PLACINGS
    assert (await contest.act(first, do.Start("org", "now"))).phase is TournamentPhase.RUNNING


@virtually
async def test_whoever_withdraws_between_the_placement_and_the_start_stays_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    contest, left = Contest(5), ""
    first = await contest.open(league(divisions=("First", "Second"), size=3))
    place_players = SeasonStart.place

    async def then_change(self: SeasonStart, tournament: Tournament) -> None:
        nonlocal left
        await place_players(self, tournament)
        if tournament.id == first and not left:
            left = (await contest.tournament(first)).players[0]
            await contest.act(first, do.Withdraw(left, left, "no more"))
            await contest.act(first, do.Enter("late", "late", "me too"))

    monkeypatch.setattr(SeasonStart, "place", then_change)
    started = await contest.act(first, do.Start("org", "now"))
    assert left
    assert len(started.seeds) == 2
    assert not {left, "late"} & set(started.seeds)


@pytest.mark.parametrize("seed", range(4))
@virtually
@pytest.mark.long
async def test_servers_that_die_around_the_start_of_a_season_place_everybody_once(seed: int) -> None:
    lots, contest = random.Random(seed), Contest(PLAYERS)
    first = await contest.open(league())
    for number in range(3):
        starts_ms = (await contest.tournament(first)).spec.schedule.start_ms
        left_s = (starts_ms - contest.server.clock.now_ms()) / 1_000
        await asyncio.sleep(max(0.0, left_s))
        for _ in range(lots.randint(1, 4)):
            await asyncio.sleep(lots.choice((0.0, 0.0001, 0.001, 0.01, 0.3)))
            await contest.crash()
        await asyncio.sleep(60)
        for each in await divisions(contest, first):
            await contest.ended(each.id)
        found = await season(contest.server, first)
        playing = [player for division in places(found) for player in division]
        assert sorted(playing) == sorted(contest.names)
        for each, players in zip(await divisions(contest, first), places(found), strict=True):
            assert sorted(each.seeds) == sorted(players)
        assert bool(found.moves.get(Move.PROMOTED)) == bool(number)
        first = found.next


@pytest.mark.long
@virtually
async def test_several_servers_place_everybody_once() -> None:
    contest = Contest(6, servers=await servers(3))
    # The shortest step: an hour of several servers, which hear from each other all the time, takes long to simulate.
    shortest = hourly(every="*/5 * * * * UTC").schedule
    first = await contest.open(replace(league(divisions=("First", "Second"), size=3), schedule=shortest))
    for _ in range(2):
        for each in await play(contest, first):
            assert each.phase is TournamentPhase.ENDED
        assert (
            sorted(player for division in places(await season(contest.server, first)) for player in division)
            == contest.names
        )
        first = await after(contest, first)
