"""Plug-ins and tables that adjudicate: arguments, the effect of verdicts, and that errors affect no match."""

from __future__ import annotations

import asyncio
import random
from functools import cache
from typing import Any

import pytest

from arbiter.errors import Reason, Refusal
from arbiter.games.registry import game
from arbiter.keys.key_ring import SigningKey
from arbiter.matches.comments import Comment
from arbiter.matches.match import Phase
from arbiter.service.play.session import TurnItem
from arbiter.service.tournaments.adjudicators import (
    AdjudicatedEnd,
    AdjudicatorFailed,
    Case,
    InProcessAdjudicators,
    checked,
)
from arbiter.testing.clock import settle, virtually
from arbiter.testing.in_memory import InMemoryArbiter
from arbiter.tournaments import commands as do
from arbiter.tournaments.spec import Adjudication, Format, Openings
from tests.service.matches.test_comment_keys import Ring
from tests.service.tournaments.contest import Contest, spec_of

GAME = "circle-of-life"
PLAYS_ON = 2  #: a seed with which neither bot resigns the first game


def judged(plugin: str, games: tuple[str, ...] = (GAME,)) -> Any:
    return spec_of(Format.ROUND_ROBIN, games=games, adjudication=Adjudication(plugin=plugin))


@virtually
async def test_its_verdict_ends_the_match() -> None:
    cases: list[Case] = []

    def after_five(case: Case) -> AdjudicatedEnd | None:
        cases.append(case)
        return AdjudicatedEnd(2, "seat 2 was faster\n") if len(case.moves) >= 5 else None

    contest = Contest(3, server=InMemoryArbiter(judges=InProcessAdjudicators({"after-five": after_five})))
    log = await contest.ended(await contest.start(judged("after-five")))
    ended = [played for played in log.tournament.results.values() if played.reason == "adjudicated"]
    assert ended
    for played in ended:
        match = await contest.server.arbiter.matches.match(played.match)
        assert match.result is not None
        assert (match.result.winner, match.result.by) == (2, f"tournament:{log.tournament.id}")
        assert match.result.note == "plug-in after-five after 5 plies: seat 2 was faster"
    for case in cases:
        match = await contest.server.arbiter.matches.match(case.match_id)
        assert case.moves == match.moves[: len(case.moves)]
        assert (case.game, case.players) == (match.created.game, match.players)
        assert len(case.moves) == len(case.seats) == len(case.evaluations)


@virtually
async def test_it_receives_the_evaluations_of_the_bots() -> None:
    cases: list[Case] = []

    def listens(case: Case) -> None:
        cases.append(case)

    server = InMemoryArbiter(
        judges=InProcessAdjudicators({"listens": listens}), signer=Ring(SigningKey(b"\x01" * 32, 0))
    )
    tournament = await server.arbiter.tournaments.create(judged("listens"), "org", "make")
    bots = {name: await server.connect(name) for name in ("ann", "ben")}
    for name in bots:
        await server.arbiter.tournaments.act(tournament.id, do.Enter(name, "org", name))
    await server.arbiter.tournaments.act(tournament.id, do.Start("org", "start"))
    await asyncio.sleep(1)
    for evaluation in (700, None, 650):
        for bot in bots.values():
            for turn in [item for item in await bot.receive() if isinstance(item, TurnItem)]:
                match, now = turn.match, server.clock.now_ms()
                move = min(match.game.moves(match.position))
                said = None if evaluation is None else Comment(evaluation)
                server.arbiter.acts.play(bot.session, f"r{match.ply}", match.id, match.ply, move, now, said)
                await settle()
    assert cases[-1].evaluations[:1] == (700,)
    assert None in cases[-1].evaluations
    await server.arbiter.tournaments.act(tournament.id, do.Cancel("org", "enough"))
    await asyncio.sleep(1)


@virtually
async def test_its_errors_affect_no_match() -> None:
    def fails(case: Case) -> AdjudicatedEnd | None:
        raise RuntimeError("no idea")

    contest = Contest(3, server=InMemoryArbiter(judges=InProcessAdjudicators({"fails": fails})))
    log = await contest.ended(await contest.start(judged("fails", ("circle-of-life(target=1)",))))
    assert {played.reason for played in log.tournament.results.values()} <= {"resignation", "target_eaten"}


