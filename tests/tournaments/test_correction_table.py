"""Which corrections are allowed, phase by phase and format by format; and random ones in every format."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import product

import pytest

from arbiter.errors import Reason
from arbiter.testing.random_corrections import drawn_correction
from arbiter.testing.random_tournaments import TournamentRun, drawn
from arbiter.tournaments import codec, correction_rules, engine, formats
from arbiter.tournaments import commands as do
from arbiter.tournaments.checker import violations
from arbiter.tournaments.corrections import (
    Award,
    Correction,
    Disqualify,
    DrawLots,
    Forbid,
    GiveBye,
    Hold,
    PairByHand,
    PairRound,
    Reinstate,
    Replay,
    in_words,
)
from arbiter.tournaments.evolution import replay
from arbiter.tournaments.spec import Format
from arbiter.tournaments.standings import standings
from arbiter.tournaments.tournament import TournamentPhase
from tests.tournaments.test_corrections import correct, until
from tests.tournaments.test_game_rulings import run_of

EXAMPLES: dict[str, Correction] = {
    "disqualify": Disqualify("p000"),
    "disqualify from the start": Disqualify("p000", True),
    "reinstate": Reinstate("p000"),
    "replay": Replay(0),
    "award": Award("p000", 2),
    "lots": DrawLots(("p000", "p001"), "s"),
    "pair": PairByHand(1, (("p001", "p000"),)),
    "bye": GiveBye("p000", 1),
    "pair_round": PairRound(1, afresh=True),
    "hold": Hold(),
    "forbid": Forbid("p000", "p001"),
}


@pytest.mark.parametrize(("name", "format_", "phase"), list(product(correction_rules.TABLE, Format, TournamentPhase)))
def test_the_whole_table_of_corrections(name: str, format_: Format, phase: TournamentPhase) -> None:
    players = 2 if format_ is Format.TRIAL else 4
    run = run_of(format_, players, rounds=3) if phase is not TournamentPhase.ENTRY else _open(format_)
    if phase is not TournamentPhase.ENTRY:
        until(run, lambda: bool(run.tournament.results))
    if name == "reinstate":
        run.act(do.Correct("org", "out", Disqualify("p000", format_ is not Format.TRIAL)))
    if phase is TournamentPhase.PAUSED:
        run.act(do.Pause("org", "pause"))
    elif phase is TournamentPhase.ENDED:
        run.act(do.Cancel("org", "cancel"))
    what = _example(name, run)
    refused = correct(run, what).refusal
    assert run.tournament.phase is phase
    if correction_rules.TABLE[name][phase](formats.PAIRERS[format_]):
        assert not refused
    else:
        assert refused is not None
        assert refused.reason is Reason.TOURNAMENT_CLOSED
    assert set(correction_rules.TABLE) == set(EXAMPLES)


def _example(name: str, run: TournamentRun) -> Correction:
    """Return a correction that nothing but the phase or the format of a tournament can forbid."""
    tournament, what = run.tournament, EXAMPLES[name]
    if isinstance(what, Replay):
        return Replay(min(tournament.results, default=1))
    if isinstance(what, PairByHand) and tournament.spec.format is Format.ROUND_ROBIN and tournament.meetings:
        last = tournament.meetings[-1]
        return PairByHand(last.round, ((last.second, last.first),))
    if isinstance(what, PairByHand | GiveBye):
        return replace(what, round=tournament.rounds + 1)
    if isinstance(what, PairRound):
        correct(run, GiveBye("p000", tournament.rounds + 1))
        return replace(what, round=tournament.rounds + 1)
    return what


def _open(format_: Format) -> TournamentRun:
    run = run_of(format_, 2)
    run.tournament, made = engine.create("t1", run.tournament.spec, "org", "make", 0)
    run.log = list(made.events)
    for name in ("p000", "p001"):
        run.enter(name)
    return run


@pytest.mark.long
def test_random_corrections_in_every_format_keep_the_checker_quiet_and_are_read_back(seeds: int) -> None:
    done: set[str] = set()
    for seed in range(60 * max(1, seeds // 20)):
        lots = random.Random(seed)
        spec, players = drawn(lots)
        while seed % 3 == 0 and spec.format not in (Format.SWISS, Format.ROUND_ROBIN):  # most has to be decided there
            spec, players = drawn(lots)
        run = TournamentRun(spec, players, lots)
        for _ in range(400):
            if run.tournament.phase is TournamentPhase.ENDED:
                break
            run.step()
            if lots.random() < 0.15:
                what = drawn_correction(run.tournament, lots)
                if not correct(run, what).refusal:
                    done.add(f"{run.tournament.spec.format} {what.name}")
            if run.tournament.phase is TournamentPhase.PAUSED and lots.random() < 0.5:
                run.act(do.Continue("org", f"go on {len(run.log)}"))
        for _ in range(3):
            correct(run, drawn_correction(run.tournament, lots))
        assert violations(run.log) == [], seed
        read = [codec.read_event(json.loads(json.dumps(codec.write_event(event)))) for event in run.log]
        assert read == run.log
        assert standings(replay(read)) == standings(run.tournament)
        assert all(in_words(each.what) for each in run.tournament.corrections)
    assert len(done) > 25, done
    by_hand = {"round_robin pair", *(f"swiss {name}" for name in ("pair", "bye", "pair_round", "hold", "forbid"))}
    assert len(by_hand & done) > 3, done
