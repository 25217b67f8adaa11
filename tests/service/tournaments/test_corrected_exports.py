"""Property: a tournament that was corrected at random verifies offline, and no event of its file can be changed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from typing import Final

import pytest

from arbiter.errors import Refusal
from arbiter.event_json.canonical import decode, encode
from arbiter.testing.clock import run
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.testing.random_corrections import drawn_correction, drawn_ruling
from arbiter.tournaments import commands as do
from arbiter.tournaments.corrections import CORRECTIONS
from arbiter.tournaments.spec import Format
from arbiter.tournaments.tournament import TournamentPhase
from tests.service.tournaments.contest import Contest, spec_of
from tests.service.tournaments.test_tournament_verification import KEY, Export, export_of, forged

pytestmark = pytest.mark.long

MOST_DECISIONS: Final = 200


async def corrected(format_: Format, seed: int) -> tuple[Export, set[str]]:
    """Play a tournament that is corrected at random until it has ended, and after that; return which decisions."""
    lots = random.Random(f"{format_} {seed}")
    contest = Contest(2 if format_ is Format.TRIAL else 6, seed, InMemoryArbiter(signer=KEY))
    length = {"duration_ms": 3_000} if format_ in (Format.ARENA, Format.LADDER) else {"most_meetings": 60}
    tournament_id, made, after = await contest.start(spec_of(format_, **length)), set[str](), 0
    for number in range(MOST_DECISIONS):
        tournament = await contest.tournament(tournament_id)
        after += tournament.phase is TournamentPhase.ENDED
        if after > 4:
            break
        wanted: do.Rule | do.Correct
        if lots.random() < 0.3:
            wanted = do.Rule("org", f"decision {number}", *drawn_ruling(tournament, lots), "a reason")
        else:
            wanted = do.Correct("boss", f"decision {number}", drawn_correction(tournament, lots), "a reason")
        try:
            await contest.act(tournament_id, wanted)
        except Refusal:
            pass
        else:
            made.add(wanted.what.name if isinstance(wanted, do.Correct) else "rule")
        if tournament.phase is TournamentPhase.PAUSED and lots.random() < 0.5:
            await contest.act(tournament_id, do.Continue("org", f"go on {number}"))
        await asyncio.sleep(lots.uniform(0.0, 0.1))
    return await export_of(contest, tournament_id), made


def tampered(lines: list[bytes], lots: random.Random, most: int) -> Iterator[tuple[str, list[bytes]]]:
    """Yield files in which one event is changed: a result, a ruling, a correction, the order; or is left out.

    most: lines that are tampered with, in each way.
    """
    log = range(1, len(lines) - 2)  # without the creation, the standings and the signature
    for number in lots.sample(log, min(most, len(log))):
        yield "left out", [*lines[:number], *lines[number + 1 :]]
    for number in lots.sample(log[:-1], min(most, len(log) - 1)):
        yield "out of order", [*lines[:number], lines[number + 1], lines[number], *lines[number + 2 :]]
    for kind, field, other in (("game_ended", "winner", None), ("ruled", "note", ""), ("corrected", "caller", "eve")):
        found = [number for number in log if decode(lines[number])["kind"] == kind]
        for number in lots.sample(found, min(most, len(found))):
            value = decode(lines[number])
            assert isinstance(value, dict)
            changed = (2 if value[field] != 2 else 1) if kind == "game_ended" else other
            yield kind, [*lines[:number], encode({**value, field: changed}), *lines[number + 1 :]]


@pytest.mark.parametrize("format_", Format)
def test_the_file_of_a_corrected_tournament_verifies_and_no_event_of_it_can_be_changed(
    format_: Format, seeds: int
) -> None:
    made, ways = set[str](), set[str]()
    for seed in range(max(1, seeds // 20)):
        export, decisions = run(corrected(format_, seed))
        assert export.verified().tournament.end is not None
        made |= decisions
        for what, lines in tampered(export.lines, random.Random(seed), 2 if seeds <= 20 else 8):
            export.refused(b"".join(line + b"\n" for line in lines))
            resealed = forged(lines).splitlines()  # with a chain that is whole, but without the arbiter's key
            export.refused(b"".join(line + b"\n" for line in (*resealed[:-1], lines[-1])))
            if what == "game_ended":  # not even the arbiter can change a game that its players' moves decide
                export.refused(forged(lines))
            ways.add(what)
    assert made
    assert made <= {*CORRECTIONS, "rule"}
    assert ways >= {"left out", "out of order"}
