"""Tournaments in the journal: their records, and the list that is derived from them, on every journal."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import pytest
from sqlalchemy import text

from arbiter.bootstrap.store import Store, check_store, open_store, rebuild_store
from arbiter.errors import OperatorError
from arbiter.service.ports.journal import Append, JournalConflict, Record, Subject, TournamentFilter, TournamentSummary
from arbiter.service.record import tournament_log
from arbiter.service.record.tournament_log import Chain
from arbiter.store.database import opened
from arbiter.testing.random_tournaments import TournamentRun
from arbiter.tournaments.evolution import apply
from arbiter.tournaments.spec import Format, Spec
from arbiter.tournaments.tournament import Tournament, TournamentPhase

ROW = TournamentSummary("t1", "cup", "swiss", "entry", "org", "r1", 5)


def row(tournament_id: str, **changes: object) -> TournamentSummary:
    return replace(ROW, tournament_id=tournament_id, request_id=tournament_id, **changes)  # type: ignore[arg-type]


def append(there: TournamentSummary, first: int, count: int = 1) -> Append:
    body = there.tournament_id.encode()
    records = tuple(Record(there.tournament_id, first + n, body, Subject.TOURNAMENT) for n in range(count))
    return Append(records, tournament=there)


async def test_the_row_is_updated_with_the_records(store: Store) -> None:
    journal = store.journal
    first = await journal.append(append(row("t1"), 1, 2))
    assert await journal.tournament_summary("t1") == row("t1", sequence=first - 1)
    assert await journal.tournament_summary("t2") is None
    await journal.append(append(row("t1", phase="running", started_ms=7), 3))
    assert await journal.tournament_summary("t1") == row("t1", phase="running", started_ms=7, sequence=first - 1)
    assert await journal.unfinished_tournaments() == ["t1"]
    assert await journal.unfinished() == []
    last = await journal.append(append(row("t1", phase="ended", started_ms=7, ended_ms=9), 4, 2))
    ended = row("t1", phase="ended", started_ms=7, ended_ms=9, sequence=first - 1, ended_sequence=last)
    assert await journal.tournament_summary("t1") == ended
    assert await journal.unfinished_tournaments() == []
    assert [record.revision for record in await journal.read("t1", subject=Subject.TOURNAMENT)] == [1, 2, 3, 4, 5]


async def test_a_conflict_changes_no_row(store: Store) -> None:
    await store.journal.append(append(row("t1"), 1))
    with pytest.raises(JournalConflict):
        await store.journal.append(append(row("t1", phase="running"), 1))
    with pytest.raises(JournalConflict):
        await store.journal.append(append(row("t1", phase="running"), 3))
    found = await store.journal.tournament_summary("t1")
    assert found is not None
    assert found.phase == "entry"


async def test_a_request_makes_one_tournament(store: Store) -> None:
    asked = [store.journal.append(append(replace(ROW, tournament_id=name), 1)) for name in ("t1", "t2")]
    first, second = await asyncio.gather(*asked, return_exceptions=True)
    assert isinstance(first, int)
    assert isinstance(second, JournalConflict)
    found = await store.journal.tournament_of_request("org", "r1")
    assert found is not None
    assert found.tournament_id == "t1"
    assert await store.journal.tournament_of_request("another", "r1") is None
    assert await store.journal.read("t2", subject=Subject.TOURNAMENT) == []


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        (TournamentFilter(), ["t3", "t2", "t1"]),
        (TournamentFilter(format="arena"), ["t2"]),
        (TournamentFilter(creator="other"), ["t3"]),
        (TournamentFilter(ended=True), ["t1"]),
        (TournamentFilter(ended=False), ["t3", "t2"]),
        (TournamentFilter(format="swiss", ended=False), ["t3"]),
    ],
)
async def test_lists_are_filtered_and_paged(store: Store, which: TournamentFilter, expected: list[str]) -> None:
    journal = store.journal
    for there in (row("t1", ended_ms=8), row("t2", format="arena"), row("t3", creator="other")):
        await journal.append(append(there, 1))
    assert [found.tournament_id for found in await journal.tournaments(which, 0, 10)] == expected
    paged: list[str] = []
    before = 0
    while page := await journal.tournaments(which, before, 1):
        paged.append(page[0].tournament_id)
        before = page[0].sequence
    assert paged == expected


def played(number: int, format_: Format, steps: int) -> tuple[Tournament, list[Append]]:
    """Return a tournament and the appends that store it, one for each of its events."""
    spec = Spec(f"cup {number}", format_, ("circle-of-life",), "1s")
    tournament_run = TournamentRun(spec, 4, random.Random(number))
    for _ in range(steps):
        tournament_run.step()
    # Its row at each event follows from the log until then.
    created = replace(tournament_run.log[0], tournament=f"t{number}", request=f"r{number}")  # type: ignore[arg-type]
    chain, appends = Chain(f"t{number}"), []
    tournament: Tournament | None = None
    for event in [created, *tournament_run.log[1:]]:
        if tournament is None:
            tournament = Tournament(created)  # type: ignore[arg-type]
        else:
            apply(tournament, event)
        appends.append(Append(chain.seal([event]), tournament=tournament_log.summary_of(tournament)))
    assert tournament is not None
    return tournament, appends


async def filled(url: str) -> list[Tournament]:
    """Fill a store with two tournaments, one of them running."""
    async with open_store(url) as store:
        tournaments = []
        for number, (format_, steps) in enumerate([(Format.ROUND_ROBIN, 500), (Format.KNOCKOUT, 3)], start=1):
            tournament, appends = played(number, format_, steps)
            await asyncio.gather(*(store.journal.append(each) for each in appends))
            tournaments.append(tournament)
    assert [tournament.phase for tournament in tournaments] == [TournamentPhase.ENDED, TournamentPhase.RUNNING]
    return tournaments


HARM = {
    "an empty list": "DELETE FROM tournament",
    "a wrong phase": "UPDATE tournament SET phase = 'paused' WHERE tournament_id = 't2'",
    "all at an end": "UPDATE tournament SET ended_sequence = 1",
    "another name": "UPDATE tournament SET name = 'plate' WHERE tournament_id = 't1'",
    "no record": "INSERT INTO tournament VALUES ('t9', 'n', 'swiss', 'entry', 'o', 'r', 1, 0, 0, 1, 0)",
}


@pytest.mark.long
@pytest.mark.parametrize("harm", HARM)
async def test_damage_of_the_list_is_found_and_repaired(url: str, harm: str) -> None:
    await filled(url)
    sound = check_store(url, lambda done, of: None)
    assert (sound.matches, sound.tournaments, sound.faults) == (0, 2, ())
    async with open_store(url) as store:
        before = await store.journal.tournaments(TournamentFilter(), 0, 10)
    with opened(url) as engine, engine.begin() as connection:
        connection.execute(text(HARM[harm]))
    assert any("tournament t" in fault for fault in check_store(url, lambda done, of: None).faults)
    assert rebuild_store(url, lambda done, of: None).tournaments == 2
    assert check_store(url, lambda done, of: None).faults == ()
    async with open_store(url) as store:
        assert await store.journal.tournaments(TournamentFilter(), 0, 10) == before


@pytest.mark.long
@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE event SET body = :body WHERE match_id = 't1' AND revision = 4",
        "DELETE FROM event WHERE match_id = 't1' AND revision = 4",
        "UPDATE event SET match_id = 't7' WHERE match_id = 't1'",
        "UPDATE event SET revision = revision + 100 WHERE match_id = 't1'",
    ],
)
async def test_a_damaged_record_is_named(url: str, harm: str) -> None:
    await filled(url)
    with opened(url) as engine, engine.begin() as connection:
        connection.execute(text(harm), {"body": b'{"kind":"paused","at":1}'} if ":body" in harm else {})
    assert any("the record of tournament t" in fault for fault in check_store(url, lambda done, of: None).faults)
    with pytest.raises(OperatorError, match="nothing was rebuilt: the record of tournament"):
        rebuild_store(url, lambda done, of: None)


async def test_a_tournament_is_read_back_as_it_was(url: str) -> None:
    tournaments = await filled(url)
    async with open_store(url) as store:
        for tournament in tournaments:
            _, found, chain = tournament_log.load(
                tournament.id, await store.journal.read(tournament.id, subject=Subject.TOURNAMENT)
            )
            assert (found.results, found.running, found.revision) == (
                tournament.results,
                tournament.running,
                tournament.revision,
            )
            assert chain.revision == found.revision
