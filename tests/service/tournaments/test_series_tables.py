"""The table over a series on a server: which tournaments count, what is left out, and that rulings change it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from arbiter.errors import Reason
from arbiter.service.ports.journal import TournamentFilter
from arbiter.service.tournaments.series_tables import Series
from arbiter.testing.clock import virtually
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.tournaments import commands as do
from arbiter.tournaments.events import Decision, End
from arbiter.tournaments.schedule import SeriesRules
from arbiter.tournaments.spec import Format, Spec
from arbiter.tournaments.tournament import Tournament, TournamentPhase
from tests.refusals import refusing
from tests.service.sharing.servers import servers
from tests.service.tournaments.contest import Contest, spec_of
from tests.service.tournaments.test_next_in_series import HOUR_S, hourly


@pytest.fixture(autouse=True)
def without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute standings in the event loop: virtual time waits for no thread."""

    async def in_place(function: Callable[..., Any], /, *arguments: Any) -> Any:
        return function(*arguments)

    monkeypatch.setattr(asyncio, "to_thread", in_place)


async def ids(server: InMemoryArbiter) -> list[str]:
    """Return the tournaments of a server in the order of their creation."""
    rows = await server.arbiter.tournaments.summaries(TournamentFilter(), 0, 1_000)
    return [row.tournament_id for row in reversed(rows)]


async def played(contest: Contest, spec: Spec, count: int) -> list[str]:
    """Play the first tournaments of a series, an hour each, with all bots; return the ids, the coming one too."""
    await contest.open(spec)
    for number in range(count):
        coming = (await ids(contest.server))[-1]
        for name in contest.names if number else ():
            await contest.act(coming, do.Enter(name, "org", f"enter {name}"))
        starts_ms = (await contest.tournament(coming)).spec.schedule.start_ms
        await asyncio.sleep((starts_ms - contest.server.clock.now_ms()) / 1_000 + 60)
    return await ids(contest.server)


def points(series: Series) -> dict[str, int]:
    return {row.player: row.points for row in series.rows}


async def of(server: InMemoryArbiter, tournament: str) -> Series:
    return await server.arbiter.series.of(tournament)


async def sums(server: InMemoryArbiter, *tournaments: str) -> dict[str, int]:
    """Return the sum of each player's points in the standings of some tournaments."""
    total: dict[str, int] = {}
    for name in tournaments:
        found = await server.arbiter.tournaments.get(name)
        for row in (await server.arbiter.tables.of(found)).rows:
            total[row.player] = total.get(row.player, 0) + row.points
    return total


@pytest.mark.long
@virtually
async def test_the_table_after_each_tournament_adds_up_those_before_it() -> None:
    contest = Contest(3)
    first, second, third, coming = await played(contest, hourly(), 3)
    server = contest.server
    for place, name in enumerate((first, second, third)):
        series = await of(server, name)
        counted = [first, second, third][: place + 1]
        assert [each.tournament_id for each in series.tournaments] == counted
        assert points(series) == await sums(server, *counted)
        assert sum(points(series).values()) == 6 * (place + 1)
    assert (await of(server, second)).next == third
    after = await of(server, coming)
    assert (points(after), after.next) == (await sums(server, first, second, third), "")
    await server.restart()
    assert points(await of(server, coming)) == points(after)


@virtually
async def test_the_last_tournaments_that_took_place_count() -> None:
    contest = Contest(3)
    spec = replace(hourly(), series=SeriesRules(last=2))
    first, second, third, coming = await played(contest, spec, 3)
    await asyncio.sleep(2 * HOUR_S)  # nobody enters the next two, which are cancelled
    newest = (await ids(contest.server))[-1]
    assert newest != coming
    assert [each.tournament_id for each in (await of(contest.server, newest)).tournaments] == [second, third]
    assert [each.tournament_id for each in (await of(contest.server, second)).tournaments] == [first, second]


@virtually
async def test_no_more_tournaments_are_looked_at_than_the_limit_says() -> None:
    contest = Contest(2, server=InMemoryArbiter(limits={"series_tournaments": 2}))
    first, second, coming = await played(contest, hourly(), 2)
    assert [each.tournament_id for each in (await of(contest.server, coming)).tournaments] == [second]
    assert [each.tournament_id for each in (await of(contest.server, second)).tournaments] == [first, second]


