"""A Play stream as the use cases see it: what waits to be sent, what the network costs, and whether it lives."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.games.contract import Seat
from arbiter.matches.match import Match
from arbiter.matches.requests import Receipt
from arbiter.service.players.accounts import Caller
from arbiter.service.ports.directory import Challenge
from arbiter.service.ports.journal import MatchEnd
from arbiter.service.ports.rules import ListedMove
from arbiter.tournaments.events import Created
from arbiter.tournaments.tournament import Phase

ROUND_TRIPS_KEPT = 8  #: the smallest of the last so many is taken: holding back one pong gains nothing
WRITE_MS = 10  #: a write that takes longer is held up by the one who should read


class Extras(NamedTuple):
    """What a turn shall carry beyond the minimum."""

    board: bool = False
    legal_move_count: bool = False
    legal_moves_up_to: int = 0
    steps: bool = False


class Hello(NamedTuple):
    """What a bot says of itself when it connects."""

    bot_name: str = ""
    bot_version: str = ""
    games: tuple[str, ...] = ()
    most_matches: int = 0
    extras: Extras = Extras()
    seeks: bool = False
    tournaments: bool = False


class TurnListing(NamedTuple):
    """The legal moves that go with a turn: their number, and the moves if they are to be sent."""

    total: int
    moves: tuple[ListedMove, ...]


@dataclass(eq=False, slots=True)
class TurnItem:
    """It is the bot's turn.

    first_ply: of the first move in the turn's list of last moves. held_up_ms: `Session.held_up` as the turn was put.
    """

    match: Match
    seat: Seat
    first_ply: int
    listing: TurnListing | None = None
    held_up_ms: int = 0


class StateItem(NamedTuple):
    """A match as it stands."""

    match: Match


class AnswerItem(NamedTuple):
    """The answer to a request."""

    request_id: str
    match_id: str
    answer: Receipt | Refusal


class EndedItem(NamedTuple):
    """A match has ended; `cursor` is to be acknowledged. seat: the bot's; 1 in a match against itself."""

    match_id: str
    game: str
    seat: Seat
    opponent: str
    end: MatchEnd
    cursor: int


class OfferItem(NamedTuple):
    """The opponent offers a draw."""

    match_id: str
    ply: int


class ChallengeItem(NamedTuple):
    """Somebody challenges the bot."""

    challenge: Challenge


class ChallengeClosedItem(NamedTuple):
    """A challenge or seek of the bot's is no longer open."""

    challenge: Challenge


class SeekItem(NamedTuple):
    """Somebody seeks an opponent."""

    challenge: Challenge


class CallItem(NamedTuple):
    """A tournament that a player may enter, or has entered, as it is in a phase."""

    player: str
    created: Created
    phase: Phase
    entered: bool


class PingItem(NamedTuple):
    """Asks for a pong."""

    number: int


class NoticeItem(NamedTuple):
    """Why the stream will end."""

    refusal: Refusal


Item = (
    TurnItem
    | StateItem
    | AnswerItem
    | EndedItem
    | OfferItem
    | ChallengeItem
    | ChallengeClosedItem
    | SeekItem
    | CallItem
    | PingItem
    | NoticeItem
)


