"""Answers about rules that the worker processes have encoded are those that this process would make."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from arbiter_protos.v1 import game_pb2 as pb
from google.protobuf import json_format

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.games import registry
from arbiter.wire.encoding_pool import EncodingPool
from arbiter.wire.game_messages import contents

pytestmark = pytest.mark.asyncio(loop_scope="module")

LIMITS = Limits(chunk_moves=40, rules_ms=60_000)
TOO_LONG = ("x",) * (LIMITS.line_moves + 1)
ELEVATION = registry.game("elevation")
CIRCLE = registry.game("circle-of-life")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rules() -> AsyncIterator[EncodingPool]:
    """Run one process for all tests: it takes longer to start than to answer."""
    pool = EncodingPool(LIMITS, 1)
    try:
        yield pool
    finally:
        await pool.close()


def moves() -> list[str]:
    """Return the moves of a whole game."""
    position, played = CIRCLE.initial(), list[str]()
    while position.outcome is None:
        played.append(min(CIRCLE.moves(position)))
        position = CIRCLE.play(position, played[-1])
    return played


@pytest.mark.parametrize("as_json", [False, True])
async def test_a_list_of_moves_with_their_steps(rules: EncodingPool, as_json: bool) -> None:
    found = await rules.encoded_moves("bob", "elevation", "", (), steps=True, as_json=as_json)
    messages = [
        json_format.Parse(message, pb.LegalMovesResponse()) if as_json else pb.LegalMovesResponse.FromString(message)
        for message in found
    ]
    start = ELEVATION.initial()
    texts = sorted(ELEVATION.moves(start))
    assert [move.text for message in messages for move in message.moves] == texts
    assert {(message.total, message.position) for message in messages} == {(len(texts), ELEVATION.text(start))}
    assert [len(message.moves) for message in messages[:-1]] == [LIMITS.chunk_moves] * (len(messages) - 1)
    for move in messages[-1].moves:
        shown = [(s.action, s.source, s.target, s.piece, s.facing if s.HasField("facing") else -1) for s in move.steps]
        assert shown == [tuple(step) for step in ELEVATION.steps(start, move.text)]


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("board", [False, True])
async def test_a_line_of_play_from_a_ply_on(rules: EncodingPool, board: bool, as_json: bool) -> None:
    line = moves()
    found = b"".join(await rules.encoded_line("bob", "circle-of-life", "", line, 2, board, as_json))
    played = pb.PlayMovesResponse()
    if as_json:
        json_format.Parse(found, played)
    else:
        played.ParseFromString(found)
    positions = [CIRCLE.initial()]
    for move in line:
        positions.append(CIRCLE.play(positions[-1], move))
    assert [(p.ply, p.position, p.turn) for p in played.positions] == [
        (ply, CIRCLE.text(position), position.turn) for ply, position in enumerate(positions) if ply >= 2
    ]
    boards = [contents(CIRCLE, position) if board else [] for position in positions[2:]]
    assert [list(p.board) for p in played.positions] == boards
    assert (played.outcome.winner, played.outcome.reason) == tuple(positions[-1].outcome or ())


async def test_refusals_are_those_of_the_rules(rules: EncodingPool) -> None:
    for work in (
        rules.encoded_moves("bob", "circle-of-life", "", TOO_LONG, steps=False, as_json=False),
        rules.encoded_line("bob", "circle-of-life", "", TOO_LONG, 0, board=False, as_json=True),
    ):
        with pytest.raises(Refusal) as refused:
            await work
        assert refused.value.reason is Reason.ARGUMENT_INVALID


async def test_a_position_without_moves_has_one_message(rules: EncodingPool) -> None:
    position = CIRCLE.initial()
    line = moves()
    for move in line:
        position = CIRCLE.play(position, move)
    (message,) = await rules.encoded_moves("bob", "circle-of-life", "", line, steps=False, as_json=False)
    assert pb.LegalMovesResponse.FromString(message) == pb.LegalMovesResponse(position=CIRCLE.text(position))
