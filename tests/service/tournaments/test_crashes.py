"""Tournaments during which the server or its store fails: nothing is lost, and no game is played twice."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import combinations
from typing import Any

import pytest
from structlog.testing import capture_logs

from arbiter.errors import Refusal
from arbiter.service.ports.journal import Append, JournalConflict, RecordDamaged, StoredRecord, StoreFailed, Subject
from arbiter.service.record import tournament_log
from arbiter.testing.clock import VirtualClock, run, virtually
from arbiter.testing.faults import FaultyJournal
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.testing.memory import MemoryJournal
from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments.evolution import apply
from arbiter.tournaments.spec import Format, Spec
from arbiter.tournaments.standings import standings
from arbiter.tournaments.tournament import TournamentPhase
from tests.service.sharing.servers import servers
from tests.service.tournaments.contest import Contest, spec_of

pytestmark = pytest.mark.long

SPECS: tuple[tuple[Spec, int], ...] = (
    (spec_of(Format.ROUND_ROBIN, paired=True, at_once=2), 4),
    (spec_of(Format.GAUNTLET), 5),
    (spec_of(Format.ROUND_ROBIN, boards=2, scheveningen=True, cycles=2), 5),
    (spec_of(Format.SWISS, rounds=4), 7),
    (spec_of(Format.KNOCKOUT, double=True), 5),
    (spec_of(Format.ARENA, duration_ms=4_000), 5),
    (spec_of(Format.LADDER, duration_ms=4_000), 4),
    (spec_of(Format.TRIAL, paired=True), 2),
    (spec_of(Format.SWISS, boards=1, rounds=2), 7),
)


@pytest.mark.parametrize("crashes", [1, 6])
def test_a_tournament_goes_on_after_crashes_at_any_instant(seeds: int, crashes: int) -> None:
    for seed in range(max(len(SPECS), seeds // 2)):
        run(_crashed(seed, crashes))


async def _crashed(seed: int, crashes: int) -> None:
    lots = random.Random(seed)
    spec, players = SPECS[seed % len(SPECS)]
    contest = Contest(players, seed)
    tournament_id = await contest.start(spec)
    for _ in range(crashes):
        await asyncio.sleep(lots.choice((0, 0.0001, lots.uniform(0, 0.05), lots.uniform(0, 1))))
        await contest.crash()
    log = await contest.ended(tournament_id)
    timed = spec.format in (Format.ARENA, Format.LADDER)
    assert log.tournament.end is not None
    assert log.tournament.end.end is (ev.End.TIME if timed else ev.End.COMPLETE), f"seed {seed}"


def test_a_tournament_goes_on_whatever_its_store_does(seeds: int) -> None:
    for seed in range(max(len(SPECS), seeds // 2)):
        run(_troubled(seed))


async def _troubled(seed: int) -> None:
    lots = random.Random(seed)
    spec, players = SPECS[seed % len(SPECS)]
    contest = Contest(players, seed)
    tournament_id = await contest.start(spec)
    for _ in range(5):
        await asyncio.sleep(lots.uniform(0, 0.2))
        fault = lots.choice(("refuse", "lie", "mute", "hold"))
        setattr(contest.server.journal, fault, True)
        await asyncio.sleep(lots.choice((0.0001, lots.uniform(0, 0.1), 2)))
        setattr(contest.server.journal, fault, False)
        if fault == "hold":
            if lots.random() < 0.5:
                contest.server.journal.release()
            else:
                await contest.crash()
    log = await contest.ended(tournament_id)
    assert log.tournament.end is not None, f"seed {seed}"


@pytest.mark.parametrize("format_", [Format.ROUND_ROBIN, Format.KNOCKOUT])
def test_a_crash_after_each_single_append_loses_nothing(format_: Format) -> None:
    whole = run(_crashed_after(format_, None))
    assert whole > 15
    for appends in range(1, whole):
        run(_crashed_after(format_, appends))


def replace_append(journal: FaultyJournal, by: Callable[[Append], asyncio.Future[int]]) -> None:
    """Have a journal append in another way."""
    journal.append = by  # type: ignore[method-assign, assignment]


async def _crashed_after(format_: Format, most: int | None) -> int:
    """Play a tournament with a crash of the server after this many appends; return how many there were before it."""
    contest = Contest(3)
    tournament_id = await contest.open(spec_of(format_))
    journal = contest.server.journal
    append, appends = journal.append, 0

    def counted(what: Append) -> asyncio.Future[int]:
        nonlocal appends
        appends += 1
        journal.hold |= most is not None and appends > most
        return append(what)

    replace_append(journal, counted)
    await asyncio.wait([asyncio.create_task(contest.act(tournament_id, do.Start("org", "start")))], timeout=1)
    if most is not None:
        while not journal.hold:  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.001)
        await contest.crash()
        with suppress(Refusal):  # if it came so far
            await contest.act(tournament_id, do.Start("org", "start"))
    await contest.ended(tournament_id)
    return appends


@virtually
async def test_a_game_whose_match_has_a_damaged_record_is_played_again(monkeypatch: pytest.MonkeyPatch) -> None:
    contest = Contest(4)
    tournament_id = await contest.start(spec_of(Format.ROUND_ROBIN, at_once=2))
    while not (under_way := (await contest.tournament(tournament_id)).running):  # noqa: ASYNC110 - there is no event to wait for
        await asyncio.sleep(0.001)
    game, damaged = next((number, running.match) for number, running in under_way.items())
    read, read_many = MemoryJournal.read, MemoryJournal.read_many

    async def found(journal: MemoryJournal, match_id: str, *which: Any, **more: Any) -> list[StoredRecord]:
        if match_id == damaged:
            raise RecordDamaged(match_id, 1, "its seal does not hold")
        return await read(journal, match_id, *which, **more)

    async def found_many(journal: MemoryJournal, match_ids: Sequence[str]) -> list[StoredRecord]:
        return await read_many(journal, [match_id for match_id in match_ids if match_id != damaged])

    monkeypatch.setattr(MemoryJournal, "read", found)
    monkeypatch.setattr(MemoryJournal, "read_many", found_many)
    await contest.crash()
    async with asyncio.timeout(4_000):
        while (await contest.tournament(tournament_id)).phase is not TournamentPhase.ENDED:  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(1)
    records = await contest.server.journal.read(tournament_id, subject=Subject.TOURNAMENT)
    log = tournament_log.load(tournament_id, records)
    (voided,) = [event for event in log.events if isinstance(event, ev.Voided) and event.match == damaged]
    assert (voided.game, voided.reason) == (game, "record damaged")
    assert log.tournament.results[game].match not in ("", damaged)
    assert len(log.tournament.results) == 6


@virtually
async def test_a_delayed_log_of_the_tournament_loses_no_event_of_its_matches() -> None:
    contest = Contest(6)
    tournament_id = await contest.start(spec_of(Format.ROUND_ROBIN, at_once=2))
    journal = contest.server.journal
    append = journal.append

    async def late(what: Append) -> int:
        await asyncio.sleep(3)
        return await append(what)

    replace_append(journal, lambda what: asyncio.ensure_future(late(what)) if what.tournament else append(what))
    log = await contest.ended(tournament_id)
    assert len(log.tournament.results) == 15


@pytest.mark.parametrize("end", ["time", "cancelled", "decided"])
def test_a_game_that_ends_with_its_tournament_keeps_its_result(seeds: int, end: str) -> None:
    for seed in range(max(2, seeds // 10)):
        run(ended_together(end, seed))


async def ended_together(end: str, seed: int) -> None:
    """Play a tournament in which ends of matches are stored late.

    It receives some of them when it is about to end, or has no time left.
    """
    lots = random.Random(seed)
    contest = Contest(2 if end == "decided" else 6, seed)
    trial = spec_of(Format.TRIAL, paired=True, at_once=8, elo0=0, elo1=400, most_meetings=500)
    tournament_id = await contest.start(trial if end == "decided" else spec_of(Format.LADDER, duration_ms=6_000))
    journal = contest.server.journal
    append = journal.append

    async def late(what: Append) -> int:
        await asyncio.sleep(0.05)
        return await append(what)

    replace_append(journal, lambda what: append(what) if what.tournament else asyncio.ensure_future(late(what)))
    if end == "cancelled":
        await asyncio.sleep(lots.uniform(0.5, 1))
        await contest.act(tournament_id, do.Cancel("org", "cancel"))
    log = await contest.ended(tournament_id)
    assert log.tournament.results


async def first_match(contest: Contest) -> str:
    """Start a round robin, and wait until a match of it is live; return the tournament's id."""
    tournament_id = await contest.open(spec_of(Format.ROUND_ROBIN))
    await contest.act(tournament_id, do.Start("org", "start"))
    matches = contest.server.arbiter.matches
    while not len(matches.live):  # noqa: ASYNC110 - there is no event to wait for
        await asyncio.sleep(0)
    return tournament_id