class Slow:
    """A plug-in, and tables, that think until the test stops it. asked: the plies that the plug-in was asked about."""

    names = frozenset({"slow"})
    has_tables = True

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.positions: list[str] = []
        self.go_on = asyncio.Event()

    async def judge(self, name: str, case: Case) -> AdjudicatedEnd | None:
        self.asked.append(len(case.moves))
        await self.go_on.wait()
        return None

    async def by_tables(self, position: str, ignore_50: bool) -> AdjudicatedEnd | None:
        self.positions.append(position)
        await self.go_on.wait()
        return None


@virtually
async def test_while_it_thinks_the_match_goes_on_and_the_newest_move_is_next() -> None:
    slow = Slow()
    contest = Contest(2, seed=PLAYS_ON, server=InMemoryArbiter(judges=slow))
    tournament_id = await contest.start(
        spec_of(Format.ROUND_ROBIN, games=("hop-it",), adjudication=Adjudication(plugin="slow"))
    )
    await asyncio.sleep(0.2)
    matches = contest.server.arbiter.matches
    [match] = [live.durable for live in matches.live]
    assert match is not None
    assert match.phase is Phase.ACTIVE
    assert match.ply > 5
    assert len(slow.asked) == 1
    slow.go_on.set()
    await asyncio.sleep(0)
    await settle()
    assert len(slow.asked) >= 2
    assert slow.asked[1] >= match.ply
    await contest.act(tournament_id, do.Cancel("org", "enough"))
    await contest.ended(tournament_id)


@virtually
async def test_after_a_restart_a_match_is_judged_again() -> None:
    plies: list[int] = []

    def counts(case: Case) -> None:
        plies.append(len(case.moves))

    contest = Contest(2, seed=PLAYS_ON, server=InMemoryArbiter(judges=InProcessAdjudicators({"counts": counts})))
    tournament_id = await contest.start(judged("counts", ("hop-it",)))
    await asyncio.sleep(0.1)
    for name in contest.names:
        await contest.leave(name)
    seen = len(plies)
    await contest.server.restart()
    await asyncio.sleep(0.5)
    assert len(plies) > seen
    await contest.act(tournament_id, do.Cancel("org", "enough"))
    await asyncio.sleep(1)


# -- tables


def by_tables(pieces: int, *games: str, ignore_50: bool = False) -> Any:
    rules = Adjudication(syzygy_pieces=pieces, syzygy_ignore_50=ignore_50)
    lines = {} if games else {"chess": (few_pieces_left(),)}
    return spec_of(
        Format.ROUND_ROBIN, games=games or ("chess",), adjudication=rules, openings=Openings(lines=lines), time="1h"
    )


@cache
def few_pieces_left() -> tuple[str, ...]:
    """Return the moves of a game in which each captures what it can until eight pieces are left."""
    chess, lots, moves = game("chess"), random.Random(1), list[str]()
    position = chess.initial()
    while pieces_of(chess.text(position)) > 8:
        after = {move: chess.play(position, move) for move in sorted(chess.moves(position))}
        going_on = {move: each for move, each in after.items() if each.outcome is None}
        fewest = min(pieces_of(chess.text(each)) for each in going_on.values())
        moves.append(lots.choice([m for m, each in going_on.items() if pieces_of(chess.text(each)) == fewest]))
        position = after[moves[-1]]
    return tuple(moves)


def pieces_of(position: str) -> int:
    return sum(map(str.isalpha, position.split()[0]))


