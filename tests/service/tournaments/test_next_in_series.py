"""A series: each tournament makes the next one before it starts, exactly one, whatever dies in between."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.service.ports.journal import TournamentFilter
from arbiter.service.tournaments.rhythm import check_rhythm, following, next_start
from arbiter.service.tournaments.specification import as_before, filled_in
from arbiter.service.tournaments.tournament_ports import InProcessPairing
from arbiter.testing.clock import virtually
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments.schedule import Schedule, TooFew
from arbiter.tournaments.spec import Format, Openings, Spec
from arbiter.tournaments.tournament import Tournament, TournamentPhase
from arbiter.workers.book_files import BookFiles
from tests.service.sharing.servers import servers
from tests.service.tournaments.contest import Contest, spec_of

HOUR_S = 3_600
HOUR_MS = 3_600_000
FIVE_MINUTES_MS = 300_000
HOURLY = Schedule(every="0 * * * * UTC", too_few=TooFew.CANCEL)


def starts(every: str, after: str, count: int) -> list[str]:
    """Return the next starts of a series in UTC: `03-28 01:00`."""
    found, at = [], ms(after)
    for _ in range(count):
        at = next_start(every, at)
        found.append(f"{datetime.fromtimestamp(at / 1000, UTC):%m-%d %H:%M}")
    return found


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000


@pytest.mark.parametrize(
    ("every", "after", "expected"),
    [
        # The clock goes back on 25 October 2026, and the cup stays at 18:00 on the wall.
        ("friday 18:00 Europe/Berlin", "2026-10-20", ["10-23 16:00", "10-30 17:00"]),
        ("Friday 18:00 Europe/Berlin", "2026-10-20", ["10-23 16:00", "10-30 17:00"]),
        ("0 18 * * fri Europe/Berlin", "2026-10-20", ["10-23 16:00", "10-30 17:00"]),
        # On 28 March 2027 there is no 02:30 in Berlin: it starts at 03:00, when the clock has just been put forward.
        ("daily 02:30 Europe/Berlin", "2027-03-26T12:00", ["03-27 01:30", "03-28 01:00", "03-29 00:30"]),
        # On 25 October 2026 there are two: it starts at the first one alone.
        ("daily 02:30 Europe/Berlin", "2026-10-23T12:00", ["10-24 00:30", "10-25 00:30", "10-26 01:30"]),
        ("0 18 1 * * UTC", "2026-12-15", ["01-01 18:00", "02-01 18:00"]),
    ],
)
def test_the_clock_on_the_wall_counts(every: str, after: str, expected: list[str]) -> None:
    check_rhythm(every)
    assert starts(every, after, len(expected)) == expected


@pytest.mark.parametrize(
    "every",
    [
        *("friday", "friday 18:00", "friday 25:00 UTC", "someday 18:00 UTC", "friday 18:00 Mars/Base", "x" * 90),
        *("friday 18:00 ../../etc", "0 18 * * fri Europe", "0 18 * * /etc/passwd", "61 * * * * UTC", "* * * * * UTC"),
        *("0,4 * * * * UTC", "0 18 31 2 * UTC", "friday  18:00 UTC"),
    ],
)
def test_another_text_is_refused(every: str) -> None:
    with pytest.raises(Refusal) as caught:
        check_rhythm(every)
    assert (caught.value.reason, caught.value.facts["where"]) == (Reason.PARAMETER_INVALID, "schedule.every")


def test_the_end_of_entry_moves_with_the_start() -> None:
    spec = spec_of(Format.SWISS, schedule=replace(HOURLY, start_ms=ms("2027-01-01"), entry_closes_ms=ms("2026-12-31")))
    later = following(spec, ms("2026-12-31")).schedule
    assert (later.start_ms, later.entry_closes_ms) == (ms("2027-01-01T01:00"), ms("2026-12-31T01:00"))


async def test_the_next_one_takes_the_book_as_it_is_then(tmp_path: Path) -> None:
    book, pairing = tmp_path / "book.txt", InProcessPairing(BookFiles(tmp_path))
    book.write_text("pods a1\n")
    asked = hourly(start_ms=ms("2027-01-01"))
    asked = replace(asked, games=("pods",), openings=Openings(book="book.txt"))
    first = await filled_in(asked, pairing, ms("2026-12-31"))
    book.write_text("pods a1\npods a2\n")
    second = await filled_in(following(first, ms("2026-12-31")), pairing, ms("2026-12-31"))
    assert [spec.openings.book_size for spec in (first, second)] == [1, 2]
    assert first.openings.book_hash != second.openings.book_hash
    assert as_before(following(first, ms("2026-12-31")), second) == second, "the same request again makes no other"


async def series(server: InMemoryArbiter) -> list[Tournament]:
    """Return all tournaments of a server in the order of their starts."""
    tournaments = server.arbiter.tournaments
    rows = await tournaments.summaries(TournamentFilter(), 0, 1_000)
    found = [await tournaments.get(row.tournament_id) for row in rows]
    return sorted(found, key=lambda each: each.spec.schedule.start_ms)


def hourly(**changes: object) -> Spec:
    return spec_of(Format.ROUND_ROBIN, schedule=replace(HOURLY, **changes))  # type: ignore[arg-type]


def check(found: list[Tournament], skipped: bool = False, step_ms: int = HOUR_MS) -> None:
    """Assert that all but the last tournament are over, and that there is one for each hour, or other step."""
    steps = [each.spec.schedule.start_ms // step_ms for each in found]
    assert len(set(steps)) == len(steps)
    assert skipped or steps == list(range(steps[0], steps[0] + len(steps)))
    assert [each.phase for each in found] == [TournamentPhase.ENDED] * (len(found) - 1) + [TournamentPhase.ENTRY]


@virtually
async def test_each_tournament_starts_by_itself_and_the_next_one_is_there() -> None:
    contest = Contest(2)
    first = await contest.open(hourly())
    made = await contest.tournament(first)
    again = await contest.server.arbiter.tournaments.create(hourly(), "org", f"make {hourly().name}")
    assert again.id == first, "a repeated request has the same answer, although it names no start"
    assert made.spec.schedule.start_ms % HOUR_MS == 0
    await asyncio.sleep(5 * HOUR_S + 60)
    assert (await contest.server.arbiter.tournaments.create(hourly(), "org", f"make {hourly().name}")).id == first
    found = await series(contest.server)
    assert len(found) == 6
    check(found)
    assert found[0].end is not None
    assert found[0].end.end is ev.End.COMPLETE
    assert found[0].started_at == made.spec.schedule.start_ms
    assert {each.end.end for each in found[1:5] if each.end} == {ev.End.CANCELLED}, "nobody has entered these"
    assert {each.created.creator for each in found} == {"org"}


@virtually
async def test_who_cancels_one_that_has_not_started_ends_the_series() -> None:
    contest = Contest(0)
    await contest.open(hourly())
    await asyncio.sleep(2 * HOUR_S + 60)
    found = await series(contest.server)
    await contest.act(found[-1].id, do.Cancel("org", "off", "holidays"))
    await asyncio.sleep(5 * HOUR_S + 60)
    assert len(await series(contest.server)) == len(found) == 3


@pytest.mark.long
@virtually
async def test_one_that_is_started_by_hand_has_a_next_one_too() -> None:
    contest = Contest(2)
    first = await contest.start(hourly())
    await contest.ended(first)
    found = await series(contest.server)
    assert len(found) == 2
    check(found)


@virtually
async def test_times_that_pass_while_the_server_is_down_are_left_out() -> None:
    server = InMemoryArbiter()
    await server.arbiter.tournaments.create(hourly(), "org", "make")
    await asyncio.sleep(HOUR_S + 60)
    await server.die()
    await asyncio.sleep(5 * HOUR_S + 60)
    await server.restart()
    await asyncio.sleep(10)
    found = await series(server)
    assert len(found) == 3
    check(found, skipped=True)
    await asyncio.sleep(HOUR_S + 60)
    check(await series(server), skipped=True)


@pytest.mark.parametrize("seed", range(6))
@virtually
async def test_a_server_that_dies_around_the_start_leaves_exactly_one_next_tournament(seed: int) -> None:
    lots, server = random.Random(seed), InMemoryArbiter()
    made = await server.arbiter.tournaments.create(hourly(), "org", "make")
    for hour in range(6):
        due_ms = made.spec.schedule.start_ms + hour * HOUR_MS
        left_s = (due_ms - server.clock.now_ms()) / 1_000
        await asyncio.sleep(max(0.0, left_s + lots.choice((0.0, 0.0001, 0.01, -0.01, lots.uniform(-1, 1)))))
        await server.restart()
    await asyncio.sleep(60)
    found = await series(server)
    check(found)
    assert len(found) == 7


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(each, marks=pytest.mark.soak) for each in (2, 3))])
@virtually
async def test_several_servers_make_one_next_tournament(seed: int) -> None:
    lots = random.Random(seed)
    several = await servers(3)
    # The shortest step: an hour of three servers, which hear from each other all the time, takes seconds to simulate.
    made = await several[0].arbiter.tournaments.create(hourly(every="*/5 * * * * UTC"), "org", "make")
    for step in range(3):
        due_ms = made.spec.schedule.start_ms + step * FIVE_MINUTES_MS
        left_s = (due_ms - several[0].clock.now_ms()) / 1_000
        await asyncio.sleep(left_s + lots.choice((0.0, 0.001, lots.uniform(-0.1, 0.1))))
        if step < 2:
            await several.pop().die()
    await asyncio.sleep(60)
    found = await series(several[0])
    check(found, step_ms=FIVE_MINUTES_MS)
    assert len(found) == 4
