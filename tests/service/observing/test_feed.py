"""Streams of events keep their guarantees during play: ordered, unique, gap-free, resumable, bookmarked."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.matches.commands import Abort, Resign
from arbiter.matches.match import Match, Phase
from arbiter.service.record.published import Published
from arbiter.testing.clock import settle, virtually
from arbiter.testing.guarantees import Bookmarked, Received, bookmarked, kept, resumable
from arbiter.testing.in_memory import InMemoryArbiter
from tests.refusals import refusing
from tests.service.observing.readers import AT_ONCE, Reader, move, try_to_move, whole
from tests.service.observing.readers import relayed as relayed

LONGEST = 40  #: moves in a match of these tests, before a player resigns


async def play(server: InMemoryArbiter, match: Match, moves: int = LONGEST) -> None:
    """Play this many moves, one each second, then resign."""
    while match.phase is not Phase.ENDED and match.ply < moves:
        match = await move(server, match.id)
        await asyncio.sleep(1)
    if match.phase is not Phase.ENDED:
        await server.arbiter.matches.act(match.id, Resign(1, "enough"))


class TestOneMatch:
    @virtually
    async def test_all_guarantees_hold_while_it_is_played(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE)
        early = Reader(server.arbiter.feed.of_match(match.id, 0))
        await play(server, match)
        await early.task
        late = Reader(server.arbiter.feed.of_match(match.id, 0))
        await late.task
        for events in (early.events, late.events):
            kept(events)
            resumable(await whole(server, match.id), [events])
        bookmarked(early.items)

    @virtually
    async def test_after_any_revision_while_it_is_played_and_after(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE)
        readers = {0: Reader(server.arbiter.feed.of_match(match.id, 0))}
        for _ in range(6):
            stands = await move(server, match.id)
            feed = server.arbiter.feed
            readers |= {
                after * 100 + stands.revision: Reader(feed.of_match(match.id, after))
                for after in range(stands.revision + 1)
            }
            await settle()
        await server.arbiter.matches.act(match.id, Resign(1, "enough"))
        everything = await whole(server, match.id)
        for name, reader in readers.items():
            await reader.task
            after = name // 100
            kept(reader.events, {match.id: after})
            resumable(everything, [everything[:after], reader.events])
            bookmarked(reader.items, after)
        for after in range(len(everything) + 1):
            reader = Reader(server.arbiter.feed.of_match(match.id, after))
            await reader.task
            resumable(everything, [everything[:after], reader.events])

    @virtually
    async def test_impossible_revisions_are_refused(self) -> None:
        server = InMemoryArbiter()
        match = await server.create()
        for match_id, after, reason in (
            (match.id, -1, Reason.ARGUMENT_INVALID),
            (match.id, match.revision + 1, Reason.ARGUMENT_INVALID),
            ("m404", 0, Reason.MATCH_NOT_FOUND),
        ):
            with refusing(reason):
                await Reader(server.arbiter.feed.of_match(match_id, after)).task

    @virtually
    async def test_an_idle_stream_has_bookmarks(self) -> None:
        server = InMemoryArbiter(limits=Limits(bookmark_ms=1_000))
        match = await server.create(policy=AT_ONCE)
        reader = Reader(server.arbiter.feed.of_match(match.id, 0))
        await asyncio.sleep(3.5)
        await reader.stop()
        assert reader.marks == [match.revision] * 4  # after catching up, and after each second

    @virtually
    async def test_a_match_that_has_ended(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE)
        await server.arbiter.matches.act(match.id, Abort("org", "a"))
        everything = await whole(server, match.id)
        reader = Reader(server.arbiter.feed.of_match(match.id, 0))
        await reader.task
        assert reader.events == everything
        reader = Reader(server.arbiter.feed.of_match(match.id, len(everything)))
        await reader.task
        assert reader.items == [Bookmarked(len(everything))]

    @virtually
    async def test_an_event_is_sent_once_it_is_durable(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE)
        reader = Reader(server.arbiter.feed.of_match(match.id, 0))
        await settle()
        server.journal.hold = True
        moving = asyncio.create_task(move(server, match.id))
        await settle()
        assert len(reader.events) == match.revision
        server.journal.release()
        await moving
        assert len(await reader.stop()) == match.revision + 1

    @pytest.mark.long
    @virtually
    async def test_a_thousand_observers(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE)
        readers = [Reader(server.arbiter.feed.of_match(match.id, 0)) for _ in range(1_000)]
        await play(server, match, 10)
        everything = await whole(server, match.id)
        assert len(everything) > 10
        for reader in readers:
            await reader.task
            assert reader.events == everything

    @virtually
    async def test_streams_are_limited_and_can_be_opened_again(self) -> None:
        server = InMemoryArbiter(limits=Limits(observers=2))
        match = await server.create(policy=AT_ONCE)
        feed = server.arbiter.feed
        first, second = Reader(feed.of_match(match.id, 0)), Reader(feed.of_all(None, ""))
        await settle()
        for stream in (feed.of_match(match.id, 0), feed.of_all(None, "")):
            with refusing(Reason.RATE_LIMITED):
                await Reader(stream).task
        await first.stop()
        await second.stop()
        assert await Reader(feed.of_match(match.id, 0)).stop()


class TestAllMatches:
    @virtually
    async def test_all_guarantees_hold_while_matches_are_played(self) -> None:
        server = InMemoryArbiter()
        feed = server.arbiter.feed
        reader = Reader(feed.of_all(0, ""))
        playing = []
        for n in range(6):
            match = await server.create(players=(f"a{n}", f"b{n}"), policy=AT_ONCE)
            playing.append(asyncio.create_task(play(server, match, 10 + n)))
            await asyncio.sleep(0.3)
        joining = Reader(feed.of_all(0, ""))  # during the matches
        await asyncio.gather(*playing)
        everything = await whole(server)
        for each in (reader, joining):
            events = await each.stop()
            kept(events)
            resumable(everything, [events])
            assert each.places == sorted(each.places)

    @virtually
    async def test_after_any_token(self) -> None:
        server = InMemoryArbiter()
        matches = [await server.create(policy=AT_ONCE) for _ in range(2)]
        for _ in range(5):
            for match in matches:
                await move(server, match.id)
        everything = await whole(server)
        for after in range(len(everything) + 1):
            reader = Reader(server.arbiter.feed.of_all(after, ""))
            await settle()
            resumable(everything, [everything[:after], await reader.stop()])
            assert reader.marks == [len(everything)]
        with refusing(Reason.ARGUMENT_INVALID):
            await Reader(server.arbiter.feed.of_all(len(everything) + 1, "")).task

    @virtually
    async def test_from_now_on(self) -> None:
        server = InMemoryArbiter()
        match = await server.create(policy=AT_ONCE)
        reader = Reader(server.arbiter.feed.of_all(None, ""))
        await settle()
        await move(server, match.id)
        assert [event.revision for event in await reader.stop()] == [match.revision + 1]

    @virtually
    async def test_longer_than_a_page_and_over_a_restart(self) -> None:
        server = InMemoryArbiter()
        for n in range(300):
            await server.create(players=(f"a{n}", f"b{n}"), policy=AT_ONCE)
        first = Reader(server.arbiter.feed.of_all(0, ""))
        parts = [await first.stop()]
        await server.restart()
        second = Reader(server.arbiter.feed.of_all(first.places[-1], ""))
        parts.append(await second.stop())
        everything = await whole(server)
        assert len(everything) > 500
        resumable(everything, parts)

    @virtually
    async def test_one_label(self) -> None:
        server = InMemoryArbiter(limits=Limits(bookmark_ms=1_000))
        cup = await server.create(policy=AT_ONCE, label="cup")
        other = await server.create(policy=AT_ONCE)
        reader = Reader(server.arbiter.feed.of_all(0, "cup"))
        nothing = Reader(server.arbiter.feed.of_all(0, "nobody's"))
        for _ in range(5):
            await move(server, cup.id)
            await move(server, other.id)
            await asyncio.sleep(0.6)
        events = await reader.stop()
        assert reader.labels == {"cup"}
        assert events == await whole(server, cup.id)
        assert await nothing.stop() == []
        assert len(nothing.marks) > 2  # other labels are busy, and the stream gets bookmarks nevertheless
        assert nothing.marks == sorted(nothing.marks)

    @virtually
    async def test_all_but_moves(self) -> None:
        server = InMemoryArbiter(limits=Limits(bookmark_ms=1_000))
        early = Reader(server.arbiter.feed.of_all(0, "", without_moves=True))
        cup = await server.create(policy=AT_ONCE, label="cup")
        other = await server.create(policy=AT_ONCE)
        labelled = Reader(server.arbiter.feed.of_all(0, "cup", without_moves=True))
        await asyncio.gather(play(server, cup), play(server, other))
        late = Reader(server.arbiter.feed.of_all(0, "", without_moves=True))
        first, then = await early.stop(), await late.stop()
        everything = await whole(server)
        assert first == then == [event for event in everything if b'"kind":"moved"' not in cast(bytes, event.body)]
        assert {event.match_id for event in first} == {cup.id, other.id}
        assert await labelled.stop() == [event for event in first if event.match_id == cup.id]

    @virtually
    async def test_events_that_were_stored_but_reported_as_failed_are_not_missed(self) -> None:
        server = InMemoryArbiter()
        one, other = [await server.create(players=(f"a{n}", f"b{n}"), policy=AT_ONCE) for n in range(2)]
        reader = Reader(server.arbiter.feed.of_all(0, ""))
        await settle()
        server.journal.lie = server.journal.mute = True  # so that the match can't be read again yet
        with pytest.raises(Refusal):
            await server.arbiter.matches.act(one.id, Abort("org", "a"))
        await asyncio.sleep(0.5)
        server.journal.lie = server.journal.mute = False
        await move(server, other.id)
        middle = await whole(server)
        await settle()
        assert reader.places == sorted(set(reader.places))
        assert len(reader.events) == len(middle)
        await asyncio.sleep(5)
        events = await reader.stop()
        kept(events)
        resumable(await whole(server), [events])

    @pytest.mark.interpreted
    @virtually
    async def test_places_are_in_order_though_events_reported_as_failed_are_published_late(self) -> None:
        server = InMemoryArbiter()
        feed = server.arbiter.feed
        one, other = [await server.create(players=(f"a{n}", f"b{n}"), policy=AT_ONCE) for n in range(2)]
        reader = Reader(feed.of_all(0, ""))
        await settle()
        publish, late = feed.subscribers.publish, list[Published]()
        feed.subscribers.publish = late.extend  # type: ignore[method-assign, assignment]
        for match in (one, other, other):
            await move(server, match.id)
        first, second, third = late
        publish([second, first, third])  # as after another match has gone on meanwhile
        assert await reader.stop() == await whole(server)
        assert reader.places == sorted(reader.places)


@pytest.mark.long
@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["move", "join", "cut", "lie", "wait"])), max_size=25))
@virtually
async def test_readers_that_resume_get_every_event_once(acts: list[tuple[int, str]]) -> None:
    """Matches go on, readers join, leave and resume, answers of commits are lost: the parts join up to the whole."""
    server = InMemoryArbiter(limits=Limits(bookmark_ms=1_000))
    matches = [await server.create(players=(f"a{n}", f"b{n}"), policy=AT_ONCE) for n in range(3)]
    feed = server.arbiter.feed
    parts: list[list[Received]] = [[] for _ in range(3)]
    reached = [0, 0, 0]
    readers = [Reader(feed.of_all(0, "")) for _ in range(3)]

    async def cut(n: int) -> None:
        parts[n] += await readers[n].stop()
        reached[n] = max([reached[n], *readers[n].places, *readers[n].marks])

    for n, act in acts:
        if act == "move":
            await try_to_move(server, matches[n].id)  # it may have ended, or not be back after a failure
        elif act in ("cut", "join"):
            await cut(n)
            readers[n] = Reader(feed.of_all(reached[n], ""))
        elif act == "lie":
            server.journal.lie = True
            await server.arbiter.matches.answer(matches[n].id, Abort("org", f"{act} {n}"))
            server.journal.lie = False
        else:
            await asyncio.sleep(2)
    await asyncio.sleep(3)
    everything = await whole(server)
    for n in range(3):
        await cut(n)
        kept(parts[n])
        resumable(everything, [parts[n]])