@pytest.mark.parametrize("ignore_50", [False, True])
@virtually
async def test_tables_decide_positions_with_few_pieces(ignore_50: bool) -> None:
    asked: list[tuple[str, bool]] = []

    def third(position: str, ignored: bool) -> AdjudicatedEnd | None:
        asked.append((position, ignored))
        return AdjudicatedEnd(1, "it is won") if len(asked) == 3 else None

    judges = InProcessAdjudicators({}, tables=third)
    contest = Contest(2, seed=PLAYS_ON, server=InMemoryArbiter(judges=judges))
    log = await contest.ended(await contest.start(by_tables(7, ignore_50=ignore_50)))
    [played] = log.tournament.results.values()
    assert (played.winner, played.reason, played.cause) == (1, "adjudicated_tablebase", "organiser")
    match = await contest.server.arbiter.matches.match(played.match)
    assert match.result is not None
    assert match.result.note == f"Syzygy tables after {match.ply} plies: it is won"
    assert asked[-1] == (match.text, ignore_50)
    for position, ignored in asked:
        assert (position.split()[2], ignored) == ("-", ignore_50)
        assert pieces_of(position) <= 7


@virtually
async def test_tables_are_asked_about_each_position_however_slow_they_are() -> None:
    """A win counts only directly after a capture or pawn move, so that the newest position would not be enough."""
    slow = Slow()
    contest = Contest(2, seed=PLAYS_ON, server=InMemoryArbiter(judges=slow))
    tournament_id = await contest.start(by_tables(7))
    await asyncio.sleep(0.3)
    assert len(slow.positions) == 1
    slow.go_on.set()
    await settle()
    [match] = [live.durable for live in contest.server.arbiter.matches.live]
    assert match is not None
    plies = [2 * int(position.split()[5]) - 2 + (position.split()[1] == "b") for position in slow.positions]
    assert len(plies) > 5
    assert plies == list(range(plies[0], match.ply + 1))
    await contest.act(tournament_id, do.Cancel("org", "enough"))
    await contest.ended(tournament_id)


@virtually
async def test_tables_that_a_server_does_not_have_and_games_without_any_are_refused() -> None:
    with pytest.raises(Refusal, match=r"syzygy_pieces.*this server has no Syzygy tables: its setting `syzygy` names"):
        await InMemoryArbiter().arbiter.tournaments.create(by_tables(5), "org", "make")
    server = InMemoryArbiter(judges=InProcessAdjudicators({}, tables=lambda position, ignore_50: None))
    with pytest.raises(Refusal, match="0 for hop-it, of which there are no tables"):
        await server.arbiter.tournaments.create(by_tables(5, "chess", "hop-it"), "org", "make")
    await server.arbiter.tournaments.create(by_tables(5, "chess", "chess960(start=7)"), "org", "make")
    with pytest.raises(AdjudicatorFailed, match="no Syzygy tables"):
        await InProcessAdjudicators({}).by_tables("", False)


@virtually
async def test_an_unknown_plug_in_is_refused() -> None:
    server = InMemoryArbiter(judges=InProcessAdjudicators({"known": lambda case: None}))
    with pytest.raises(Refusal) as caught:
        await server.arbiter.tournaments.create(judged("unknown"), "org", "make")
    refusal = caught.value
    assert refusal.reason is Reason.PARAMETER_INVALID
    assert refusal.facts["where"] == "adjudication.plugin"
    assert "known" in refusal.facts["allowed"]
    await server.arbiter.tournaments.create(judged("known"), "org", "make")
    with pytest.raises(Refusal, match="none is installed"):
        await InMemoryArbiter().arbiter.tournaments.create(judged("known"), "org", "make")


@pytest.mark.parametrize(
    "said", ["a win", 1, (1, "a"), AdjudicatedEnd(3), AdjudicatedEnd(True, "x" * 3)._replace(winner=9)]
)
def test_an_invalid_verdict_is_refused(said: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        checked(said)


def test_the_text_of_a_verdict_is_cut_to_fit_the_record() -> None:
    verdict = checked(AdjudicatedEnd(1, "over\0" + "é" * 1_000))
    assert verdict is not None
    assert verdict.note == r"over\x00" + "é" * 292
    assert checked(None) is None


@virtually
async def test_a_plug_in_that_is_no_longer_installed() -> None:
    with pytest.raises(AdjudicatorFailed):
        await InProcessAdjudicators({}).judge("gone", None)  # type: ignore[arg-type]