@virtually
async def test_matches_whose_game_is_decided_are_ended_after_a_crash() -> None:
    """The crash comes when the tournament has recorded a walkover, and the match left over goes on."""
    contest = Contest(4)
    tournament_id = await first_match(contest)
    journal = contest.server.journal
    append = journal.append
    never: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    replace_append(journal, lambda what: append(what) if what.tournament else never)
    await contest.act(tournament_id, do.Withdraw("p000", "org", "end"))
    await contest.crash()
    await contest.ended(tournament_id)


@virtually
async def test_a_match_created_before_the_crash_is_used_for_its_game_after_it() -> None:
    """The crash comes between the creation of a match and its event in the tournament's log."""
    contest = Contest(2)
    tournament_id = await first_match(contest)
    [made] = contest.server.arbiter.matches.live
    assert not (await contest.tournament(tournament_id)).attempts
    await contest.crash()
    log = await contest.ended(tournament_id)
    assert [event.match for event in log.events if isinstance(event, ev.Begun)] == [made.newest.id]


@virtually
async def test_a_request_that_was_stored_but_reported_as_failed_is_answered_when_repeated() -> None:
    contest = Contest(2)
    journal = contest.server.journal
    tournaments = contest.server.arbiter.tournaments
    journal.lie = True
    with pytest.raises(StoreFailed):
        await tournaments.create(spec_of(Format.ROUND_ROBIN), "org", "make")
    journal.lie = False
    made = await tournaments.create(spec_of(Format.ROUND_ROBIN), "org", "make")
    journal.lie = True
    with pytest.raises(StoreFailed):
        await contest.act(made.id, do.Enter("p000", "org", "enter"))
    journal.lie = False
    entered = await contest.act(made.id, do.Enter("p000", "org", "enter"))
    assert list(entered.entrants) == ["p000"]
    assert entered.revision == 2


