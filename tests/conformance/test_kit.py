"""The kit finds each fault, and nothing else: a bot with one fault fails exactly the clauses that the fault names.

`make test` tries one fault of each chapter, on its own clauses and one other clause; `make soak` tries every fault on
all clauses.
"""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from arbiter.conformance import testbed
from arbiter.conformance.catalogue import chosen, clauses
from arbiter.conformance.clauses import Clause
from arbiter.conformance.kit import ClauseResult, ClauseVerdict, Kit
from arbiter.conformance.running_arbiter import RunningArbiter, running_arbiter
from arbiter.service.play.challenges import Terms
from tests.conformance.faulty_bot.catalogue import FAULTS

FAULTY_BOT = ("env", f"PYTHONPATH={Path(__file__).parents[2]}", sys.executable, "-m", "tests.conformance.faulty_bot")
RAW_PLAYER = Path(__file__).parent / "raw.py"
OTHERS = ("turns.gap",)
AT_ONCE = 12  #: faults at once: most of the time is spent waiting for a bot that does nothing
SCALE = 0.7  #: for waiting for something that a bot never does
PATIENT = 8 * SCALE  #: for waiting for something that a bot does: other tests may delay it


def faults() -> Mapping[str, tuple[str, ...]]:
    """Return the clauses that each fault fails."""
    return {name: fault.fails for name, fault in FAULTS.items() if fault.fails}


async def failed_by(name: str, everything: bool, place: RunningArbiter) -> set[str]:
    """Return the clauses that a bot with a fault fails."""
    bot = shlex.join((*FAULTY_BOT, name))
    # Those that fail come last: after a failed clause the bot has to be restarted.
    fails = faults()[name]
    others = [other for other in OTHERS if other not in fails]
    wanted = chosen([]) if everything else [*chosen(others), *chosen(list(fails))]
    return bad(await Kit(bot, patience(fails), stages=4 if everything else 1).run(wanted, place=place))


def patience(fails: Collection[str]) -> Callable[[Clause], float]:
    """Return factors of time limits: short for clauses that a bot fails, because the kit waits until their limits."""
    return lambda clause: SCALE if clause.id in fails else PATIENT


def bad(outcomes: Sequence[ClauseResult]) -> set[str]:
    """Return the clauses that failed, and those without a verdict that no fault explains."""
    failed = {outcome.clause.id for outcome in outcomes if outcome.verdict is ClauseVerdict.FAILED}
    return failed | {f"{one.clause.id}: {one.why}" for one in outcomes if one.verdict is ClauseVerdict.NOT_JUDGED}


def first_of_each_chapter() -> dict[str, set[str]]:
    """Return what the first fault of each chapter fails."""
    found: dict[str, set[str]] = {}
    chapters: set[str] = set()
    for name, fails in faults().items():
        chapter = fails[0].partition(".")[0]
        if chapter not in chapters:
            chapters.add(chapter)
            found[name] = set(fails)
    return found


@pytest.mark.long
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_each_fault_is_found_and_nothing_else(whole: bool) -> None:
    async def find() -> dict[str, set[str]]:
        room = asyncio.Semaphore(AT_ONCE)
        found: dict[str, set[str]] = {}

        async def one(name: str) -> None:
            async with room:
                found[name] = await failed_by(name, whole, place)

        async with running_arbiter() as place, asyncio.TaskGroup() as tasks:
            for name in expected:
                tasks.create_task(one(name))
        return found

    expected = {name: set(fails) for name, fails in faults().items()} if whole else first_of_each_chapter()
    assert asyncio.run(find()) == expected


RAW_CLAUSES = ["hello.first", "games.second-seat", "heartbeat.pongs"]
RAW = {
    "": set[str](),
    "skips_hello": {"hello.first"},
    "other_version": {"hello.first"},
    "illegal_moves": {"games.second-seat"},
    "malformed_moves": {"games.second-seat"},
    "stalls": {"games.second-seat"},
    "half_open": {"games.second-seat"},
    "garbage": {"games.second-seat"},
}
"""Clauses that players on the raw protocol fail, by their fault."""