@virtually
async def test_a_ruling_changes_the_table() -> None:
    contest = Contest(2)
    first, second, coming = await played(contest, hourly(), 2)
    server = contest.server
    assert points(await of(server, coming)) == await sums(server, first, second)
    game = (await contest.tournament(first)).games[0]
    for seat, ruled in enumerate(((2, 0), (0, 2))):
        await contest.act(first, do.Rule("org", f"rule {seat}", game.number, Decision.POINTS, ruled))
        before = await sums(server, second)
        winner = (game.seat1, game.seat2)[seat]
        assert points(await of(server, coming))[winner] == before[winner] + 2


@virtually
async def test_another_server_hears_of_a_ruling() -> None:
    several = await servers(2)
    contest = Contest(2, server=several[0])
    first = await contest.start(hourly())
    await contest.ended(first)
    coming = (await ids(several[0]))[-1]
    assert points(await of(several[0], coming)) == points(await of(several[1], coming))
    game = (await contest.tournament(first)).games[0]
    for seat, ruled in enumerate(((2, 0), (0, 2))):
        command = do.Rule("org", f"rule {seat}", game.number, Decision.POINTS, ruled)
        await several[seat].arbiter.tournaments.act(first, command)
        await asyncio.sleep(1)
        for server in several:
            assert points(await of(server, coming))[(game.seat1, game.seat2)[seat]] == 2


@virtually
async def test_a_tournament_without_a_series_has_a_table_of_its_own() -> None:
    contest = Contest(3)
    only = await contest.start(spec_of(Format.ROUND_ROBIN))
    assert (await of(contest.server, only)).rows == []
    await contest.ended(only)
    series = await of(contest.server, only)
    assert (points(series), series.next) == (await sums(contest.server, only), "")


@virtually
async def test_a_series_of_somebody_else_is_not_gone_on_with() -> None:
    contest = Contest(2)
    first, _ = await played(contest, hourly(), 1)
    tournaments = contest.server.arbiter.tournaments
    other = await tournaments.create(hourly(), "mallory", f"next after {first}")
    assert (await of(contest.server, other.id)).tournaments == []


# One date is left out


async def left_out(server: InMemoryArbiter, tournament: str) -> Tournament:
    return await server.arbiter.tournaments.act(tournament, do.Cancel("org", "off", "holidays", True))


@virtually
async def test_one_date_is_left_out_and_the_series_goes_on() -> None:
    contest = Contest(0)
    first = await contest.open(hourly())
    before = await contest.tournament(first)
    for _ in range(2):  # the request may be repeated
        over = await left_out(contest.server, first)
        assert over.end is not None
        assert (over.end.end, over.end.note) == (End.CANCELLED, "holidays")
    second = await contest.tournament((await ids(contest.server))[-1])
    assert len(await ids(contest.server)) == 2
    assert second.phase is TournamentPhase.ENTRY
    assert second.spec.schedule.start_ms == before.spec.schedule.start_ms + 3_600_000
    await asyncio.sleep(4 * HOUR_S)
    assert len(await ids(contest.server)) > 3, "it goes on by itself"


@pytest.mark.parametrize("pause_s", [0.0, 0.0001, 0.001, 0.01])
@virtually
async def test_a_date_is_left_out_once_although_the_server_dies(pause_s: float) -> None:
    server = InMemoryArbiter()
    made = await server.arbiter.tournaments.create(hourly(), "org", "make")
    asked = asyncio.create_task(left_out(server, made.id))
    await asyncio.sleep(pause_s)
    await server.restart()
    asked.cancel()
    assert (await left_out(server, made.id)).phase is TournamentPhase.ENDED
    assert len(await ids(server)) == 2


@virtually
async def test_a_date_is_left_out_of_a_series_that_can_have_no_next_one_for_now() -> None:
    server = InMemoryArbiter(limits={"open_tournaments": 1})
    made = await server.arbiter.tournaments.create(hourly(), "org", "make")
    with refusing(Reason.RATE_LIMITED):
        await left_out(server, made.id)
    assert (await server.arbiter.tournaments.get(made.id)).phase is TournamentPhase.ENTRY, "nothing is lost"
