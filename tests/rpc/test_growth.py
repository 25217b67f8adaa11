"""Nothing grows with what clients send: the server holds as much after many rounds of calls as after one."""

from __future__ import annotations

import asyncio
import gc
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import grpc
import pytest
from arbiter_protos.v1 import game_pb2, match_pb2, play_pb2, play_pb2_grpc, player_pb2

from arbiter.bootstrap.world import World
from arbiter.config import Limits, Settings
from arbiter.service.gate.gate import Gate
from arbiter.service.matches.live import ENDED_KEPT
from arbiter.service.play.session import RESULTS_KEPT
from arbiter.service.play.stream_ends import PLAYERS_KEPT
from arbiter.service.token_bucket import NAMES_KEPT
from arbiter.testing.served import memory_world, served
from arbiter.wire.encoding_pool import EncodingPool
from tests.rpc.calls import Stubs

ROUND = 25  #: callers in a round, each with new names and ids
LIMITS = Limits(open_challenges_of_player=2, registrations_a_minute=10_000, calls_a_second=100_000)

# What may be larger after a round, and its maximum: each of these is intended, and bounded.
BOUNDED = {
    "Accounts._callers": 100_000,
    "Accounts._admitted": 100_000,
    "EndedMatches._matches": ENDED_KEPT,
    "Session.unacknowledged": RESULTS_KEPT,  # of each stream
    "StreamEnds._of_player": PLAYERS_KEPT,
    "TokenBuckets._buckets": NAMES_KEPT,  # names of the last period
}

ROOMS = tuple(
    f"arbiter.{room}" for room in ("service", "rpc", "bootstrap", "workers", "keys", "observability", "runtime")
)


def held(root: object) -> dict[str, int]:
    """Return the number of entries in each container reachable from an object, by class and attribute."""
    sizes: dict[str, int] = {}
    seen: set[int] = set()
    waiting: deque[Any] = deque([root])
    while waiting:
        item = waiting.popleft()
        if id(item) in seen:
            continue
        seen.add(id(item))
        for name, value in _attributes(item):
            if isinstance(value, Mapping | list | set | deque | frozenset):
                where = f"{type(item).__name__}.{name}"
                sizes[where] = sizes.get(where, 0) + len(value)
                waiting.extend(value.values() if isinstance(value, Mapping) else value)
            elif isinstance(value, tuple) or _ours(value):
                waiting.append(value)
    return sizes


def _attributes(item: object) -> Iterator[tuple[str, Any]]:
    if isinstance(item, tuple):
        yield from ((f"{number}", value) for number, value in enumerate(item) if _ours(value))
    elif _ours(item):
        names = [
            *getattr(item, "__dict__", ()),
            *(n for kind in type(item).__mro__ for n in getattr(kind, "__slots__", ())),
        ]
        yield from ((name, getattr(item, name)) for name in names if hasattr(item, name))


def _ours(item: object) -> bool:
    """Return whether an object is one of the arbiter's that live as long as the server; a test's store is not."""
    module = type(item).__module__
    return module.startswith(ROOMS)


async def visit(stubs: Stubs, name: str) -> None:
    """Make all calls that a client can make, correct and wrong, as a new caller."""
    made = await stubs.players.RegisterPlayer(player_pb2.RegisterPlayerRequest(name=name))
    own = [("authorization", f"Bearer {made.token}")]
    match = await stubs.match(f"of {name}", players=[name, "bob"])
    terms = player_pb2.Terms(game="pods", time_control="1m")
    line = game_pb2.LineOfPlay(game="circle-of-life", moves=["e5", name])
    move = match_pb2.SubmitMoveRequest(request_id=name, match_id=match.match_id, move=name)
    hello = play_pb2.PlayAct(hello=play_pb2.ClientHello(protocol_version="1.0", bot_name=name))
    acts = [
        play_pb2.PlayAct(request_id=f"{name} {n}", match_id=f"{name} {n}", move=play_pb2.MoveAct(move=name))
        for n in range(3)
    ]
    acts += [play_pb2.PlayAct(pong=play_pb2.Pong(number=n)) for n in range(50)]
    play: Any = play_pb2_grpc.PlayServiceStub(stubs.served.channel)
    one = match_pb2.ObserveMatch(match_id=match.match_id)
    calls: list[Callable[[], Any]] = [
        lambda: stubs.matches.GetMatch(match_pb2.GetMatchRequest(match_id=name), metadata=own),
        lambda: stubs.matches.ListMatches(match_pb2.ListMatchesRequest(label=name), metadata=own),
        lambda: stubs.games.GetGame(game_pb2.GetGameRequest(game=name)),
        lambda: stubs.games.LegalMoves(game_pb2.LegalMovesRequest(line=line), metadata=own),
        lambda: stubs.games.PlayMoves(game_pb2.PlayMovesRequest(line=line), metadata=own),
        lambda: stubs.players.GetPlayer(player_pb2.GetPlayerRequest(), metadata=[("authorization", f"Bearer {name}")]),
        lambda: stubs.players.CreateSeek(player_pb2.CreateSeekRequest(request_id=name, terms=terms), metadata=own),
        lambda: stubs.matches.SubmitMove(move, metadata=own),
        lambda: stubs.matches.SubmitMoves(iter([match_pb2.SubmitMovesRequest(moves=[move])]), metadata=own),
        lambda: play.Play(iter([play_pb2.PlayRequest(acts=[hello, *acts])]), metadata=own),
        lambda: stubs.matches.Resign(match_pb2.ResignRequest(request_id="x", match_id=match.match_id), metadata=own),
        lambda: stubs.matches.Observe(match_pb2.ObserveRequest(match=one), metadata=own),
        lambda: stubs.matches.GetTranscript(match_pb2.GetTranscriptRequest(match_id=name), metadata=own),
    ]
    for call in calls:
        with suppress(grpc.aio.AioRpcError):
            answer = call()
            if hasattr(answer, "__aiter__"):
                async for _ in answer:
                    pass
            else:
                await answer


@pytest.mark.long
async def test_calls_leave_nothing_behind_but_what_is_bounded() -> None:
    pools: list[EncodingPool] = []

    @asynccontextmanager
    async def world(settings: Settings) -> AsyncIterator[World]:
        async with memory_world(settings) as plain:
            pools.append(EncodingPool(settings.limits, 1))
            await pools[0].warm()
            yield plain._replace(rules=pools[0])
            await pools[0].close()

    async with served(world, limits=LIMITS) as running:
        stubs = await Stubs(running).enter()
        gates = [item for item in gc.get_objects() if isinstance(item, Gate)]
        watched = (running.running.arbiter, pools[0], *gates)
        sizes, tasks = [], []
        for number in range(3):
            for visitor in range(ROUND):
                await visit(stubs, f"visitor-{number}-{visitor}")
            await quiet(watched)
            sizes.append(held(watched))
            tasks.append(len(asyncio.all_tasks()))
        grown = {name: size for name, size in sizes[2].items() if size > sizes[0].get(name, 0)}
        assert {name: size for name, size in grown.items() if name not in BOUNDED} == {}
        assert all(size <= BOUNDED[name] for name, size in grown.items())
        assert tasks[2] <= tasks[0] + 2
        assert {"Accounts._callers", "EndedMatches._matches"} <= set(grown)  # the search does find what grows


async def quiet(watched: object) -> None:
    """Wait until everything that was under way when the last call was answered has ended."""
    last: dict[str, int] = {}
    while (now := held(watched)) != last:
        last = now
        for _ in range(100):
            await asyncio.sleep(0)
