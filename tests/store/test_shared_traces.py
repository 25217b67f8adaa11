"""Traces with several servers: the server that hands a turn over adds to the trace of the one that decided."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from arbiter.observability.traces import ids_of
from arbiter.testing.served import served
from tests.observability.test_metrics import read, value
from tests.observability.test_traces import MOVES, Spans, by_trace, check, moves_of, play, traced_world
from tests.rpc.calls import Stubs
from tests.rpc.test_play import connected

pytestmark = pytest.mark.long


async def test_a_trace_continues_at_the_server_of_the_opponent(postgres: str, tmp_path: Path) -> None:
    spans = Spans()
    given: dict[str, Any] = {"store": postgres, "keys": tmp_path / "arbiter.keys", "rules_workers": 1}
    given["metrics"] = "127.0.0.1:0"
    one, other = (partial(traced_world, spans=spans, shared=True, name=name) for name in ("one", "other"))
    async with served(one, **given) as here, served(other, **given) as there:
        stubs = await Stubs(here).enter()
        bots = [await connected(here, "alice"), await connected(there, "bob")]
        match = await stubs.match()
        await play(bots, match.match_id, MOVES)
        moves = await moves_of(here, match.match_id)
        traces = by_trace(spans)
        counted = [await asyncio.to_thread(read, server.running.metrics) for server in (here, there)]
    own = [value(samples, "moves_total", game="circle-of-life") for samples in counted]
    assert own == [MOVES / 2, MOVES / 2], "each move is counted once, by the server that decided it"
    assert [value(samples, "move_seconds_count", stage="acknowledge") for samples in counted] == own
    assert [value(samples, "live_matches") for samples in counted] == [1, 1]
    assert len(traces) == len(moves) == MOVES
    for revision, move in moves.items():
        trace = traces[ids_of(match.match_id, revision).trace]
        check(trace, match.match_id, revision, move, is_elsewhere=True)
        decided, sent = (trace[name].resource.attributes["service.instance.id"] for name in ("move", "hand_over"))
        assert (decided, sent) == (("one", "other") if move.seat == 1 else ("other", "one"))