@virtually
async def test_an_event_is_shown_once_it_is_durable() -> None:
    contest = Contest(2)
    tournament_id = await contest.open(spec_of(Format.ROUND_ROBIN))
    contest.server.journal.hold = True
    starting = asyncio.create_task(contest.act(tournament_id, do.Start("org", "start")))
    await asyncio.sleep(5)
    assert not starting.done()
    assert (await contest.tournament(tournament_id)).phase is TournamentPhase.ENTRY
    contest.server.journal.release()
    assert (await starting).phase is TournamentPhase.RUNNING


@virtually
async def test_events_of_another_server_are_read() -> None:
    contest = Contest(2)
    tournament_id = await contest.open(spec_of(Format.ROUND_ROBIN))
    journal = contest.server.journal
    _, elsewhere, chain = tournament_log.load(
        tournament_id, await journal.read(tournament_id, subject=Subject.TOURNAMENT)
    )
    foreign = ev.Withdrawn(elsewhere.at, "p001", "org", "elsewhere")
    apply(elsewhere, foreign)
    await journal.append(Append(chain.seal([foreign]), tournament=tournament_log.summary_of(elsewhere)))
    with capture_logs() as logs:
        assert (await contest.act(tournament_id, do.Enter("late", "org", "late"))).players == ["p000", "late"]
    assert [entry for entry in logs if entry["log_level"] in ("warning", "error")] == []


@virtually
async def test_a_conflict_in_the_log_without_another_writer_is_an_error() -> None:
    contest = Contest(2)
    tournament_id = await contest.open(spec_of(Format.ROUND_ROBIN))
    append = contest.server.journal.append

    def refuse(_append: Append) -> asyncio.Future[int]:
        refused: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        refused.set_exception(JournalConflict("a record is missing"))
        replace_append(contest.server.journal, append)
        return refused

    replace_append(contest.server.journal, refuse)
    with pytest.raises(StoreFailed, match="although it has none of them"):
        await contest.act(tournament_id, do.Enter("late", "org", "late"))
    assert (await contest.act(tournament_id, do.Enter("late", "org", "late"))).players == ["p000", "p001", "late"]


