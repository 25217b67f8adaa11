"""Injected faults of an arbiter: the simulation has to find each of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from arbiter.config import Limits
from arbiter.errors import Refusal
from arbiter.games.contract import Seat
from arbiter.matches import clock, ends
from arbiter.matches.clock import SeatClock
from arbiter.matches.events import Resumed
from arbiter.matches.match import Match
from arbiter.matches.requests import Requests
from arbiter.matches.time_control import BronsteinDelay, Increment, TimeControl
from arbiter.rpc import servicing
from arbiter.rpc.servicing import MessageWriter
from arbiter.rpc.unread import Unread
from arbiter.service.gate.admission import Admission, Call
from arbiter.service.gate.match_calls import MatchGate, OfMatch, Watched
from arbiter.service.gate.rights import Action
from arbiter.service.matches.decisions import Decisions
from arbiter.service.matches.live_match import LiveMatch
from arbiter.service.matches.match_registry import MatchRegistry
from arbiter.service.matches.revival import Revival
from arbiter.service.matches.stall_detector import StallDetector
from arbiter.service.observing.feed import Feed, Reached, Stream
from arbiter.service.observing.relay import Relay
from arbiter.service.play.catch_up import CatchUp
from arbiter.service.play.connected_players import Connections
from arbiter.service.play.delivery import Delivery
from arbiter.service.play.session import Asked, Hello, Session
from arbiter.service.play.waits import Waits
from arbiter.service.players.accounts import Caller
from arbiter.service.ports.directory import Player
from arbiter.service.ports.journal import Append
from arbiter.service.record.published import Published
from arbiter.testing.memory import MemoryJournal
from arbiter.testing.simulation.disk import Disk, Job
from arbiter.testing.simulation.invariants.stalls import STALL
from arbiter.testing.simulation.invariants.waits import WAIT
from arbiter.testing.simulation.plan import Fault, draw
from tests.simulation.plans import promises_broken, short

pytestmark = pytest.mark.long

Inject = Callable[[pytest.MonkeyPatch], None]
SEEDS = 12  #: the number of seeds that are tried
MATCHES = 20


def acknowledges_before_it_stores(patch: pytest.MonkeyPatch) -> None:
    """A journal that reports `stored` when a write is only requested."""
    append = Disk.append

    def hasty(self: Disk, what: Append) -> asyncio.Future[int]:
        place = len(self._stored.records)
        waiting = sum(len(job.append.records) for job in (*self._writing, *self._waiting))
        append(self, what)
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        answer.set_result(place + waiting + len(what.records))
        return answer

    patch.setattr(Disk, "append", hasty)


def loses_an_append(patch: pytest.MonkeyPatch) -> None:
    """A journal that reports `stored`, and sometimes has not stored."""
    store, number = Disk._store, count(1)

    def careless(self: Disk, job: Job, refused: bool, lied: bool) -> None:
        if next(number) % 40:
            store(self, job, refused, lied)
        else:
            job.answer.set_result(len(self._stored.records) + len(job.append.records))

    patch.setattr(Disk, "_store", careless)


def forgets_requests(patch: pytest.MonkeyPatch) -> None:
    """An arbiter that does not recognise a repeated request."""
    patch.setattr(Requests, "find", lambda self, caller, request: None)


def skips_an_event(patch: pytest.MonkeyPatch) -> None:
    """A stream that resumes one revision too late."""
    of_match = Feed.of_match

    def skipping(self: Feed, match_id: str, after: int, reader: str = "") -> AbstractAsyncContextManager[Stream]:
        return of_match(self, match_id, after + 1 if after else 0, reader)

    patch.setattr(Feed, "of_match", skipping)


def repeats_an_event(patch: pytest.MonkeyPatch) -> None:
    """A stream of all matches that resumes one place too early."""
    of_all = Feed.of_all

    def repeating(
        self: Feed, after: int | None, label: str, reader: str = "", *, without_moves: bool = False
    ) -> AbstractAsyncContextManager[Stream]:
        return of_all(self, after - 1 if after else after, label, reader, without_moves=without_moves)

    patch.setattr(Feed, "of_all", repeating)


def runs_ahead_with_its_bookmarks(patch: pytest.MonkeyPatch) -> None:
    """A stream with bookmarks beyond what was sent."""
    reached = Stream._reached
    patch.setattr(Stream, "_reached", lambda self: Reached(reached(self).place + 1))


def forgets_what_was_passed_on(patch: pytest.MonkeyPatch) -> None:
    """A stream that goes on where its relay began."""
    fresh = Stream._fresh

    async def forgetful(self: Stream) -> bool:
        began = self._last
        something = await fresh(self)
        self._last = began
        return something

    patch.setattr(Stream, "_fresh", forgetful)


def passes_on_what_does_not_follow(patch: pytest.MonkeyPatch) -> None:
    """A relay that does not look whether an event follows the one before."""

    def unseen(self: Relay) -> int | None:
        events = self._subscription.items
        return (events[-1].revision if self._of_match else events[-1].sequence) if events else None

    patch.setattr(Relay, "_plain", unseen)


def charges_the_outage(patch: pytest.MonkeyPatch) -> None:
    """An arbiter that goes on after a crash as if nothing had happened."""

    async def go_on(self: Revival, entered: Iterable[LiveMatch]) -> None:
        for live in entered:
            self._decisions.watch(live)

    patch.setattr(Revival, "_interrupt", go_on)


def stops_without_a_word(patch: pytest.MonkeyPatch) -> None:
    """An arbiter whose clocks run on while it stops."""

    async def abrupt(self: MatchRegistry, is_last: bool = False) -> bool:
        self.live.draining = True
        return True

    patch.setattr(MatchRegistry, "drain", abrupt)


def gives_too_much_time(patch: pytest.MonkeyPatch) -> None:
    """A clock that gives a millisecond too much."""
    after_move = clock.after_move

    def generous(control: TimeControl, before: SeatClock, charged: int) -> SeatClock | None:
        after = after_move(control, before, charged)
        if after is None or not isinstance(control, BronsteinDelay | Increment):
            return after
        return SeatClock(after.remaining_ms + 1, after.periods, after.moves_left)

    patch.setattr("arbiter.matches.match.after_move", generous)


def never_rings(patch: pytest.MonkeyPatch) -> None:
    """A timer that is set and never checked."""
    patch.setattr(Decisions, "_timer_rang", lambda self, live: None)


def drops_results(patch: pytest.MonkeyPatch) -> None:
    """A session that does not send missed results."""

    async def nothing(self: CatchUp, player: Player, seeks: bool) -> list[Any]:
        return []

    patch.setattr(CatchUp, "read", nothing)


def forgets_the_resumed_turn(patch: pytest.MonkeyPatch) -> None:
    """A session that does not send a turn again after it restarted."""
    tell = Delivery._put_events

    def silent(self: Delivery, session: Session, match: Match, seat: Seat, events: list[Published], kept: bool) -> None:
        if not any(isinstance(published.event, Resumed) for published in events):
            tell(self, session, match, seat, events, kept)

    patch.setattr(Delivery, "_put_events", silent)


def lets_the_wrong_seat_lose(patch: pytest.MonkeyPatch) -> None:
    """An arbiter that declares the winner without regard to who resigned or lost on time."""
    patch.setattr(ends, "other", lambda seat: seat)


def fails_on_a_command(patch: pytest.MonkeyPatch) -> None:
    """An arbiter with an error in it: the match is void, by its own fault."""

    def broken(why: str) -> Refusal:
        raise KeyError(why)

    patch.setattr("arbiter.matches.transitions.no_draw", broken)


def takes_a_caller_for_another(patch: pytest.MonkeyPatch) -> None:
    """A gate that sometimes takes a caller of a game for the one before it."""
    caller, callers = Admission.caller, list[Caller]()

    async def mistaken(self: Admission, call: Call, action: Action) -> Caller:
        found = await caller(self, call, action)
        if action is Action.SUBMIT_MOVE:
            callers.append(found)
            return callers[-2] if len(callers) % 3 == 2 else found
        return found

    patch.setattr(Admission, "caller", mistaken)


def observes_from_elsewhere(patch: pytest.MonkeyPatch) -> None:
    """A gate that passes on another place to resume after than the observer asked for."""
    stream = MatchGate._stream

    def misread(self: MatchGate, watched: Watched | None, reader: str) -> AbstractAsyncContextManager[Stream]:
        if isinstance(watched, OfMatch) and watched.after_revision:
            watched = OfMatch(watched.match_id, watched.after_revision + 1)
        return stream(self, watched, reader)

    patch.setattr(MatchGate, "_stream", misread)


def ends_a_call_while_it_writes(patch: pytest.MonkeyPatch) -> None:
    """A stream whose headers are sent with its first message: no status can follow a message that was not read."""

    async def plain(self: MessageWriter, message: Any) -> None:
        await self._context.write(message)

    patch.setattr(MessageWriter, "write", plain)


def forgets_headers_that_are_on_their_way(patch: pytest.MonkeyPatch) -> None:
    """A stream that ends while its headers are being sent, and sends them again."""

    async def hasty(work: Any) -> None:
        await work

    patch.setattr(servicing, "_completed", hasty)


def waits_for_its_reader(patch: pytest.MonkeyPatch) -> None:
    """A stream that does not end before its messages have been read."""
    write = MessageWriter.write

    async def stubborn(self: MessageWriter, message: Any) -> None:
        writing = asyncio.create_task(write(self, message))
        while not writing.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait((writing,))

    patch.setattr(MessageWriter, "write", stubborn)


def closes_no_connection(patch: pytest.MonkeyPatch) -> None:
    """A server that does not close the connection of a client that never reads."""
    patch.setattr(Unread, "close", lambda self, peer, why: None)


def counts_a_stream_from_when_it_is_open(patch: pytest.MonkeyPatch) -> None:
    """An arbiter that charges players for the time in which the store kept their streams."""
    init = Session.__init__

    def opened(self: Session, caller: Caller, hello: Hello, limits: Limits, asked: Asked, now: int) -> None:
        init(self, caller, hello, limits, Asked(now, now), now)

    patch.setattr(Session, "__init__", opened)


def begins_no_late_turn_again(patch: pytest.MonkeyPatch) -> None:
    """An arbiter that charges a turn of which it could not tell the player."""
    patch.setattr(Delivery, "_begins_again", lambda self, session, match: False)


def answers_a_lost_race_as_it_was_decided(patch: pytest.MonkeyPatch) -> None:
    """An arbiter that answers with its decision, although another server was first and nothing of it is stored."""
    patch.setattr(Decisions, "_give", lambda self, live, command, then, answer, written: then(answer))


def builds_on_what_was_not_stored(patch: pytest.MonkeyPatch) -> None:
    """A journal that checks only revisions: after another server's event it stores a decision that ignored it."""
    store = MemoryJournal.store
    patch.setattr(MemoryJournal, "store", lambda self, append: store(self, append._replace(basis=None)))


