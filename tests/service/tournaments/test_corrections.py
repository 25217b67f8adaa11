"""Corrections over real matches: games are stopped and played again, also when the server dies in between."""

from __future__ import annotations

import asyncio
import random

import pytest

from arbiter.errors import Refusal
from arbiter.service.ports.journal import Subject
from arbiter.service.record.tournament_log import StoredLog
from arbiter.service.tournaments import live_log
from arbiter.service.tournaments.departures import NOTE, follow_suspension
from arbiter.service.tournaments.live_log import read_log
from arbiter.service.tournaments.tournament_ports import Dependencies
from arbiter.testing.clock import run, settle, virtually
from arbiter.tournaments import commands as do
from arbiter.tournaments.checker import broken_by_hand
from arbiter.tournaments.corrections import (
    Correction,
    Disqualify,
    Forbid,
    GiveBye,
    Hold,
    PairByHand,
    PairRound,
    Replay,
    Results,
)
from arbiter.tournaments.events import Decision
from arbiter.tournaments.game_ends import WALKOVER
from arbiter.tournaments.spec import Format
from arbiter.tournaments.tournament import Tournament, TournamentPhase
from tests.service.tournaments.contest import Contest, spec_of


@virtually
async def test_the_match_of_a_disqualified_player_is_stopped_at_once() -> None:
    contest = Contest(4)
    tournament_id = await contest.start(spec_of(Format.ROUND_ROBIN))
    while not (running := (await contest.tournament(tournament_id)).running):  # noqa: ASYNC110 - no event to wait for
        await asyncio.sleep(0.001)
    number, match_id = min(running), running[min(running)].match
    cheat = (await contest.tournament(tournament_id)).games[number - 1].seat1
    await contest.act(tournament_id, do.Correct("org", "out", Disqualify(cheat, True, Results.FORFEIT), "engine"))
    log = await contest.ended(tournament_id)
    result = log.tournament.results[number]
    assert log.tournament.as_played[number].reason == WALKOVER
    assert (result.half_points(1), result.half_points(2)) == (0, 2)
    match = await contest.server.arbiter.matches.match(match_id)
    assert match.result is not None
    assert match.result.cause == "organiser"


@virtually
async def test_a_game_is_played_again_over_a_match_of_its_own() -> None:
    contest = Contest(6)
    tournament_id = await contest.start(spec_of(Format.SWISS, rounds=3))
    while not (results := (await contest.tournament(tournament_id)).results):  # noqa: ASYNC110 - no event to wait for
        await asyncio.sleep(0.001)
    number = min(results)
    first = results[number].match
    await contest.act(tournament_id, do.Correct("org", "again", Replay(number), "wrong opening"))
    log = await contest.ended(tournament_id)
    assert log.tournament.results[number].match not in ("", first)
    assert log.tournament.rounds == 3


@virtually
async def test_nobody_waits_for_a_suspended_player_and_it_comes_back() -> None:
    contest = Contest(4)
    tournament_id = await contest.start(spec_of(Format.ROUND_ROBIN, cycles=3))
    await asyncio.sleep(0.05)
    tournaments = contest.server.arbiter.tournaments
    await follow_suspension(tournaments, "boss", "p001", suspended=True)
    await follow_suspension(tournaments, "boss", "p001", suspended=True)
    [decision] = (await contest.tournament(tournament_id)).corrections
    assert (decision.what, decision.caller, decision.note) == (Disqualify("p001"), "boss", NOTE)
    await follow_suspension(tournaments, "boss", "p001", suspended=False)
    assert not (await contest.tournament(tournament_id)).entrants["p001"].disqualified
    await contest.act(tournament_id, do.Correct("org", "out", Disqualify("p002"), "a cheat"))
    await follow_suspension(tournaments, "boss", "p002", suspended=True)
    await follow_suspension(tournaments, "boss", "p002", suspended=False)
    assert (await contest.tournament(tournament_id)).entrants["p002"].disqualified, "the organiser has said so"
    log = await contest.ended(tournament_id)
    assert any(result.reason == WALKOVER for result in log.tournament.results.values())


