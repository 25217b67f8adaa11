"""Snapshots of tournaments: a state and the rest of the log are the whole log; what does not fit is not used."""

from __future__ import annotations

import asyncio
import os
import pickle
import random
import zlib
from collections.abc import Sequence
from typing import Any

import pytest
from structlog.testing import capture_logs

from arbiter.bootstrap.store import Store
from arbiter.service.ports.journal import Append, StoredRecord, Subject
from arbiter.service.ports.snapshots import Snapshot
from arbiter.service.record.snapshots import difference, go_on_from, snapshot_and_rest, take_snapshot
from arbiter.service.record.tournament_log import Chain, OldGamesNeeded, summary_of
from arbiter.service.tournaments import live_log
from arbiter.testing.clock import virtually
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.testing.memory import MemoryDirectory, MemoryJournal, MemorySnapshots
from arbiter.testing.random_tournaments import TournamentRun, drawn
from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments.corrections import Award, Disqualify, Reinstate, Replay, Results
from arbiter.tournaments.evolution import apply, replay
from arbiter.tournaments.folding import fold, old_games
from arbiter.tournaments.spec import Format, Options, Spec
from arbiter.tournaments.standings import standings
from arbiter.tournaments.tournament import TournamentPhase
from tests.service.tournaments.contest import Contest, spec_of
from tests.service.tournaments.test_old_games import check_end, old
from tests.service.tournaments.test_old_games import few as few

EVERY = 20
PORTION = 7


def corrected(seed: int, format_: Format = Format.LADDER) -> list[ev.Event]:
    """Return the log of a random tournament with rulings and corrections in between."""
    lots = random.Random(seed)
    spec, players = Spec("a ladder", Format.LADDER, ("hop-it",), "1s", options=Options(validation=seed % 4 == 0)), 5
    while spec.format is not format_:
        spec, players = drawn(lots)
    run = TournamentRun(spec, players, lots)
    for number in range(60):
        for _ in range(lots.randint(1, 4)):
            run.step()
        if run.tournament.phase is TournamentPhase.ENDED:
            break
        if lots.random() < 0.1 and run.tournament.results:
            run.act(_decision(run, lots, f"d{number}"))
    return run.log


def _decision(run: TournamentRun, lots: random.Random, request: str) -> do.Command:
    game, player = lots.choice(sorted(run.tournament.results)), lots.choice(sorted(run.tournament.entrants))
    if lots.random() < 0.4:
        return do.Rule("organiser", request, game, ev.Decision.POINTS, lots.choice(((1, 1), (2, 0), (0, 0))), "ruled")
    disqualify = Disqualify(player, False, Results.FORFEIT)
    what = lots.choice((Replay(game), disqualify, Reinstate(player), Award(player, 1)))
    return do.Correct("organiser", request, what, "why")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("format_", list(Format))
def test_a_snapshot_after_any_event_and_the_rest_are_the_whole_log(format_: Format, seed: int, seeds: int) -> None:
    """In the short form, after every other event."""
    log = corrected(seed, format_)
    bodies = [record.body for record in Chain("t1").seal(log)]
    whole, chain, state, read = replay(log), Chain("t1"), replay(log[:1]), 0
    chain.follow(bodies[:1])
    stands = standings(replay(log))
    for place in range(1, len(log)):
        needed = old_games(state, log[place:])
        if needed:
            with pytest.raises(OldGamesNeeded) as raised:
                go_on_from(take_snapshot(state, chain), bodies[place - 1 :])
            assert raised.value.games == needed
        elif seeds > 20 or place % 2 == seed:
            read += 1
            found = go_on_from(take_snapshot(state, chain), bodies[place - 1 :])
            assert found is not None
            assert (found.chain.revision, found.events) == (len(log), log[place:])
            assert difference(found.tournament, whole) == ""
            if place % 40 < 2:
                assert standings(found.tournament) == stands
        if old_games(state, log[place : place + 1]):
            state = replay(log[:place])
        [event] = chain.follow(bodies[place : place + 1])
        apply(state, event)
        fold(state)
    assert read


class Counting(MemoryJournal):
    """Counts the records of tournaments that are read, and the most in one read."""

    read_records = 0
    longest_read = 0

    async def read(
        self, match_id: str, after: int = 0, most: int | None = None, subject: Subject = Subject.MATCH
    ) -> list[StoredRecord]:
        found = await super().read(match_id, after, most, subject)
        if subject is Subject.TOURNAMENT:
            self.read_records += len(found)
            self.longest_read = max(self.longest_read, len(found))
        return found


def contest_with(snapshots: MemorySnapshots) -> tuple[Contest, Counting]:
    journal = Counting()
    return Contest(4, server=InMemoryArbiter(Store(journal, MemoryDirectory(), snapshots=snapshots))), journal


@pytest.mark.long
@virtually
async def test_a_start_reads_the_snapshot_and_the_log_after_it() -> None:
    snapshots = MemorySnapshots(EVERY)
    contest, journal = contest_with(snapshots)
    tournament_id = await contest.start(spec_of(Format.LADDER, duration_ms=6_000, validation=False))
    for games in (15, 30):
        revision, taken = (await old(contest, tournament_id, games)).revision, snapshots.taken
        assert revision > 2 * EVERY
        assert taken >= revision // EVERY - 1
        journal.read_records = 0
        await contest.crash()
        assert journal.read_records <= 2 * EVERY
        assert (await contest.tournament(tournament_id)).revision >= revision
    rule = do.Rule("org", "r1", 1, ev.Decision.POINTS, (1, 1), "both agreed")
    await contest.act(tournament_id, rule)
    await contest.crash()
    assert (await contest.tournament(tournament_id)).revision >= revision
    whole = await check_end(contest, tournament_id)
    assert whole.results[1].ruling
    kept = await snapshots.newest(tournament_id)
    assert kept is not None
    assert len(await contest.server.arbiter.tournaments.log(tournament_id)) == whole.revision, "a log is always whole"


