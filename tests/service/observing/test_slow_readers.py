"""Feeds of observers that read slowly."""

from __future__ import annotations

from contextlib import nullcontext

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.matches.commands import Resign
from arbiter.service.observing.feed import Reached, Stream
from arbiter.testing.clock import virtually
from arbiter.testing.guarantees import Received, resumable
from arbiter.testing.in_memory import InMemoryArbiter
from tests.refusals import refusing
from tests.service.observing.readers import AT_ONCE, Reader, move, whole
from tests.service.observing.readers import relayed as relayed


async def too_slow(stream: Stream) -> tuple[Refusal, list[Received]]:
    """Read the rest of a stream that has waited too long, and the reason for its end."""
    reader = Reader(nullcontext(stream))
    with refusing(Reason.READER_TOO_SLOW) as caught:
        await reader.task
    return caught.value, reader.events


class TestSlowReaders:
    @virtually
    async def test_an_unread_stream_ends_with_the_place_to_resume_and_the_match_does_not_wait(self) -> None:
        server = InMemoryArbiter(limits=Limits(observer_items=10))
        match = await server.create(policy=AT_ONCE)
        got: list[Received] = []
        async with server.arbiter.feed.of_match(match.id, 0) as stream:
            first = await anext(stream)
            assert isinstance(first, list)
            got += [Received(event.match_id, event.revision, event.body) for event in first]
            assert isinstance(await anext(stream), Reached)
            for _ in range(30):
                await move(server, match.id)  # nobody reads
            waiting = next(iter(server.arbiter.feed.subscribers._of[match.id]))
            assert len(waiting.items) == 10
            refusal, late = await too_slow(stream)
        got += late
        assert server.arbiter.feed.subscribers._of == {}
        resume_from = int(refusal.facts["resume_from"])
        assert resume_from == got[-1].revision
        await server.arbiter.matches.act(match.id, Resign(1, "enough"))
        rest = Reader(server.arbiter.feed.of_match(match.id, resume_from))
        await rest.task
        resumable(await whole(server, match.id), [got, rest.events])

    @virtually
    async def test_an_unread_stream_of_all_matches_ends_in_the_same_way(self) -> None:
        server = InMemoryArbiter(limits=Limits(observer_items=10))
        async with server.arbiter.feed.of_all(0, "") as stream:
            assert await anext(stream) == Reached(0)
            for n in range(20):
                await server.create(players=(f"a{n}", f"b{n}"), policy=AT_ONCE)
            refusal, got = await too_slow(stream)
        rest = Reader(server.arbiter.feed.of_all(int(refusal.facts["resume_from"]), ""))
        resumable(await whole(server), [got, await rest.stop()])

    @virtually
    async def test_a_reader_that_catches_up_slowly_gets_all_events_from_the_journal(self) -> None:
        server = InMemoryArbiter(limits=Limits(observer_items=10))
        match = await server.create(policy=AT_ONCE)
        async with server.arbiter.feed.of_match(match.id, 0) as stream:
            first = await anext(stream)
            assert isinstance(first, list)
            for _ in range(30):
                await move(server, match.id)
            await server.arbiter.matches.act(match.id, Resign(1, "enough"))
            rest = Reader(nullcontext(stream))
            await rest.task
        got = [Received(event.match_id, event.revision, event.body) for event in first]
        resumable(await whole(server, match.id), [got, rest.events])