@pytest.mark.parametrize("one_dies", [False, True])
@pytest.mark.parametrize(("spec", "players"), SPECS, ids=[spec.format.value for spec, _ in SPECS])
def test_servers_that_share_a_store_drive_a_tournament(spec: Spec, players: int, one_dies: bool) -> None:
    run(_driven_by_three(spec, players, one_dies))


async def _driven_by_three(spec: Spec, players: int, one_dies: bool) -> None:
    """Play a tournament of bots on three servers, one of which may die meanwhile: all others show what the log says."""
    contest = Contest(players, servers=await servers(3))
    with capture_logs() as logs:
        tournament_id = await contest.start(spec)
        if one_dies:
            await asyncio.sleep(0.5)
            await contest.lose(contest.server)
        log = await contest.ended(tournament_id)
    assert [entry for entry in logs if entry["log_level"] == "error"] == []
    assert log.tournament.end is not None
    timed = spec.format in (Format.ARENA, Format.LADDER)
    assert log.tournament.end.end is (ev.End.TIME if timed else ev.End.COMPLETE)
    if timed:  # whichever server a bot is at, it meets all others
        assert log.tournament.met.keys() >= set(map(frozenset, combinations(contest.names, 2)))
    for server in contest.servers:
        shown = await server.arbiter.tournaments.get(tournament_id)
        assert (shown.revision, standings(shown)) == (log.tournament.revision, standings(log.tournament))
        assert await server.stuck_matches() == []
        await server.die()


@virtually
async def test_a_server_that_loses_a_race_reads_only_the_events_that_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    read, records_read = MemoryJournal.read, 0

    async def counted(journal: MemoryJournal, *which: Any, **more: Any) -> list[StoredRecord]:
        nonlocal records_read
        records = await read(journal, *which, **more)
        records_read += sum(record.subject is Subject.TOURNAMENT for record in records)
        return records

    monkeypatch.setattr(MemoryJournal, "read", counted)
    made = await servers(3)
    contest = Contest(4, servers=made)
    with capture_logs() as logs:
        log = await contest.ended(await contest.start(spec_of(Format.ARENA, duration_ms=2_000)))
    lost_races = sum(entry["event"] == "tournament_caught_up" for entry in logs)
    assert lost_races > 100
    assert len(log.events) < records_read < (len(made) + 2) * len(log.events)
    for server in made:
        await server.die()


class HurriedClock(VirtualClock):
    """A clock that goes on by a millisecond whenever somebody looks at it: no two decisions are made at one instant."""

    def __init__(self) -> None:
        super().__init__()
        self._looks = 0

    def now_ms(self) -> int:
        self._looks += 1
        return super().now_ms() + self._looks


@pytest.mark.parametrize("seed", range(8, 11))  # at 9, the time is over between two looks at it
@virtually
async def test_a_tournament_whose_time_is_over_while_it_decides_ends_after_its_games(seed: int) -> None:
    contest = Contest(6, seed, InMemoryArbiter(clock=HurriedClock()))
    log = await contest.ended(await contest.start(spec_of(Format.ARENA, duration_ms=3_000)))
    assert not log.tournament.running


@virtually
async def test_two_servers_that_drive_a_tournament_write_one_log() -> None:
    """Both create every match; if the other one has created a match first, this is no error."""
    contest = Contest(4)
    tournament_id = await contest.open(spec_of(Format.ROUND_ROBIN))
    other = contest.server.beside()
    with capture_logs() as logs:
        await other.arbiter.tournaments.get(tournament_id)  # this server runs it from here on
        await contest.act(tournament_id, do.Start("org", "start"))
        await contest.ended(tournament_id)
        with pytest.raises(Refusal):
            await other.arbiter.tournaments.act(tournament_id, do.Enter("late", "org", "late"))
    assert (await other.arbiter.tournaments.get(tournament_id)).phase is TournamentPhase.ENDED
    assert [entry for entry in logs if entry["log_level"] == "error"] == []
    await other.arbiter.tournaments.stop()
