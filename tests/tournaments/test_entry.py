"""Who may enter a tournament: the question without an entry gives the same answer as the entry."""

from __future__ import annotations

import random

import pytest

from arbiter.errors import Reason
from arbiter.testing.tournaments import TournamentRun, drawn
from arbiter.tournaments import commands as do
from arbiter.tournaments import engine
from arbiter.tournaments.spec import EntryRules, Format, Schedule, Spec
from arbiter.tournaments.tournament import TournamentPhase

ANYBODY = EntryRules()


def spec_of(format_: Format = Format.ROUND_ROBIN, entry: EntryRules = ANYBODY, closes: int = 0) -> Spec:
    return Spec("a cup", format_, ("hop-it",), "1m", entry=entry, schedule=Schedule(entry_closes_ms=closes))


@pytest.mark.parametrize(
    ("spec", "version", "now", "allowed"),
    [
        (spec_of(), "", 0, True),
        (spec_of(entry=EntryRules(capacity=1)), "", 0, False),
        (spec_of(entry=EntryRules(capacity=2)), "", 0, True),
        (spec_of(entry=EntryRules(invited=("ann",))), "", 0, False),
        (spec_of(entry=EntryRules(invited=("ann", "ben"))), "", 0, True),
        (spec_of(entry=EntryRules(versions=("2.", "3"))), "1.9", 0, False),
        (spec_of(entry=EntryRules(versions=("2.", "3"))), "2.0", 0, True),
        (spec_of(closes=100), "", 99, True),
        (spec_of(closes=100), "", 100, False),
    ],
)
def test_the_rules_of_entry(spec: Spec, version: str, now: int, allowed: bool) -> None:
    tournament, _ = engine.create("t1", spec, "org", "make", 0)
    for event in engine.decide(tournament, do.Enter("ann", "org", "e", version="2.2"), 0).events:
        tournament.apply(event)
    assert not engine.may_enter(tournament, "ann", "2.2", now)
    assert engine.may_enter(tournament, "ben", version, now) is allowed


@pytest.mark.parametrize(
    ("asked", "badge", "allowed"), [(False, False, True), (True, False, False), (True, True, True)]
)
def test_a_tournament_may_ask_for_a_badge(asked: bool, badge: bool, allowed: bool) -> None:
    tournament, _ = engine.create("t1", spec_of(entry=EntryRules(badge=asked)), "org", "make", 0)
    refusal = engine.decide(tournament, do.Enter("ann", "ann", "e", version="2", badge=badge), 0).refusal
    assert (refusal is None) is allowed
    if refusal is not None:
        assert refusal.reason is Reason.TOURNAMENT_CLOSED
        assert "--badge ann" in refusal.facts["why"]


@pytest.mark.parametrize("seed", range(12))
def test_the_answer_is_that_of_entering_at_any_moment_of_any_tournament(seed: int) -> None:
    lots = random.Random(seed)
    spec, players = drawn(lots)
    tournament_run = TournamentRun(spec, players, lots)
    for _ in range(60):
        if lots.random() < 0.1 and tournament_run.tournament.players:
            tournament_run.withdraw(lots.choice(tournament_run.tournament.players))
        player = lots.choice(("somebody", "p000", "p001"))
        entering = engine.decide(tournament_run.tournament, do.Enter(player, player, "now"), tournament_run.now)
        assert engine.may_enter(tournament_run.tournament, player, "", tournament_run.now) is (entering.refusal is None)
        if tournament_run.tournament.phase is TournamentPhase.ENDED:
            return
        tournament_run.step()


def test_refusals_have_the_phase_of_the_tournament() -> None:
    tournament, _ = engine.create("t1", spec_of(), "org", "make", 0)

    def refused(command: do.Command) -> str:
        refusal = engine.decide(tournament, command, 0).refusal
        assert refusal is not None
        return refusal.facts["why"]

    assert refused(do.Start("org", "s1")) == "a round robin needs 2 players, and has 0"
    assert refused(do.Pause("org", "p1")) == "it has not started yet"
    for event in engine.decide(tournament, do.Cancel("org", "c1", "rain"), 0).events:
        tournament.apply(event)
    for command in (
        do.Start("org", "s2"),
        do.Pause("org", "p2"),
        do.Continue("org", "r2"),
        do.Cancel("org", "c2", ""),
        do.Enter("ann", "ann", "e2"),
        do.Withdraw("ann", "ann", "w2"),
    ):
        assert refused(command) == "it is over: it has been cancelled", command
