"""Standings for many who ask at once: of the moment of asking or later, and worked out once."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from dataclasses import replace

import pytest
import structlog

from arbiter.service.tournaments import standings_cache as tournament_tables
from arbiter.service.tournaments.standings_cache import StandingsCache
from arbiter.testing.tournaments import TournamentRun
from arbiter.tournaments.formats import Rating
from arbiter.tournaments.spec import Format, Spec
from arbiter.tournaments.standings import Table, standings
from arbiter.tournaments.tournament import Tournament


@pytest.fixture
def grounds() -> TournamentRun:
    return TournamentRun(Spec("cup", Format.ROUND_ROBIN, ("pods",), "1s"), 6, random.Random(1))


@pytest.fixture
def worked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the revisions whose standings are worked out, as it happens."""
    revisions: list[int] = []

    def counted(tournament: Tournament, ratings: Mapping[str, Rating]) -> Table:
        revisions.append(tournament.revision)
        return standings(tournament, ratings)

    monkeypatch.setattr(tournament_tables, "standings", counted)
    return revisions


async def test_all_who_ask_between_two_events_share_one_table(grounds: TournamentRun, worked: list[int]) -> None:
    tables = StandingsCache(structlog.get_logger())
    first, *others = await asyncio.gather(*(tables.of(grounds.tournament) for _ in range(5)))
    assert all(other is first for other in others)
    assert await tables.of(grounds.tournament) is first
    assert first == standings(grounds.tournament)
    assert worked == [grounds.tournament.revision]


async def test_who_asks_later_gets_what_has_happened_since(grounds: TournamentRun, worked: list[int]) -> None:
    tables = StandingsCache(structlog.get_logger())
    early = asyncio.create_task(tables.of(grounds.tournament))
    while not worked:  # noqa: ASYNC110 - the thread is at work by then, and no time is waited for
        await asyncio.sleep(0)
    grounds.step()
    late = await tables.of(grounds.tournament)
    assert (await early).revision < late.revision == grounds.tournament.revision
    assert late == standings(grounds.tournament)


async def test_who_no_longer_waits_takes_nothing_from_the_others(grounds: TournamentRun) -> None:
    tables = StandingsCache(structlog.get_logger())
    leaving, staying = (asyncio.create_task(tables.of(grounds.tournament)) for _ in range(2))
    await asyncio.sleep(0)
    leaving.cancel()
    assert await staying == standings(grounds.tournament)


async def test_only_the_last_tables_are_kept(worked: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tournament_tables, "KEPT", 2)
    tables = StandingsCache(structlog.get_logger())
    several = []
    for number in range(3):
        grounds = TournamentRun(Spec("cup", Format.ROUND_ROBIN, ("pods",), "1s"), 2, random.Random(1))
        grounds.tournament.created = replace(grounds.tournament.created, tournament=f"t{number}")
        several.append(grounds.tournament)
        await tables.of(grounds.tournament)
    await tables.of(several[2])
    assert len(worked) == 3
    await tables.of(several[0])
    assert len(worked) == 4
