"""Simulated servers that share a store keep all invariants, whatever happens to one of them."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest

from arbiter.errors import Reason
from arbiter.ratings.rulings import Command
from arbiter.testing.simulation.invariants import RunEvidence, violations
from arbiter.testing.simulation.invariants.servers import (
    moves_before_it_is_known,
    players_of_a_killed_server_soon_go_on,
)
from arbiter.testing.simulation.observations import AskedDecision
from arbiter.testing.simulation.plan import AMONG_SERVERS, Fault, Plan, draw
from arbiter.testing.simulation.run import play_out
from arbiter.testing.simulation.summary import RunSummary, simulate
from arbiter.tournaments.commands import Correct, Rule
from arbiter.tournaments.corrections import CORRECTIONS
from arbiter.tournaments.spec import Format
from tests.simulation.plans import promises_broken, without_corrections, without_later_faults

pytestmark = pytest.mark.long

SERVERS = 3
MATCHES = 8  #: in a run
SHARE = 5  #: one seed in so many is run, of those of one server
ENOUGH = 20  #: runs until every fault has happened
FEW = (2, 8, 28, 36, 42, 43)  #: seeds whose tournaments have all formats; one has no faults

FIXED = [
    # The seed, the number of matches and of servers, and the error that it found.
    # After an outage of all servers, the flags fell whose time had passed meanwhile: the first server that started set
    # its timers before it knew that the others were dead.
    pytest.param(12, 10, 3, marks=pytest.mark.soak),
    # A server sent the end of a match that it had decided before an earlier one that another server had decided. The
    # bot acknowledged the later one, and lost its stream: it never got the earlier one.
    pytest.param(1017, 10, 3, marks=pytest.mark.soak),
    # A turn of a player of a dead server began while the server that cleaned up waited for a slow commit: it was not
    # interrupted.
    pytest.param(1122, 8, 3, marks=pytest.mark.soak),
    # A server took a player's stream after its server had died, and failed to open it. The player counted as one who
    # had left the dead server, so its next turn was charged from before it found a third server.
    pytest.param(43113, 12, 3, marks=pytest.mark.soak),
    pytest.param(31908, 8, 3, marks=pytest.mark.soak),
    # In that time its flag fell at a server that had just started.
    pytest.param(31514, 8, 3, marks=pytest.mark.soak),
    # A match began with the turn of a player of a dead server, while the server that cleaned up after that one
    # interrupted other turns for the fifth time. It did not look again.
    (50658, 8, 3),
    # A move waited until it was known whether a server was dead. The turn was interrupted meanwhile, and yet the move's
    # ledger had the hand-over of the earlier turn.
    (50107, 12, 2),
    # The same, of a move and an interruption that both waited for what another server had stored.
    pytest.param(57, 40, 3, marks=pytest.mark.soak),
]

WRONG_CHECKS = [
    # A check was wrong: it left late entries out, or a stream's end, or a request whose answer was lost. Or it did not
    # know that a machine may be suspended and cut off, or that two clocks may be wrong in two directions.
    (30302, 8, 3),
    (50126, 8, 4),
    (50171, 8, 4),
    (50207, 12, 4),
    (50330, 8, 4),
]

FIXED_WITH_LOCKS = [
    # The same, of seeds that were tried since the log is locked now and then.
    # The end of a match came on a stream after that of another match with a greater cursor. The bot acknowledged the
    # one that it had received, and its connection was cut: the other one counted as received too.
    (751, 8, 3),
    # A server that started ended a match by the absence of a player who waited at another one: it did so before its
    # first heartbeat, which says who is elsewhere.
    pytest.param(171723, 40, 3, marks=pytest.mark.soak),
    # A check was wrong: what comes while a server is stopped is decided at the instant at which it was stopped.
    pytest.param(17, 8, 3, marks=pytest.mark.soak),
]


@pytest.fixture(scope="module")
def outcomes(seeds: int) -> list[RunSummary]:
    """Return the outcomes of the seeds that every run of the suite tries."""
    tried = FEW if seeds <= ENOUGH else range(5, 5 + seeds // SHARE)
    return [simulate(seed, MATCHES, replicas=SERVERS) for seed in tried]


def test_every_invariant_holds(outcomes: list[RunSummary]) -> None:
    assert not [str(outcome) for outcome in outcomes if outcome.violations]


@pytest.mark.parametrize(("seed", "matches", "servers"), FIXED)
def test_fixed_errors_stay_fixed(seed: int, matches: int, servers: int) -> None:
    assert promises_broken(without_later_faults(draw(seed, matches, servers))) == set()


@pytest.mark.soak
@pytest.mark.parametrize(("seed", "matches", "servers"), WRONG_CHECKS)
def test_fixed_checks_stay_fixed(seed: int, matches: int, servers: int) -> None:
    assert promises_broken(without_later_faults(draw(seed, matches, servers))) == set()


@pytest.mark.parametrize(("seed", "matches", "servers"), FIXED_WITH_LOCKS)
def test_errors_that_were_found_since_stay_fixed(seed: int, matches: int, servers: int) -> None:
    assert simulate(seed, matches, replicas=servers).violations == ()


def test_a_wait_that_a_stream_elsewhere_interrupted_is_charged_to_nobody() -> None:
    """A player failed to get a stream, had one at another server and its turn there, and failed again at the first one.

    That server took it for waiting since before the turn, so the player seemed to have got the turn in that time.
    """
    plan = replace(draw(16, MATCHES, SERVERS), faults={Fault.LOCKED: 25.0, Fault.CUT: 40.0, Fault.MOVE: 30.0})
    assert promises_broken(without_corrections(plan)) == set()


def test_there_is_a_tournament_of_each_format(outcomes: list[RunSummary]) -> None:
    cups = [cup for outcome in outcomes for cup in draw(outcome.seed, MATCHES, SERVERS).tournaments]
    assert {cup.spec.format for cup in cups} == set(Format)


def test_every_fault_happens(outcomes: list[RunSummary]) -> None:
    """In few runs some of them do."""
    faults = sum((outcome.faults for outcome in outcomes), Counter())
    possible = set(Fault) - {Fault.LEAP}
    assert faults
    assert set(faults) == possible if len(outcomes) >= ENOUGH else set(faults) <= possible


@pytest.mark.soak
def test_every_kind_of_decision_is_made_and_some_are_refused() -> None:
    """By some of the first runs with a Swiss that is corrected: it allows all of them."""
    missing, refused = {*CORRECTIONS, "rule", "unrated", "rated", "taken_back", "suspend"}, set[Reason]()
    corrected = (seed for seed in itertools.count(16) if _corrects_a_swiss(draw(seed, MATCHES, SERVERS)))
    for seed in itertools.islice(corrected, 20):
        for asked in play_out(draw(seed, MATCHES, SERVERS)).history.decisions:
            refused |= {answer.refused for answer in asked.answers if answer.refused is not None}
            if asked.is_made:
                missing.discard(_kind(asked))
        if not missing:
            break
    assert not missing
    assert refused >= {Reason.TOURNAMENT_CLOSED, Reason.TOURNAMENT_CHANGED, Reason.ARGUMENT_INVALID}


def _corrects_a_swiss(plan: Plan) -> bool:
    return any(cup.corrections and cup.spec.format is Format.SWISS for cup in plan.tournaments)


def _kind(asked: AskedDecision) -> str:
    match asked.asked:
        case Correct(what=what):
            return what.name
        case Command(decision=decision):
            return decision
        case Rule():
            return "rule"
        case _:
            return "suspend"


def busy(plan: Plan) -> Plan:
    """Have all players think for long, in long matches, on streams alone: so a server that is killed cuts thoughts."""
    players = tuple(replace(each, think_ms=1_500, unary=0.0, comes_ms=0) for each in plan.players)
    matches = tuple(replace(each, plies=60, intervenes_ms=0) for each in plan.matches)
    return replace(plan, players=players, matches=matches)


def test_players_of_a_killed_server_soon_go_on() -> None:
    """Also those who move at another server before anybody knows of the death."""
    evidence = play_out(busy(replace(draw(2, MATCHES, SERVERS), faults={Fault.CRASH: 6.0})))
    case = RunEvidence(evidence)
    assert violations(case) == []
    waited_s = [
        min(stored_s, evidence.history.forgotten_s[lost.replica]) - asked.true_ms / 1_000
        for lost in evidence.history.calm
        for asked, stored_s in moves_before_it_is_known(case, lost)
    ]
    assert max(waited_s) > 0.5, "no move has waited until the death was known: nothing was tested"
    evidence.history.stored_s[:] = [stored_s + 3.0 for stored_s in evidence.history.stored_s]
    found = list(players_of_a_killed_server_soon_go_on(case))
    assert found
    assert all("is stored only at" in violation.what for violation in found)


def test_only_several_servers_have_their_faults(outcomes: list[RunSummary]) -> None:
    assert any(outcome.faults.keys() & AMONG_SERVERS for outcome in outcomes)
    assert not any(draw(seed, MATCHES).faults.keys() & AMONG_SERVERS for seed in range(100))
    assert not any(outcome.faults for outcome in outcomes if draw(outcome.seed, MATCHES, SERVERS).calm)


def test_the_same_seed_gives_the_same_journal_in_any_process() -> None:
    """Two processes have different hashes of strings, so the test would notice a dependence on the order of a set."""
    ran = subprocess.run(
        [sys.executable, "-m", "arbiter", "simulate", "--seed", "11", "--matches", "3", "--replicas", "3"],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    outcome = simulate(11, 3, replicas=SERVERS)
    assert outcome.faults
    assert f"journals, SHA-256\t{outcome.digest}\n" in ran.stdout
