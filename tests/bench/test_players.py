"""The players of the benchmarks: what they count."""

from __future__ import annotations

import pytest
from arbiter_protos.v1 import match_pb2
from arbiter_protos.v1 import play_pb2 as pb

from arbiter.bench.players import BenchBot, SharedData


async def test_a_turn_that_begins_again_is_answered_again_and_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    table = SharedData([["a", "b", "c"]], {"m": 0}, at_once=1, think_ms=0.0)
    table.round.playing = True
    bot = BenchBot(table)
    sent: list[pb.PlayAct] = []
    monkeypatch.setattr(bot, "_say", sent.append)

    def arrives(item: pb.PlayItem) -> None:
        bot._received(pb.PlayResponse(items=[item]).SerializeToString())

    for ply in (0, 0, 2):  # the server could store the beginning of the first turn only late
        arrives(pb.PlayItem(turn=pb.Turn(match_id="m", ply=ply)))
    assert [(act.request_id, act.move.move) for act in sent] == [("0", "a"), ("0", "a"), ("2", "c")]
    for request_id in ("0", "0", "2"):
        arrives(pb.PlayItem(answer=match_pb2.MoveAnswer(request_id=request_id, match_id="m")))
    assert table.round.moves == len(table.round.latencies) == 2
    assert bot.late() == []