WHOLE = {stops_without_a_word, waits_for_its_reader}  #: these faults show only in a whole plan


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("inject", "first", "invariants"),
    [
        (acknowledges_before_it_stores, 1, {"No acknowledged move is lost", "No event is seen before it is durable"}),
        (loses_an_append, 2, {"No acknowledged move is lost"}),
        (forgets_requests, 5, {"Exactly once"}),
        (skips_an_event, 2, {"Gap-free", "Resumable"}),
        (repeats_an_event, 2, {"Unique"}),
        (runs_ahead_with_its_bookmarks, 4, {"Bookmarked"}),
        (forgets_what_was_passed_on, 1, {"Unique"}),
        (passes_on_what_does_not_follow, 1, {"Unique", "Gap-free"}),
        (charges_the_outage, 2, {"The outage is charged to nobody"}),
        (stops_without_a_word, 21, {"A stop stops the clocks"}),
        (gives_too_much_time, 1, {"Fair clocks"}),
        (never_rings, 2, {"Every match ends"}),
        (drops_results, 1, {"Every result is received"}),
        (forgets_the_resumed_turn, 5, {"Every turn is received"}),
        (lets_the_wrong_seat_lose, 1, {"Typed ends"}),
        (fails_on_a_command, 1, {"Typed ends", "Nothing unforeseen"}),
        (takes_a_caller_for_another, 6, {"Nobody plays for another"}),
        (observes_from_elsewhere, 2, {"Gap-free", "Resumable"}),
        (ends_a_call_while_it_writes, 13, {"Nothing unforeseen"}),
        (forgets_headers_that_are_on_their_way, 15, {"Nothing unforeseen"}),
        (waits_for_its_reader, 6, {"A stream that the server ends is over"}),
        (closes_no_connection, 14, {"A stream that the server ends is over"}),
        (answers_a_lost_race_as_it_was_decided, 5, {"No acknowledged move is lost"}),
        (counts_a_stream_from_when_it_is_open, 21, {WAIT}),
        (begins_no_late_turn_again, 21, {WAIT}),
        (builds_on_what_was_not_stored, 7, {"Every match ends"}),
    ],
)
def test_the_fault_is_found(inject: Inject, first: int, invariants: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """In the first seconds of a plan, if these are enough."""
    inject(monkeypatch)
    plans = (draw(seed, MATCHES) for seed in range(first, first + SEEDS))
    assert any(invariants & promises_broken(plan if inject in WHOLE else short(plan)) for plan in plans)


def charges_a_player_for_requests_in_vain(patch: pytest.MonkeyPatch) -> None:
    """A server that knows only of the last request for a stream."""
    patch.setattr(Waits, "_latest", lambda self, player, now: None)


def expects_nobody_back(patch: pytest.MonkeyPatch) -> None:
    """A server that takes a player for absent who may make a request again that was in vain."""
    patch.setattr(Waits, "is_waiting", lambda self, player: player in self._under_way)


@pytest.mark.parametrize(("inject", "first"), [(charges_a_player_for_requests_in_vain, 27), (expects_nobody_back, 76)])
def test_a_player_who_pays_for_requests_in_vain_is_found(
    inject: Inject, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    inject(monkeypatch)
    faults = {Fault.LOCKED: 10.0, Fault.CUT: 20.0}
    assert any(WAIT in promises_broken(replace(draw(seed, 8), faults=faults)) for seed in range(first, first + SEEDS))


@pytest.mark.interpreted
def test_a_stall_that_is_noticed_too_late_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that decides by clocks that have run out, and reads moves, before it looks at the time."""

    def look(self: StallDetector) -> None:
        notice(self)
        self._looked_s = asyncio.get_running_loop().time()

    notice = StallDetector.notice
    monkeypatch.setattr(StallDetector, "look", look)
    monkeypatch.setattr(StallDetector, "notice", lambda self: None)
    plans = (replace(draw(seed, 8), faults={Fault.SERVER_STALL: 10.0}) for seed in range(1, 1 + SEEDS))
    assert any(STALL in promises_broken(plan) for plan in plans)


@pytest.mark.interpreted
def test_a_flag_that_falls_while_the_store_keeps_the_stream_of_its_player_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In runs in which hardly anything else happens: the clock has to run out just then."""
    monkeypatch.setattr(Connections, "is_waiting", lambda self, player: False)
    faults = {Fault.LOCKED: 10.0, Fault.CUT: 20.0, Fault.SUPERSEDE: 20.0}
    plans = (replace(draw(seed, MATCHES), faults=faults) for seed in range(1, 1 + SEEDS))
    assert any(WAIT in promises_broken(plan) for plan in plans)