@virtually
async def test_a_long_log_without_a_snapshot_gets_one_after_a_start() -> None:
    contest, _ = contest_with(MemorySnapshots(10_000))
    tournament_id = await contest.start(spec_of(Format.LADDER, duration_ms=6_000, validation=False))
    await old(contest, tournament_id, 15)
    for bot in contest.names:
        await contest.leave(bot)
    server = contest.server
    snapshots = server._store.snapshots
    assert isinstance(snapshots, MemorySnapshots)
    snapshots.every = EVERY
    await server.restart()
    assert len((await server.arbiter.tournaments.get(tournament_id)).entrants) == 4
    while not snapshots.taken:  # noqa: ASYNC110 - no event to wait for
        await asyncio.sleep(1)


@pytest.mark.long
@virtually
async def test_a_log_without_a_snapshot_is_read_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    contest, journal = contest_with(MemorySnapshots(10_000))
    tournament_id = await contest.start(spec_of(Format.LADDER, duration_ms=6_000, validation=False))
    revision = (await old(contest, tournament_id, 15)).revision
    monkeypatch.setattr(live_log, "PORTION", PORTION)
    snapshots = contest.server._store.snapshots
    assert isinstance(snapshots, MemorySnapshots)
    snapshots.every = EVERY
    journal.longest_read = 0
    with capture_logs() as logs:
        await contest.crash()
    [said] = [each for each in logs if each["event"] == "snapshot_not_used"]
    assert said["events"] >= revision
    assert journal.longest_read == PORTION
    kept = await snapshots.newest(tournament_id)
    assert kept is not None
    assert kept.revision == said["events"]
    await contest.crash()
    await check_end(contest, tournament_id)


@pytest.mark.long
@virtually
async def test_a_ruling_on_an_old_game_after_the_snapshot_has_that_game_read_and_without_a_snapshot_the_whole_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    snapshots = MemorySnapshots(EVERY)
    contest, _ = contest_with(snapshots)
    tournament_id = await contest.start(spec_of(Format.LADDER, duration_ms=6_000, validation=False))
    await old(contest, tournament_id, 15)
    before = await snapshots.newest(tournament_id)
    assert before is not None
    await contest.act(tournament_id, do.Rule("org", "r1", 1, ev.Decision.POINTS, (1, 1), "both agreed"))
    await old(contest, tournament_id, 15)
    monkeypatch.setattr(live_log, "PORTION", PORTION)
    for kept in (before, before._replace(code="another"), before._replace(state=b"damaged")):
        await snapshots.keep(kept)
        with capture_logs() as logs:
            await contest.crash()
        why = [each["why"] for each in logs if each["event"] == "snapshot_not_used"]
        expected = ["another version of the arbiter has written it"] if kept.code == "another" else []
        expected += ["it can't be read, or does not fit what follows"] if kept.state == b"damaged" else []
        assert why == expected
        assert (await contest.tournament(tournament_id)).has_result(1)
    whole = await check_end(contest, tournament_id)
    assert whole.results[1].ruling


async def kept_ladder() -> tuple[MemoryJournal, Snapshot, Sequence[bytes]]:
    """Return a journal with the log of a ladder, a snapshot of its middle, and the records from there."""
    log = corrected(1)
    records = Chain("t1").seal(log)
    chain, half = Chain("t1"), len(log) // 2
    state = replay(chain.follow(record.body for record in records[:half]))
    journal = MemoryJournal()
    await journal.append(Append(records, tournament=summary_of(state)))
    return journal, take_snapshot(state, chain), [record.body for record in records[half - 1 :]]


@pytest.mark.parametrize(
    "changed",
    [{"code": "another"}, {"digest": "0" * 64}, {"revision": 3}, {"revision": 1_000_000}],
    ids=["other code", "another event", "another place", "beyond the log"],
)
async def test_what_does_not_fit_the_log_is_not_used(changed: dict[str, Any]) -> None:
    journal, snapshot, rest = await kept_ladder()
    snapshots = MemorySnapshots()
    await snapshots.keep(snapshot)
    found, records, why = await snapshot_and_rest(journal, snapshots, "t1")
    assert (found, [record.body for record in records], why) == (snapshot, rest, "")
    await snapshots.keep(snapshot._replace(**changed))
    found, records, why = await snapshot_and_rest(journal, snapshots, "t1")
    assert (found, records[0].revision, records[-1].body) == (None, 1, rest[-1])
    assert why == ("another version of the arbiter has written it" if "code" in changed else "it is not of this log")


class Evil:
    """Unpickles as a call."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("was-called",)


@pytest.mark.parametrize(
    "state",
    [
        b"",
        b"no such bytes",
        zlib.compress(b"no pickle"),
        zlib.compress(pickle.dumps({"a": 1})),
        zlib.compress(pickle.dumps(Evil())),
        zlib.compress(b"carbiter.tournaments.codec\nreplace\n(tR."),
        zlib.compress(b"cbuiltins\neval\n(V1\ntR."),
    ],
)
async def test_a_state_that_can_not_be_read_is_not_used(
    state: bytes, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, snapshot, rest = await kept_ladder()
    assert go_on_from(snapshot, rest) is not None
    assert go_on_from(snapshot._replace(state=state), rest) is None
    assert go_on_from(snapshot, [*rest, rest[-1]]) is None, "a record that does not follow"
    assert not [*tmp_path.iterdir()]