@pytest.mark.long
@pytest.mark.timeout(3_600)
def test_faults_on_the_raw_protocol_are_found() -> None:
    async def one(name: str, place: RunningArbiter) -> set[str]:
        bot = shlex.join((sys.executable, str(RAW_PLAYER), *name.split()))
        never_comes = "hello.first" in RAW[name]  # other clauses have no verdict, after another long wait
        wanted = chosen(["hello.first"] if never_comes else RAW_CLAUSES)
        outcomes = await Kit(bot, SCALE if never_comes else patience(RAW[name]), stages=1).run(wanted, place=place)
        return {outcome.clause.id for outcome in outcomes if outcome.verdict is ClauseVerdict.FAILED}

    async def find() -> dict[str, set[str]]:
        async with running_arbiter() as place:
            found = await asyncio.gather(*(one(name, place) for name in RAW))
            return dict(zip(RAW, found, strict=True))

    assert asyncio.run(find()) == RAW


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_bot_that_is_slow_is_not_taken_for_one_that_waits_after_an_outage() -> None:
    bot = shlex.join((*FAULTY_BOT, "IsSlow"))
    wanted = chosen(["reconnect.charge", "reconnect.charge-gap", "reconnect.charge-away"])
    outcomes = asyncio.run(Kit(bot, PATIENT, stages=1).run(wanted))
    assert [(one.verdict, one.why) for one in outcomes] == [(ClauseVerdict.PASSED, "")] * 3


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_bot_may_take_a_refusal_that_comes_late_for_silence() -> None:
    bot = shlex.join((*FAULTY_BOT, "MissesARefusal"))
    (outcome,) = asyncio.run(Kit(bot, PATIENT, stages=1).run(chosen(["sessions.version-unsupported"])))
    assert (outcome.verdict, outcome.why) == (ClauseVerdict.PASSED, "")


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_bot_may_begin_at_the_second_address() -> None:
    bot = shlex.join((*FAULTY_BOT, "BeginsAtTheSecondAddress"))
    wanted = chosen(["reconnect.next-address", "reconnect.draining-address"])
    outcomes = asyncio.run(Kit(bot, PATIENT, stages=1).run(wanted))
    assert [(one.verdict, one.why) for one in outcomes] == [(ClauseVerdict.PASSED, "")] * 2


def test_every_chapter_has_a_fault() -> None:
    found = {name.partition(".")[0] for fails in faults().values() for name in fails}
    assert found == {item.chapter for item in clauses()}


SMALL_BOT = shlex.join((sys.executable, "-m", "arbiter_client.bots.random"))


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_clause_may_be_the_first_for_a_bot() -> None:
    """The order of clauses depends on how long each takes: these two once failed with a bot that had just started."""
    wanted = chosen(["refusals.one-match", "results.unknown-match"])
    outcomes = asyncio.run(Kit(SMALL_BOT, PATIENT, fresh=True, stages=1).run(wanted))
    assert [(one.verdict, one.why) for one in outcomes] == [(ClauseVerdict.PASSED, "")] * 2


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_timeout_of_the_kit_itself_is_no_fault_of_the_bot() -> None:
    async def situation(bed: testbed.Testbed) -> None:
        match = await bed.match(seat=2, time="1ms/move")
        await bed.until(lambda: match.over, "the end of the referee's time")
        match.check_not_lost()

    clause = replace(chosen(["turns.gap"])[0], situation=situation)
    (outcome,) = asyncio.run(Kit(SMALL_BOT, PATIENT).run([clause]))
    assert outcome.verdict is ClauseVerdict.NOT_JUDGED
    assert "the referee lost" in outcome.why


@pytest.mark.long
async def test_a_bot_is_judged_though_an_earlier_one_has_left_its_seeks_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes them up, and makes none: the kit took it for a bot without --seek."""
    async with running_arbiter() as place:
        player = place.new_player()
        monkeypatch.setattr(place, "new_player", lambda: player)
        seeker = await place.arbiter.accounts.authenticate(await place.token(player))
        for number in range(3):
            await place.arbiter.challenges.seek(seeker, f"left-{number}", Terms("pods", "1m", False, 0))
        bot = shlex.join((*FAULTY_BOT, "KeepsItsSeeksOpen"))
        assert bad(await Kit(bot, SCALE, stages=1).run(chosen(["seeks.taken"]), place=place)) == {"seeks.taken"}
