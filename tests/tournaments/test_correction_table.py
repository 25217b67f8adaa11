"""Which corrections are allowed, phase by phase and format by format; and random ones in every format."""

from __future__ import annotations

import json
import random
from itertools import product

import pytest

from arbiter.errors import Reason
from arbiter.testing.tournaments import TournamentRun, drawn
from arbiter.tournaments import codec, correction_rules, engine, formats
from arbiter.tournaments import commands as do
from arbiter.tournaments.checker import violations
from arbiter.tournaments.corrections import (
    Award,
    Correction,
    Disqualify,
    DrawLots,
    Reinstate,
    Replay,
    Results,
    in_words,
)
from arbiter.tournaments.spec import Format
from arbiter.tournaments.standings import standings
from arbiter.tournaments.tournament import TournamentPhase, replay
from tests.tournaments.test_corrections import correct, until
from tests.tournaments.test_rulings import run_of

EXAMPLES: dict[str, Correction] = {
    "disqualify": Disqualify("p000"),
    "disqualify from the start": Disqualify("p000", True),
    "reinstate": Reinstate("p000"),
    "replay": Replay(0),
    "award": Award("p000", 2),
    "lots": DrawLots(("p000", "p001"), "s"),
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
    what = Replay(min(run.tournament.results, default=1)) if name == "replay" else EXAMPLES[name]
    refused = correct(run, what).refusal
    assert run.tournament.phase is phase
    if correction_rules.TABLE[name][phase](formats.PAIRERS[format_]):
        assert not refused
    else:
        assert refused is not None
        assert refused.reason is Reason.TOURNAMENT_CLOSED
    assert set(correction_rules.TABLE) == set(EXAMPLES)


def _open(format_: Format) -> TournamentRun:
    run = run_of(format_, 2)
    run.tournament, made = engine.create("t1", run.tournament.spec, "org", "make", 0)
    run.log = list(made.events)
    for name in ("p000", "p001"):
        run.enter(name)
    return run


def test_random_corrections_in_every_format_keep_the_checker_quiet_and_are_read_back(seeds: int) -> None:
    done: set[str] = set()
    for seed in range(60 * max(1, seeds // 20)):
        lots = random.Random(seed)
        run = TournamentRun(*drawn(lots), lots)
        for _ in range(400):
            if run.tournament.phase is TournamentPhase.ENDED:
                break
            run.step()
            if lots.random() < 0.15:
                what = _random(run, lots)
                if not correct(run, what).refusal:
                    done.add(f"{run.tournament.spec.format} {what.name}")
        for _ in range(3):
            correct(run, _random(run, lots))
        assert violations(run.log) == [], seed
        read = [codec.read_event(json.loads(json.dumps(codec.write_event(event)))) for event in run.log]
        assert read == run.log
        assert standings(replay(read)) == standings(run.tournament)
        assert all(in_words(each.what) for each in run.tournament.corrections)
    assert len(done) > 25, done


def _random(run: TournamentRun, lots: random.Random) -> Correction:
    players = sorted(run.tournament.entrants) or ["nobody"]
    player, out = lots.choice(players), sorted(run.tournament.disqualified)
    start = lots.random() < 0.7
    results = lots.choice(list(Results)) if start else Results.STAND
    choices: list[Correction] = [
        Disqualify(player, start, results, lots.random() < 0.5),
        Reinstate(lots.choice(out) if out else player),
        Replay(lots.choice(sorted(run.tournament.results) or [1])),
        Replay(lots.choice(sorted(run.tournament.results) or [1])),
        Award(player, lots.choice((-2, -1, 1, 3))),
        DrawLots(tuple(lots.sample(players, min(3, len(players)))), str(lots.random())),
    ]
    return lots.choice(choices)