@virtually
async def test_a_tournament_waits_after_the_round_is_paired_by_hand_and_goes_on() -> None:
    contest = Contest(6)
    tournament_id = await contest.start(spec_of(Format.SWISS, rounds=3))
    while not (await contest.tournament(tournament_id)).running:  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    await contest.act(tournament_id, do.Correct("org", "hold", Hold()))
    while (tournament := await contest.tournament(tournament_id)).phase is not TournamentPhase.PAUSED:  # noqa: ASYNC110 - no event to wait for
        await asyncio.sleep(0.001)
    assert (tournament.rounds, tournament.all_decided()) == (1, True)
    first = tournament.meetings[0]
    await contest.act(tournament_id, do.Correct("org", "pair", PairRound(2)))
    while (tournament := await contest.tournament(tournament_id)).rounds == 1:  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    await asyncio.sleep(1)
    assert not tournament.running, "its games wait"
    await contest.act(tournament_id, do.Correct("org", "again", PairByHand(2, ((first.second, first.first),))))
    await contest.crash()
    while (tournament := await contest.tournament(tournament_id)).rounds == 1:  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    assert (first.second, first.first) in [each[2:4] for each in tournament.of_round(2)]
    await contest.act(tournament_id, do.Continue("org", "go on"))
    log = await contest.ended(tournament_id)
    assert any(text.endswith("meet again") for text in broken_by_hand(log.events))


@virtually
async def test_a_ruling_elsewhere_is_not_lost_while_a_tournament_that_has_ended_is_read() -> None:
    contest, told = Contest(4), asyncio.Event()
    tournament_id = await contest.start(spec_of(Format.ROUND_ROBIN))
    await contest.ended(tournament_id)
    beside = contest.server.beside().arbiter.tournaments

    async def read_slowly(dependencies: Dependencies, of: str, *, folded: bool) -> tuple[StoredLog, int] | None:
        found = await read_log(dependencies, of, folded=folded)
        await told.wait()
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(live_log, "read_log", read_slowly)
        reading = asyncio.create_task(beside.get(tournament_id))
        await settle()
    ruled = await contest.act(tournament_id, do.Rule("org", "void", 1, Decision.VOID))
    beside.log_grown((await contest.server.journal.read(tournament_id, subject=Subject.TOURNAMENT))[-1:])
    told.set()
    await reading
    await settle()
    assert (await beside.get(tournament_id)).revision == ruled.revision


@pytest.mark.long
def test_corrections_hold_though_the_server_dies(seeds: int) -> None:
    for seed in range(max(6, seeds // 4)):
        run(_corrected(seed))


async def _corrected(seed: int) -> None:
    lots = random.Random(seed)
    format_ = (Format.SWISS, Format.ROUND_ROBIN, Format.KNOCKOUT)[seed % 3]
    contest = Contest(6, seed)
    tournament_id = await contest.start(spec_of(format_))
    for n in range(4):
        await asyncio.sleep(lots.uniform(0, 0.2))
        tournament = await contest.tournament(tournament_id)
        if tournament.end is not None:
            break
        known = sorted(tournament.results)
        by_hand = _by_hand(tournament, lots) if lots.random() < 0.5 else None
        if by_hand is not None:
            wanted = do.Correct("org", f"h{n}", by_hand)
        elif n % 2 and known:
            wanted = do.Correct("org", f"r{n}", Replay(lots.choice(known)))
        else:
            wanted = do.Correct(
                "org", f"d{n}", Disqualify(lots.choice(contest.names), True, lots.choice(list(Results)))
            )
        before = len(tournament.corrections)
        try:
            await contest.act(tournament_id, wanted)
        except Refusal:
            continue
        await contest.crash()
        tournament = await contest.tournament(tournament_id)
        assert len(tournament.corrections) == before + 1, "it is in the log"
    await contest.ended(tournament_id)


def _by_hand(tournament: Tournament, lots: random.Random) -> Correction:
    round_ = tournament.rounds + lots.choice((0, 1, 1))
    pairs = [(each.second, each.first) for each in tournament.of_round(tournament.rounds)]
    two = lots.sample(list(tournament.entrants), 2)
    choices: list[Correction] = [
        PairByHand(round_, tuple(lots.sample(pairs, min(1, len(pairs))))),
        GiveBye(lots.choice(list(tournament.entrants)), round_, lots.choice((1, 2))),
        PairRound(round_),
        Forbid(two[0], two[1]),
    ]
    return lots.choice(choices)
