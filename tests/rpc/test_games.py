"""GameService over real gRPC."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio
from arbiter_protos.v1 import game_pb2 as pb

from arbiter.bootstrap.world import World
from arbiter.config import Limits, Settings
from arbiter.errors import Reason
from arbiter.games.registry import classes, game
from arbiter.testing.served import memory_world, served
from arbiter.wire import rules_messages
from arbiter.wire.encoding_pool import EncodingPool
from tests.rpc.calls import Stubs, refused

pytestmark = pytest.mark.asyncio(loop_scope="module")

WIDE = "FTTTTF/F.T.T.F/FTTTTF/_TFT.T_/FTTTTF/F.T.T.F/FttTTF 1 0"  #: 228,119 paths of hops
WIDER = "fffFFF/_F.F.F_/FFFFFF/F.FFF.F/FFFFFF/_F.F.F_/FFFFFF 1 0"  #: 634,600: more than the server lists


@asynccontextmanager
async def pooled(settings: Settings) -> AsyncIterator[World]:
    """Open a world in memory that computes rules in worker processes."""
    async with memory_world(settings) as world:
        pool = EncodingPool(settings.limits, settings.rules_workers)
        await pool.warm()
        try:
            yield world._replace(rules=pool)
        finally:
            await pool.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stubs() -> AsyncIterator[Stubs]:
    """Run one server for all tests: its processes take longer to start than to answer."""
    async with served(pooled, limits=Limits(chunk_moves=7)) as server:
        yield await Stubs(server).enter()


def line(variant: str, *moves: str, position: str = "") -> pb.LegalMovesRequest:
    """Ask about the end of a line of play."""
    return pb.LegalMovesRequest(line=pb.LineOfPlay(game=variant, position=position, moves=moves))


async def listed(call: Any) -> tuple[list[str], list[pb.LegalMovesResponse]]:
    """Return the moves of a listing, and its chunks."""
    chunks = [chunk async for chunk in call]
    return [move.text for chunk in chunks for move in chunk.moves], chunks


async def test_games_come_in_pages(stubs: Stubs) -> None:
    ids: list[str] = []
    token, pages = "", 0
    while pages == 0 or token:
        page = await stubs.games.ListGames(pb.ListGamesRequest(page_size=2, page_token=token))
        ids, token, pages = ids + [summary.id for summary in page.games], page.next_page_token, pages + 1
    assert (ids, pages) == (list(classes()), (len(classes()) + 1) // 2)
    await refused(stubs.games.ListGames(pb.ListGamesRequest(page_size=-1)), Reason.ARGUMENT_INVALID, where="page_size")
    await refused(stubs.games.ListGames(pb.ListGamesRequest(page_token="x")), Reason.ARGUMENT_INVALID, what="x")


async def test_a_variant_is_described_completely(stubs: Stubs) -> None:
    pods = await stubs.games.GetGame(pb.GetGameRequest(game="pods(size=3)"))
    rules = game("pods(size=3)")
    assert (pods.game, pods.initial_position) == ("pods(size=3)", rules.text(rules.initial()))
    assert [cell.name for cell in pods.board.cells] == list(rules.board.names)
    assert pods.rules_text
    await refused(stubs.games.GetGame(pb.GetGameRequest(game="ludo")), Reason.GAME_UNKNOWN, what="ludo")
    wrong = pb.GetGameRequest(game="pods(size=99)")
    await refused(stubs.games.GetGame(wrong), Reason.PARAMETER_INVALID, what="99", where="pods(size=…)")


@pytest.mark.parametrize("variant", ["elevation", "pods"])
async def test_a_list_is_complete_sorted_and_cut_into_chunks(stubs: Stubs, variant: str) -> None:
    rules = game(variant)
    position, moves = rules.initial(), list[str]()
    for _ in range(0 if variant == "elevation" else 30):
        moves.append(min(rules.moves(position)))
        position = rules.play(position, moves[-1])
    expected = sorted(rules.moves(position), key=str.encode)
    texts, chunks = await listed(stubs.games.LegalMoves(line(variant, *moves)))
    assert texts == expected
    assert len(chunks) == -(-len(expected) // 7) > 1
    assert {(chunk.total, chunk.position) for chunk in chunks} == {(len(expected), rules.text(position))}


async def test_answers_about_rules_are_encoded_by_the_workers(stubs: Stubs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules_messages, "pb", None)  # in this process, whose event loop players need
    texts, _ = await listed(stubs.games.LegalMoves(line("pods")))
    whole = pb.LineOfPlay(game="pods", moves=texts[:1])
    assert len((await stubs.games.PlayMoves(pb.PlayMovesRequest(line=whole, with_board=True))).positions) == 2


async def test_moves_of_a_match_at_any_ply_with_their_steps(stubs: Stubs) -> None:
    match = await stubs.match()
    rules = game("circle-of-life")
    position = rules.initial()
    first = min(rules.moves(position))
    later = rules.play(position, first)
    await stubs.move(1, match.match_id, 0, first)

    async def at(ply: int | None) -> list[str]:
        request = pb.LegalMovesRequest(match=pb.MatchPly(match_id=match.match_id, ply=ply), with_steps=True)
        _, chunks = await listed(stubs.games.LegalMoves(request))
        moves = [move for chunk in chunks for move in chunk.moves]
        assert all(move.steps for move in moves)
        return [move.text for move in moves]

    assert await at(0) == sorted(rules.moves(position))
    assert await at(1) == await at(None) == sorted(rules.moves(later))
    for ply in (2, -1):
        ahead = pb.LegalMovesRequest(match=pb.MatchPly(match_id=match.match_id, ply=ply))
        await refused(stubs.games.LegalMoves(ahead), Reason.PLY_MISMATCH, expected="1", actual=str(ply))
    unknown = pb.LegalMovesRequest(match=pb.MatchPly(match_id="nowhere"))
    await refused(stubs.games.LegalMoves(unknown), Reason.MATCH_NOT_FOUND, id="nowhere")


@pytest.mark.parametrize(
    ("asked", "reason", "facts"),
    [
        (pb.LegalMovesRequest(), Reason.ARGUMENT_INVALID, {"where": "at"}),
        (line("ludo"), Reason.GAME_UNKNOWN, {"what": "ludo"}),
        (line("pods(size=x)"), Reason.PARAMETER_INVALID, {"what": "x"}),
        (line("pods", position="rubbish"), Reason.POSITION_MALFORMED, {}),
        (line("circle-of-life", "rubbish"), Reason.MOVE_MALFORMED, {"ply": "0", "move": "rubbish"}),
        (line("circle-of-life", *["a1"] * 2), Reason.MOVE_ILLEGAL, {"ply": "1", "move": "a1"}),
        (line("pods", *["x"] * 5_001), Reason.ARGUMENT_INVALID, {"what": "5001", "where": "moves"}),
    ],
)
async def test_malformed_lines_are_refused(
    stubs: Stubs, asked: pb.LegalMovesRequest, reason: Reason, facts: dict[str, str]
) -> None:
    await refused(stubs.games.LegalMoves(asked), reason, **facts)
    if asked.HasField("line"):
        await refused(stubs.games.PlayMoves(pb.PlayMovesRequest(line=asked.line)), reason, **facts)


@pytest.mark.long
async def test_a_line_may_begin_at_any_ply(stubs: Stubs) -> None:
    rules = game("circle-of-life")
    positions, moves = [rules.initial()], list[str]()
    while positions[-1].outcome is None:
        moves.append(min(rules.moves(positions[-1])))
        positions.append(rules.play(positions[-1], moves[-1]))
    whole = pb.LineOfPlay(game="circle-of-life", moves=moves)
    played = await stubs.games.PlayMoves(pb.PlayMovesRequest(line=whole, from_ply=2, with_board=True))
    assert [(p.ply, p.position) for p in played.positions] == [
        (ply, rules.text(position)) for ply, position in enumerate(positions) if ply >= 2
    ]
    assert all(p.board for p in played.positions)
    assert (played.outcome.winner, played.outcome.reason) == tuple(positions[-1].outcome)
    _, chunks = await listed(stubs.games.LegalMoves(line("circle-of-life", *moves)))
    assert [(len(chunk.moves), chunk.total) for chunk in chunks] == [(0, 0)]
    beyond = pb.PlayMovesRequest(line=whole, from_ply=len(moves) + 1)
    await refused(stubs.games.PlayMoves(beyond), Reason.ARGUMENT_INVALID, where="from_ply")


@pytest.mark.long
async def test_a_hostile_request_delays_no_other_caller() -> None:
    async with served(
        pooled, rules_workers=2, limits=Limits(rules_ms=60_000, rules_answer_moves=300_000, calls_a_second=100_000)
    ) as server:
        stubs = await Stubs(server).enter()
        match = await stubs.match()
        hostile: Any = stubs.games.LegalMoves(line("hop-it(duty=none)", position=WIDE), metadata=stubs.bob)
        counting = asyncio.create_task(_count(hostile))
        texts, _ = await listed(stubs.games.LegalMoves(line("elevation"), metadata=stubs.alice))
        rules = game("circle-of-life")
        receipt = await stubs.move(1, match.match_id, 0, min(rules.moves(rules.initial())))
        assert not counting.done()
        elevation = game("elevation")
        assert (texts, receipt.ply) == (sorted(elevation.moves(elevation.initial())), 1)
        assert await counting == (228_119, 228_119)
        wider = stubs.games.LegalMoves(line("hop-it(duty=none)", position=WIDER), metadata=stubs.bob)
        await refused(wider, Reason.BUDGET_SPENT, limit="300000", retry_after_ms="0")


async def _count(call: Any) -> tuple[int, int]:
    count, total = 0, 0
    async for chunk in call:
        count, total = count + len(chunk.moves), chunk.total
    return count, total
