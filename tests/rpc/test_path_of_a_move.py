"""The path of a move, as deploy/PATH.md describes it: the functions that it names are called, in that order."""

from __future__ import annotations

import importlib
import re
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from operator import attrgetter
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest
from arbiter_protos.v1 import match_pb2, match_pb2_grpc, play_pb2, play_pb2_grpc

from arbiter.bootstrap.store import open_store
from arbiter.bootstrap.world import World
from arbiter.config import Settings
from arbiter.games.registry import game
from arbiter.service.players.accounts import Scope
from arbiter.testing.served import Served, memory_world, served
from tests.store import commit_thread

ROOT = Path(__file__).parent.parent.parent


class Step(NamedTuple):
    """A function on the path."""

    file: str
    function: str


def steps(unlocked: bool = False) -> list[list[Step]]:
    """Return the steps that the page names, by line.

    `unlocked`: with those of the paragraph behind the lines, in the place of the commit by the writer's thread.
    """
    text = (ROOT / "deploy" / "PATH.md").read_text()
    listed, _, behind = text.partition("\n\nWhere the modules are compiled")
    lines = re.split(r"^\d+\. ", listed, flags=re.MULTILINE)[1:]
    found = [named(line) for line in lines]
    if unlocked:
        found[found.index([Step("arbiter/store/writer.py", "Writer._commit")])] = named(behind)
    return found


def named(text: str) -> list[Step]:
    return [Step(*found) for found in re.findall(r"`(arbiter/\S+\.py)`,\s`([\w.]+)`", text)]


class Calls:
    """The calls of `arbiter` functions while `recording`, in every thread that is started within `watching`."""

    def __init__(self) -> None:
        self.seen: list[Step] = []
        self.recording = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        threading.setprofile(self._called)
        sys.setprofile(self._called)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _called(self, frame: FrameType, event: str, _: object) -> None:
        path = frame.f_code.co_filename
        if self.recording and event == "call" and "/arbiter/" in path:
            self.seen.append(Step(f"arbiter/{path.rpartition('/arbiter/')[2]}", frame.f_code.co_qualname))


class Bot:
    """The stream of a player who says hello and waits for turns."""

    def __init__(self, server: Served, metadata: Any) -> None:
        self._call: Any = play_pb2_grpc.PlayServiceStub(server.channel).Play(metadata=metadata)

    async def say(self, act: play_pb2.PlayAct) -> None:
        await self._call.write(play_pb2.PlayRequest(acts=[act]))

    async def next(self, kind: str) -> Any:
        """Return the next item of a kind; ignore others."""
        while True:
            for item in (await self._call.read()).items:
                if item.WhichOneof("item") == kind:
                    return getattr(item, kind)


@asynccontextmanager
async def world_on_disk(path: Path, settings: Settings) -> AsyncIterator[World]:
    async with memory_world(settings) as world, open_store(f"sqlite:///{path}") as store:
        yield world._replace(store=store)


async def play_moves(server: Served, calls: Calls) -> None:
    """Play three moves that an observer receives, and record the calls of the last one."""
    alice, bob = [Bot(server, await server.token(name)) for name in ("alice", "bob")]
    for bot in (alice, bob):
        await bot.say(play_pb2.PlayAct(hello=play_pb2.ClientHello(protocol_version="1.0")))
        await bot.next("hello")
    organiser = await server.token("org", Scope.ORGANISE)
    matches: Any = match_pb2_grpc.MatchServiceStub(server.channel)
    request = match_pb2.CreateMatchRequest(
        request_id="r", game="circle-of-life", players=["alice", "bob"], time_control="1m+1s"
    )
    match_id = (await matches.CreateMatch(request, metadata=organiser)).match.match_id
    of_match = match_pb2.ObserveMatch(match_id=match_id)
    events = matches.Observe(match_pb2.ObserveRequest(match=of_match), metadata=organiser)
    rules = game("circle-of-life")
    position = rules.initial()
    for ply, mover in enumerate([alice, bob, alice]):
        assert (await mover.next("turn")).ply == ply
        move = rules.moves(position)[0]
        position = rules.play(position, move)
        act = play_pb2.MoveAct(ply=ply, move=move)
        calls.recording = ply == 2  # after two moves that it has seen, the observer has no past event to look at
        await mover.say(play_pb2.PlayAct(request_id=f"m{ply}", match_id=match_id, move=act))
        assert (await mover.next("answer")).request_id == f"m{ply}"
        while not any(item.event.HasField("moved") for item in (await events.read()).items):
            pass  # arrivals and bookmarks
    assert (await bob.next("turn")).ply == 3
    calls.recording = False
    events.cancel()


@pytest.mark.parametrize("unlocked", [False, True])
def test_the_steps_exist(unlocked: bool) -> None:
    lines = steps(unlocked)
    assert len(lines) == 10
    assert all(lines)
    for step in (step for line in lines for step in line):
        module = importlib.import_module(step.file.removesuffix(".py").replace("/", "."))
        assert callable(attrgetter(step.function)(module)), step


@pytest.mark.interpreted  # no profiler sees the calls of compiled code
@pytest.mark.parametrize("unlocked", [False, pytest.param(True, marks=pytest.mark.toolchain)])
async def test_a_move_takes_the_described_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unlocked: bool) -> None:
    """`unlocked`: the move is committed by the thread that needs no lock, the only module that is compiled here."""
    monkeypatch.setitem(sys.modules, commit_thread.NAME, commit_thread.built(tmp_path) if unlocked else None)
    calls = Calls()
    with calls.watching():
        async with served(partial(world_on_disk, tmp_path / "store.db")) as server:
            await play_moves(server, calls)
    rest = iter(calls.seen)
    for number, line in enumerate(steps(unlocked), 1):
        for step in line:
            assert step in rest, f"line {number}: {step.function} of {step.file} is not called after those before it"
