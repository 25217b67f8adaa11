"""Streams of events over real gRPC: they keep their guarantees over every cut, and with readers that are too slow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any

import grpc
import pytest
from arbiter_protos.v1 import match_pb2 as pb
from arbiter_protos.v1 import match_pb2_grpc

from arbiter.config import Limits
from arbiter.errors import Reason
from arbiter.games.registry import game
from arbiter.testing.guarantees import Bookmarked, Item, Received, bookmarked, kept, resumable
from arbiter.testing.network import Network
from arbiter.testing.player import end_of
from arbiter.testing.served import memory_world
from tests.rpc.calls import Stubs
from tests.rpc.servers import ONE_OR_TWO_COMPILED, served_by

RULES = game("circle-of-life")
FIRST = min(RULES.moves(RULES.initial()))
MOVES = 20  #: moves in a match of these tests, before a player resigns
OFTEN = Limits(bookmark_ms=100)
NARROW = [("grpc.http2.bdp_probe", 0)]  #: so that little fits between a reader that does not read and the server
LABEL = "cup"
ALL_OR_ONE = ["match", "label", "all"]


@asynccontextmanager
async def serving(world: Any = memory_world, servers: int = 1, **given: Any) -> AsyncIterator[Stubs]:
    """Run a server, or several, and register its players."""
    async with served_by(servers, world, **given) as server:
        yield await Stubs(server).enter()


async def play(stubs: Stubs, match_id: str, moves: int = MOVES) -> None:
    """Play a match to its end, which comes soon."""
    position = RULES.initial()
    for ply in range(moves):
        move = min(RULES.moves(position))
        await stubs.move(position.turn, match_id, ply, move)
        position = RULES.play(position, move)
    await stubs.matches.Resign(pb.ResignRequest(request_id="enough", match_id=match_id), metadata=stubs.alice)


class Reader:
    """Reads streams of events, one after the other; each resumes where the one before was cut."""

    def __init__(self, stubs: Stubs, what: str, match_id: str = "", channel: grpc.aio.Channel | None = None) -> None:
        self._observe: Any = match_pb2_grpc.MatchServiceStub(channel or stubs.served.channel).Observe
        self._metadata = stubs.org
        self._what = what
        self._match_id = match_id
        self.label = LABEL if what == "label" else ""
        self.revision = 0
        self.token = "0"
        self.items: list[Item] = []
        self.tokens: dict[tuple[str, int], int] = {}  #: by match and revision, on a stream of several matches
        self.parts: list[list[Received]] = []

    def open(self) -> Any:
        """Open a stream from where the last one was cut."""
        self.parts.append([])
        request = pb.ObserveRequest(with_record=True)
        if self._what == "match":
            request.match.MergeFrom(pb.ObserveMatch(match_id=self._match_id, after_revision=self.revision))
        else:
            request.all.MergeFrom(pb.ObserveAll(after_token=self.token, label=self.label))
        return self._observe(request, metadata=self._metadata)

    def keep(self, response: pb.ObserveResponse, most: int = 0) -> None:
        """Keep the received events; of this stream only so many, as if it had been cut after these."""
        for item in response.items:
            if most and len(self.parts[-1]) >= most:
                return
            self.token = item.token or self.token
            if not item.HasField("bookmark"):
                if item.HasField("tournament_event"):
                    told = item.tournament_event
                    event = Received(told.tournament_id, told.revision, told.record)
                else:
                    event = Received(item.event.match_id, item.event.revision, item.event.record)
                self.revision = event.revision
                self.items.append(event)
                self.parts[-1].append(event)
                if item.token:
                    self.tokens[event.match_id, event.revision] = int(item.token)
            else:
                self.items.append(Bookmarked(int(item.token or item.bookmark.revision)))

    @property
    def events(self) -> list[Received]:
        """Return all received events, over all streams."""
        return [event for part in self.parts for event in part]

    def check_bookmarks(self) -> None:
        """Assert that the bookmarks had the right place, over all streams."""
        bookmarked(self.items, tokens=None if self._what == "match" else self.tokens)

    async def read(self, events: int, cut_after: int = 0) -> None:
        """Read until this many events have been received in all; cut each stream after so many."""
        while len(self.events) < events:
            call = self.open()
            async for response in call:
                self.keep(response, cut_after)
                if len(self.events) >= events or 0 < cut_after <= len(self.parts[-1]):
                    break
            call.cancel()


async def records(stubs: Stubs, ids: Iterable[str] = ()) -> list[Received]:
    """Return the records in the journal, of these matches or of all."""
    wanted = set(ids)
    found = await stubs.served.running.arbiter.feed._journal.read_all(0, 100_000)
    return [
        Received(record.match_id, record.revision, record.body)
        for record in found
        if not wanted or record.match_id in wanted
    ]


@pytest.mark.long
@pytest.mark.parametrize("servers", ONE_OR_TWO_COMPILED)
@pytest.mark.parametrize("what", ALL_OR_ONE)
async def test_all_guarantees_hold_over_a_cut_at_every_event(what: str, servers: int) -> None:
    """On several servers each stream resumes at another one."""
    async with serving(limits=OFTEN, servers=servers) as stubs:
        ids = [(await stubs.match(str(n), label=LABEL if n < 2 else "")).match_id for n in range(3)]
        wanted = {"match": ids[:1], "label": ids[:2], "all": ids}[what]
        whole_length = len(wanted) * (MOVES + 3)  # created, started, the moves, ended
        cut, smooth = Reader(stubs, what, ids[0]), Reader(stubs, what, ids[0])
        smoothly = asyncio.create_task(smooth.read(whole_length))
        while not smooth.items or not isinstance(smooth.items[-1], Bookmarked):  # noqa: ASYNC110 - before the moves
            await asyncio.sleep(0)
        await asyncio.gather(
            *(play(stubs, match_id) for match_id in ids), cut.read(whole_length, cut_after=1), smoothly
        )
        whole = await records(stubs, wanted)
        for reader in (cut, smooth):
            kept(reader.events)
            resumable(whole, reader.parts)
        late = Reader(stubs, what, ids[0])  # a stream of a finished match is cut at every event too
        await late.read(whole_length, cut_after=1)
        resumable(whole, late.parts)
        assert [len(reader.parts) for reader in (smooth, cut, late)] == [1, whole_length, whole_length]
        smooth.check_bookmarks()


@pytest.mark.parametrize("servers", ONE_OR_TWO_COMPILED)
@pytest.mark.parametrize("what", ALL_OR_ONE)
async def test_an_idle_stream_has_bookmarks(what: str, servers: int) -> None:
    async with serving(limits=OFTEN, servers=servers) as stubs:
        match_id = (await stubs.match(label=LABEL)).match_id
        reader = Reader(stubs, what, match_id)
        async for response in reader.open():
            reader.keep(response)
            if reader.items[-3:] == [Bookmarked(2)] * 3:
                break
        reader.check_bookmarks()


async def test_a_stream_of_a_label_has_bookmarks_while_others_are_busy() -> None:
    async with serving(limits=OFTEN) as stubs:
        cup, other = [(await stubs.match(str(n), label=label)).match_id for n, label in enumerate((LABEL, ""))]
        reader = Reader(stubs, "label")
        call = reader.open()
        reader.keep(await call.read())
        await play(stubs, other)
        while reader.items[-1] != Bookmarked(len(await records(stubs))):
            reader.keep(await call.read())
        await play(stubs, cup)
        while len(reader.events) < MOVES + 3:
            reader.keep(await call.read())
        reader.check_bookmarks()
        resumable(await records(stubs, [cup]), reader.parts)


@pytest.mark.parametrize("servers", ONE_OR_TWO_COMPILED)
async def test_a_stream_without_moves_says_how_many_there_were(servers: int) -> None:
    async with serving(servers=servers) as stubs:
        match_id = (await stubs.match()).match_id
        observe = match_pb2_grpc.MatchServiceStub(stubs.served.channel).Observe
        request = pb.ObserveRequest(all=pb.ObserveAll(after_token="0", without_moves=True))

        async def read() -> list[tuple[str, int]]:
            seen = list[tuple[str, int]]()
            async for response in observe(request, metadata=stubs.org):
                seen += [(item.event.kind, item.event.plies) for item in response.items if item.HasField("event")]
                if seen and seen[-1][0] == "ended":
                    break
            return seen

        live = asyncio.create_task(read())
        await play(stubs, match_id)
        for seen in (await live, *[await read() for _ in range(servers)]):
            assert seen[-1] == ("ended", MOVES)
            assert dict(seen[:-1]) == dict.fromkeys(("created", "started"), 0)


@pytest.mark.long
async def test_a_thousand_observers_receive_the_same() -> None:
    async with serving(limits=Limits(streams_of_player=1_000, calls_a_second=2_000)) as stubs:
        match_id = (await stubs.match()).match_id
        readers = [Reader(stubs, "match", match_id) for _ in range(1_000)]
        reading = [asyncio.create_task(reader.read(MOVES + 3)) for reader in readers]
        await play(stubs, match_id)
        await asyncio.gather(*reading)
        whole = await records(stubs)
        for reader in readers:
            resumable(whole, reader.parts)


@pytest.mark.long
class TestSlowReaders:
    @pytest.mark.parametrize("what", ALL_OR_ONE)
    async def test_an_observer_that_does_not_read_gets_a_reason_and_resumes(self, what: str) -> None:
        async with serving(limits=Limits(observer_items=10)) as stubs:
            match_id = (await stubs.match(label=LABEL, game="pods")).match_id
            async with grpc.aio.insecure_channel(stubs.served.address, options=NARROW) as channel:
                reader = Reader(stubs, what, match_id, channel)
                call = reader.open()
                reader.keep(await call.read())
                rules, ply = game("pods"), 0
                position = rules.initial()
                while not overrun(stubs):  # the match goes on all the same
                    move = min(rules.moves(position))
                    await stubs.move(position.turn, match_id, ply, move)
                    position, ply = rules.play(position, move), ply + 1
                assert most_waiting(stubs) <= 10
                async for response in ignoring(call):
                    reader.keep(response)
                end = await end_of(call)
                assert end.refusal is not None
                assert end.reason == Reason.READER_TOO_SLOW
                place = reader.revision if what == "match" else int(reader.token)
                assert int(end.refusal.facts["resume_from"]) == place
                await reader.read(ply + 2)
            whole = await records(stubs)
            assert len(whole) == ply + 2
            kept(reader.events)
            resumable(whole, reader.parts)

    async def test_the_stream_of_an_observer_behind_a_dead_connection_ends(self) -> None:
        limits = Limits(silence_ms=1_000, ping_ms=500, observers=1)
        async with serving(limits=limits) as stubs, Network(stubs.served.address) as network:
            match_id = (await stubs.match()).match_id
            async with grpc.aio.insecure_channel(network.address) as channel:
                await Reader(stubs, "match", match_id, channel).open().read()
                network.up.dropped = network.down.dropped = True
                another = Reader(stubs, "match", match_id)
                while not another.items:  # refused until the server has noticed the dead connection
                    async for response in ignoring(another.open()):
                        another.keep(response)
                        break


def overrun(stubs: Stubs) -> bool:
    """Return whether an observer has more to read than the server keeps for it."""
    return any(subscription.overrun for subscription in subscriptions(stubs))


def most_waiting(stubs: Stubs) -> int:
    """Return how many events wait for the slowest observer."""
    return max(len(subscription.items) for subscription in subscriptions(stubs))


def subscriptions(stubs: Stubs) -> list[Any]:
    """Return the subscriptions of all observers."""
    feed = stubs.served.running.arbiter.feed
    return [each for those in feed.subscribers._of.values() for each in those]


async def ignoring(call: Any) -> AsyncIterator[Any]:
    """Yield the rest of a call, whatever its end is."""
    with suppress(grpc.aio.AioRpcError):
        while (response := await call.read()) is not grpc.aio.EOF:
            yield response
