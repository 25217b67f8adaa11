"""Who may enter a tournament: the question without an entry gives the same answer as the entry."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import pytest

from arbiter.errors import Reason
from arbiter.testing.random_tournaments import TournamentRun, drawn
from arbiter.tournaments import codec, engine
from arbiter.tournaments import commands as do
from arbiter.tournaments import events as ev
from arbiter.tournaments.checker import violations
from arbiter.tournaments.entry import EntryChange
from arbiter.tournaments.evolution import apply, replay
from arbiter.tournaments.schedule import Schedule
from arbiter.tournaments.spec import EntryRules, Format, Options, Spec
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
        apply(tournament, event)
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
        apply(tournament, event)
    for command in (
        do.Start("org", "s2"),
        do.Pause("org", "p2"),
        do.Continue("org", "r2"),
        do.Cancel("org", "c2", ""),
        do.Enter("ann", "ann", "e2"),
        do.Withdraw("ann", "ann", "w2"),
    ):
        assert refused(command) == "it is over: it has been cancelled", command


# Changes of an entry


def documented() -> dict[tuple[EntryChange, TournamentPhase], set[Format]]:
    """Return the formats in which each change is allowed in each phase, as the table for organisers says."""
    page = Path(__file__).parents[2] / "deploy" / "TOURNAMENTS.md"
    text = page.read_text().partition("### Changing an entry")[2].partition("| -- |")[2]
    phases = ((TournamentPhase.ENTRY,), (TournamentPhase.RUNNING, TournamentPhase.PAUSED), (TournamentPhase.ENDED,))
    found = {}
    for line in text.partition("\n\n")[0].splitlines()[1:]:
        name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        for those, cell in zip(phases, cells, strict=True):
            formats = {"all": set(Format), "–": set()}.get(cell)
            for phase in those:
                allowed = {Format(word) for word in cell.split(", ")} if formats is None else formats
                found[EntryChange(name), phase] = allowed
    return found


def tournament_in(format_: Format, phase: TournamentPhase) -> TournamentRun:
    """Return a tournament in a phase, in which p000 and p001 play. Of its three rounds, a Swiss has paired one."""
    options = Options(rounds=3, duration_ms=600_000, validation=False)
    spec = Spec("a cup", format_, ("hop-it",), "1m", paired=False, options=options)
    run = TournamentRun(spec, 2, random.Random(1), lambda game: 1)
    if phase is TournamentPhase.ENTRY:
        run.tournament, made = engine.create("t1", spec, "org", "make", 0)
        run.log = list(made.events)
        for number in range(2):
            run.enter(f"p{number:03}", rating=1000)
        return run
    run.pair()
    if phase is TournamentPhase.PAUSED:
        run.act(do.Pause("org", "pause"))
    elif phase is TournamentPhase.ENDED:
        run.act(do.Cancel("org", "cancel"))
    return run


def command_of(change: EntryChange) -> do.Command:
    commands: dict[EntryChange, do.Command] = {
        EntryChange.ENTER: do.Enter("new", "org", "x"),
        EntryChange.RETURN: do.Enter("p001", "org", "x"),
        EntryChange.WITHDRAW: do.Withdraw("p001", "org", "x"),
        EntryChange.BYES: do.ChangeEntry("p001", "org", "x", byes=(2,)),
        EntryChange.SEED: do.ChangeEntry("p001", "org", "x", rating=2400),
    }
    return commands[change]


@pytest.mark.parametrize("format_", list(Format))
@pytest.mark.parametrize("phase", list(TournamentPhase))
@pytest.mark.parametrize("change", list(EntryChange))
def test_each_change_is_allowed_where_the_page_says_so(
    change: EntryChange, phase: TournamentPhase, format_: Format
) -> None:
    run = tournament_in(format_, phase)
    if change is EntryChange.RETURN or (change is EntryChange.ENTER and format_ is Format.TRIAL):
        run.withdraw("p001")
    decision = run.act(command_of(change))
    assert (decision.refusal is None) is (format_ in documented()[change, phase])
    assert violations(run.log) == []
    if decision.refusal is not None:
        assert decision.refusal.reason is Reason.TOURNAMENT_CLOSED
        assert decision.events == ()
        return
    read = [codec.read_event(codec.write_event(event)) for event in run.log]
    again = replay(read)
    assert again.entrants == run.tournament.entrants
    assert run.act(command_of(change)).refusal is None  # a repeated request


def test_before_the_start_a_withdrawal_is_undone_by_entering_again() -> None:
    run = tournament_in(Format.GAUNTLET, TournamentPhase.ENTRY)
    run.withdraw("p000")
    apply(run.tournament, ev.EntryChanged(0, "p001", 900, (), "org", "c"))
    assert run.enter("p000", rating=800).refusal is None
    assert run.tournament.players == ["p000", "p001"]  # the head of a gauntlet is the head again
    run.act(do.Start("org", "start"))
    assert run.tournament.seeds == ["p001", "p000"]


def test_who_withdrew_can_return_before_the_start_although_entry_is_closed() -> None:
    tournament, _ = engine.create("t1", spec_of(closes=100), "org", "make", 0)
    for command in (do.Enter("ann", "ann", "e"), do.Withdraw("ann", "ann", "w")):
        for event in engine.decide(tournament, command, 0).events:
            apply(tournament, event)
    assert engine.may_enter(tournament, "ann", "", 200)
    assert not engine.may_enter(tournament, "ben", "", 200)


def test_a_corrected_rating_changes_the_seeds() -> None:
    run = tournament_in(Format.SWISS, TournamentPhase.ENTRY)
    run.act(do.ChangeEntry("p001", "org", "c", rating=1500))
    run.act(do.Start("org", "start"))
    assert run.tournament.seeds == ["p001", "p000"]
    assert violations(run.log) == []


@pytest.mark.parametrize(
    ("byes", "refused"),
    [
        ((2, 3), ""),
        ((), ""),
        ((1, 2), "round 1 is paired already"),
        ((4,), "it has 3 rounds, and no round 4"),
    ],
)
def test_byes_are_for_rounds_that_are_not_paired_yet(byes: tuple[int, ...], refused: str) -> None:
    run = tournament_in(Format.SWISS, TournamentPhase.RUNNING)
    run.change("p001", (2,))
    decision = run.change("p001", byes)
    assert refused in (decision.refusal.facts["why"] if decision.refusal else "")
    assert (decision.refusal is None) is not bool(refused)
    assert run.tournament.entrants["p001"].byes == ((2,) if refused else byes)


def test_a_repeated_request_with_other_byes_is_refused() -> None:
    run = tournament_in(Format.SWISS, TournamentPhase.ENTRY)
    assert run.act(do.ChangeEntry("p001", "org", "c", byes=(2,))).refusal is None
    for other in (do.ChangeEntry("p001", "org", "c", byes=(3,)), do.Withdraw("p001", "org", "c")):
        refusal = run.act(other).refusal
        assert refusal is not None
        assert refusal.reason is Reason.REQUEST_ID_REUSED


def test_byes_at_entry_are_refused_where_nobody_sits_out() -> None:
    tournament, _ = engine.create("t1", spec_of(), "org", "make", 0)
    refusal = engine.decide(tournament, do.Enter("ann", "ann", "e", byes=(2,)), 0).refusal
    assert refusal is not None
    assert refusal.facts["why"] == "a round robin has no rounds that a player can sit out"


def test_the_checker_finds_changes_that_are_too_late() -> None:
    run = tournament_in(Format.SWISS, TournamentPhase.RUNNING)
    late = [
        (ev.EntryChanged(9, "p001", 1, (), "org", "c"), "the seed of p001 was changed after the start"),
        (ev.EntryChanged(9, "p001", run.tournament.entrants["p001"].rating, (1,), "org", "c"), "round 1 was changed"),
        (ev.EntryChanged(9, "who", 1, (), "org", "c"), "the entry of who was changed"),
    ]
    for event, said in late:
        assert said in " ".join(violations([*run.log, event]))


def test_the_checker_knows_the_order_of_the_seeds() -> None:
    run = tournament_in(Format.SWISS, TournamentPhase.RUNNING)
    turned = [
        dataclasses.replace(event, seeds=event.seeds[::-1]) if isinstance(event, ev.Started) else event
        for event in run.log
    ]
    assert "but should be" in violations(turned)[0]