class Session:
    """One live Play stream of a player. The door sends what `take` returns and reports what arrives."""

    def __init__(self, caller: Caller, hello: Hello, limits: Limits, now: int) -> None:
        self.caller = caller
        self.player = caller.player
        self.hello = hello
        self.opened_ms = now
        self.heard_ms = now
        self.ended: Refusal | None = None
        self._limits = limits
        self._outbox: deque[Item] = deque()
        self._loop = asyncio.get_running_loop()
        self._idle: asyncio.Future[None] | None = None  # what the reader waits for
        self._pings: dict[int, int] = {}  # number: when it was sent
        self._next_ping = 1
        self._round_trips: deque[int] = deque(maxlen=ROUND_TRIPS_KEPT)
        self._window_ms = now
        self._acts = 0
        self._most = limits.session_items
        self._asked = 0  # requests that are to be answered
        self._silent_client = False  # it will say nothing more
        self._write_began: int | None = None  # the one under way
        self._held_up_ms = 0  # by writes that are over
        self.over = asyncio.Event()  #: set once the stream is to end, with `ended` saying why
        self.shown: dict[str, int] = {}  # match: the ply up to which its moves have been told on this stream
        self.called: set[str] = set()  #: tournaments that the bot has been told it may enter
        self.last_result = 0  #: the cursor of the last result told on this stream
        self._ends: set[str] = set()  # matches whose end was among what was told first

    def fill(self, items: Iterable[Item]) -> None:
        """Have sent first what the bot is told when it connects, however much it is."""
        before = len(self._outbox)
        for item in items:
            self._outbox.append(item)
            self._note(item)
            if isinstance(item, EndedItem):
                self._ends.add(item.match_id)
        self._most += len(self._outbox) - before
        self._wake()

    def put(self, item: Item) -> None:
        """Have something sent. A stream that is not read long enough ends; its bot resumes by connecting again."""
        if self.ended is not None:
            return
        if len(self._outbox) >= self._most:
            self.end(
                Refusal(
                    Reason.READER_TOO_SLOW,
                    f"{len(self._outbox)} items waited to be read on this stream: connect again, nothing is lost",
                    resume_from="",
                )
            )
            return
        self._outbox.append(item)
        self._note(item)
        self._wake()

    def has_ended(self, match_id: str) -> bool:
        """Say whether the end of a match was among what was told first: read from the store just before it was told."""
        return match_id in self._ends

    def _note(self, item: Item) -> None:
        if isinstance(item, EndedItem):
            self.last_result = max(self.last_result, item.cursor)

    def asked(self) -> None:
        """Note that a request has come, which will be answered."""
        self._asked += 1

    def answer(self, item: AnswerItem) -> None:
        """Have the answer to a request sent."""
        self._asked -= 1
        self.put(item)
        self._wake()

    def hung_up(self) -> None:
        """Note that the bot will say nothing more: what it has asked is still answered, then the stream ends."""
        self._silent_client = True
        self._wake()

    def _wake(self) -> None:
        if self._idle is not None and not self._idle.done():
            self._idle.set_result(None)

    @property
    def _done(self) -> bool:
        return self.ended is not None or (self._silent_client and not self._asked)

    @property
    def waiting(self) -> int:
        """How many items wait to be sent."""
        return len(self._outbox)

    def idle(self) -> asyncio.Future[None] | None:
        """Return what to wait for before `take`: None once there is something to send, or nothing more will be."""
        if self._outbox or self._done:
            return None
        # A bare future: an asyncio.Event would take several times as long, and every move wakes two streams.
        self._idle = self._loop.create_future()
        return self._idle

    def take(self) -> deque[Item]:
        """Return all that waits to be sent; empty once the stream is to end. For one reader: `sessions.items_of`."""
        items, self._outbox = self._outbox, deque()
        return items

    def end(self, refusal: Refusal) -> None:
        """End the stream with a reason, after what waits has been sent."""
        if self.ended is None:
            if refusal.reason is Reason.READER_TOO_SLOW:
                self._outbox.clear()
            self._outbox.append(NoticeItem(refusal))
            self.ended = refusal
            self._wake()
            self.over.set()

    def writes(self, now: int) -> None:
        """Note that a write begins."""
        self._write_began = now

    def wrote(self, now: int) -> None:
        """Note that the write is over."""
        self._held_up_ms = self.held_up(now)
        self._write_began = None

    def held_up(self, now: int) -> int:
        """Return for how many milliseconds, all in all, the bot has kept the server from writing to it."""
        if self._write_began is None:
            return self._held_up_ms
        return self._held_up_ms + max(0, now - self._write_began - WRITE_MS)

    def ping(self) -> None:
        """Ask for a pong. When it goes out, `sent` is to be told."""
        self.put(PingItem(self._next_ping))
        self._next_ping += 1

    def sent(self, number: int, now: int) -> None:
        """Note that a ping goes out now."""
        self._pings[number] = now
        if len(self._pings) > ROUND_TRIPS_KEPT:
            del self._pings[next(iter(self._pings))]

    def ponged(self, number: int, now: int) -> None:
        """Note that a pong has come; one that was not asked for says nothing."""
        sent = self._pings.pop(number, None)
        if sent is not None:
            self._round_trips.append(now - sent)

    @property
    def round_trip_ms(self) -> int | None:
        """The network's round trip on this stream, or None before the first pong."""
        return min(self._round_trips, default=None)

    def count(self, now: int) -> bool:
        """Count an act that plays no move; whether there have been too many in this second."""
        if now - self._window_ms >= 1_000:
            self._window_ms, self._acts = now, 0
        self._acts += 1
        return self._acts > self._limits.acts_a_second
