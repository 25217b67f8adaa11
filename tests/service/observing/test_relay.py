"""The relay of published events: it passes on what follows, and hands everything else to the stream's task."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from arbiter.matches.commands import ResultKind
from arbiter.matches.events import Cause, DrawOffered, Ended, Event, Party
from arbiter.service.background import Background
from arbiter.service.observing.fanout import AT_ONCE, Subscription, WakeOrder
from arbiter.service.observing.relay import MOST_IN_MESSAGE, Relay, Then
from arbiter.service.ports.journal import Record, Subject
from arbiter.service.record.published import Published
from arbiter.testing.clock import settle, virtually

MOST = 2 * MOST_IN_MESSAGE
IDLE_S = 60.0
OFFER = DrawOffered(1, 1, 0, "r")
END = Ended(1, 1, ResultKind.WIN, "resignation", Cause.RESIGNATION, Party.PLAYER)


class Writer:
    """Keeps the places of what it is given, and is done with it when the test says so."""

    def __init__(self) -> None:
        self.places: list[list[int]] = []
        self.can = True
        self.fails: Exception | None = None
        self.then: Then | None = None

    def write(self, events: Sequence[Published], then: Then) -> bool:
        if self.fails is not None:
            raise self.fails
        if self.can:
            assert self.then is None, "one write at a time"
            self.places.append([event.sequence for event in events])
            self.then = then
        return self.can

    def done(self, error: Exception | None = None) -> None:
        then, self.then = self.then, None
        assert then is not None
        then(error)


class Place:
    """A relay that has passed on everything up to 10."""

    def __init__(self, of_match: bool = False, turns: WakeOrder | None = None) -> None:
        self.writer = Writer()
        self.subscription = Subscription[Published](turns or WakeOrder(1_000, Background(100)), "", MOST, IDLE_S)
        self.relay = Relay(self.subscription, of_match, self.writer.write)
        self.stopped = self.relay.run(10)

    def publish(self, *places: int, event: Event = OFFER) -> None:
        for place in places:
            record = Record("m", place, b"{}", Subject.MATCH)
            self.subscription.put(Published(place, record, event, ""))


@virtually
async def test_what_follows_is_passed_on_one_message_after_the_other() -> None:
    place = Place()
    place.publish(11)
    await settle()
    place.publish(12, 13)
    await settle()
    assert place.writer.places == [[11]]
    place.writer.done()
    await settle()
    assert place.writer.places == [[11], [12, 13]]
    assert place.relay.last == 13
    assert not place.stopped.done()
    assert place.subscription.items == []


@pytest.mark.parametrize("of_match", [True, False])
@virtually
async def test_only_the_stream_of_a_match_ends_with_it(of_match: bool) -> None:
    place = Place(of_match)
    place.publish(11, event=END)
    await settle()
    assert place.stopped.done() == of_match
    assert place.writer.places == ([] if of_match else [[11]])


@pytest.mark.parametrize(
    "places", [(12,), (10,), (11, 13), (11, 11), tuple(range(11, 12 + MOST_IN_MESSAGE)), tuple(range(11, 12 + MOST))]
)
@virtually
async def test_the_task_looks_at_gaps_repetitions_and_long_queues(places: tuple[int, ...]) -> None:
    place = Place()
    place.publish(*places)
    await settle()
    assert place.stopped.result()
    assert place.writer.places == []
    assert place.relay.last == 10
    assert [event.sequence for event in place.subscription.items] == list(places[:MOST])


@virtually
async def test_the_task_looks_at_events_that_were_not_put_here() -> None:
    place = Place()
    place.subscription.note_missing()
    await settle()
    assert place.stopped.result()


@virtually
async def test_the_task_takes_over_what_the_writer_can_not_write() -> None:
    place = Place()
    place.writer.can = False
    place.publish(11)
    await settle()
    assert place.stopped.result()
    assert len(place.subscription.items) == 1
    assert place.relay.last == 10


@virtually
async def test_the_task_learns_that_nothing_has_come_for_a_while() -> None:
    place = Place()
    await asyncio.sleep(IDLE_S + 1)
    assert place.stopped.result() is False


@virtually
async def test_the_task_gets_the_error_of_a_write() -> None:
    place, error = Place(), ConnectionError("gone")
    place.publish(11)
    await settle()
    place.writer.done(error)
    assert place.stopped.exception() is error


@virtually
async def test_a_writer_that_fails_does_not_keep_others_from_their_turn() -> None:
    turns = WakeOrder(1_000, Background(100))
    places = [Place(turns=turns) for _ in range(3 * AT_ONCE)]
    places[0].writer.fails = ValueError("a bug")
    for place in places:
        place.publish(11)
    await settle()
    assert places[0].stopped.exception() is places[0].writer.fails
    assert all(place.writer.places == [[11]] for place in places[1:])


@virtually
async def test_nothing_is_passed_on_after_a_stop() -> None:
    place = Place()
    place.publish(11)
    await settle()
    place.relay.stop()
    place.writer.done()
    place.publish(12)
    await settle()
    assert place.writer.places == [[11]]
    place = Place()
    place.publish(11)
    place.relay.stop()  # its turn has not come yet
    await settle()
    assert place.writer.places == []
