"""Standings for many simultaneous requests: never older than the request, and computed once."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from dataclasses import replace

import pytest
import structlog

from arbiter.service.tournaments import standings_cache as tournament_tables
from arbiter.service.tournaments.standings_cache import StandingsCache
from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments.formats import Rating
from arbiter.tournaments.spec import Format, Spec
from arbiter.tournaments.standings import Table, standings
from arbiter.tournaments.tournament import Tournament


@pytest.fixture
def tournament_run() -> TournamentRun:
    return TournamentRun(Spec("cup", Format.ROUND_ROBIN, ("pods",), "1s"), 6, random.Random(1))


@pytest.fixture
def worked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which the revisions of computed standings are added."""
    revisions: list[int] = []

    def counted(tournament: Tournament, ratings: Mapping[str, Rating]) -> Table:
        revisions.append(tournament.revision)
        return standings(tournament, ratings)

    monkeypatch.setattr(tournament_tables, "standings", counted)
    return revisions


async def test_all_requests_between_two_events_share_one_table(
    tournament_run: TournamentRun, worked: list[int]
) -> None:
    tables = StandingsCache(structlog.get_logger())
    first, *others = await asyncio.gather(*(tables.of(tournament_run.tournament) for _ in range(5)))
    assert all(other is first for other in others)
    assert await tables.of(tournament_run.tournament) is first
    assert first == standings(tournament_run.tournament)
    assert worked == [tournament_run.tournament.revision]


async def test_a_later_request_gets_the_events_since(tournament_run: TournamentRun, worked: list[int]) -> None:
    tables = StandingsCache(structlog.get_logger())
    early = asyncio.create_task(tables.of(tournament_run.tournament))
    while not worked:  # noqa: ASYNC110 - the thread is at work by then, and no time is waited for
        await asyncio.sleep(0)
    tournament_run.step()
    late = await tables.of(tournament_run.tournament)
    assert (await early).revision < late.revision == tournament_run.tournament.revision
    assert late == standings(tournament_run.tournament)


async def test_a_cancelled_request_does_not_affect_the_others(tournament_run: TournamentRun) -> None:
    tables = StandingsCache(structlog.get_logger())
    leaving, staying = (asyncio.create_task(tables.of(tournament_run.tournament)) for _ in range(2))
    await asyncio.sleep(0)
    leaving.cancel()
    assert await staying == standings(tournament_run.tournament)


async def test_only_the_last_tables_are_kept(worked: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tournament_tables, "KEPT", 2)
    tables = StandingsCache(structlog.get_logger())
    several = []
    for number in range(3):
        tournament_run = TournamentRun(Spec("cup", Format.ROUND_ROBIN, ("pods",), "1s"), 2, random.Random(1))
        tournament_run.tournament.created = replace(tournament_run.tournament.created, tournament=f"t{number}")
        several.append(tournament_run.tournament)
        await tables.of(tournament_run.tournament)
    await tables.of(several[2])
    assert len(worked) == 3
    await tables.of(several[0])
    assert len(worked) == 4
