"""One Play stream, without its transport: the items to send, its round trip, and whether it has ended."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
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
from arbiter.service.token_bucket import SECOND_MS, TokenBucket
from arbiter.tournaments.events import Created
from arbiter.tournaments.tournament import TournamentPhase

ROUND_TRIPS_KEPT = 8  #: the minimum of this many counts, so a bot gains nothing by delaying one pong
RESULTS_KEPT = 1_000  #: results on a stream that are not acknowledged; later ones are sent on the next stream again
FREE_ACTS = 20  #: acts a second that are no moves, such as pongs, for which no later act has to wait
WRITE_MS = 10  #: a write that takes longer waits for its reader


class Extras(NamedTuple):
    """The optional parts of turns that a bot wants."""

    board: bool = False
    legal_move_count: bool = False
    legal_moves_up_to: int = 0
    steps: bool = False


class Hello(NamedTuple):
    """A bot's description of itself when it connects. says_ready: it says of each match when it is ready to play."""

    bot_name: str = ""
    bot_version: str = ""
    games: tuple[str, ...] = ()
    most_matches: int = 0
    extras: Extras = Extras()
    seeks: bool = False
    tournaments: bool = False
    says_ready: bool = False


class TurnListing(NamedTuple):
    """The legal moves for a turn: their number, and the moves if they are to be sent."""

    total: int
    moves: tuple[ListedMove, ...]


@dataclass(init=False, eq=False, slots=True)
class TurnItem:
    """It is the bot's turn.

    first_ply: of the first move in the turn's list of last moves. reader_delay_ms: `Session.reader_delay` when the turn
    was put on the stream.
    """

    match: Match
    seat: Seat
    first_ply: int
    listing: TurnListing | None
    reader_delay_ms: int

    def __init__(
        self, match: Match, seat: Seat, first_ply: int, listing: TurnListing | None = None, reader_delay_ms: int = 0
    ) -> None:
        self.match = match
        self.seat = seat
        self.first_ply = first_ply
        self.listing = listing
        self.reader_delay_ms = reader_delay_ms


class StateItem(NamedTuple):
    """The current state of a match."""

    match: Match


@dataclass(init=False, slots=True)
class AnswerItem:
    """The answer to a request."""

    request_id: str
    match_id: str
    answer: Receipt | Refusal

    def __init__(self, request_id: str, match_id: str, answer: Receipt | Refusal) -> None:
        self.request_id = request_id
        self.match_id = match_id
        self.answer = answer


class EndedItem(NamedTuple):
    """A match has ended. cursor: for the bot to acknowledge.

    seat: the bot's; 1 in a match against itself.
    """

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
    """A player challenges the bot."""

    challenge: Challenge


class ChallengeClosedItem(NamedTuple):
    """A challenge to the bot, or a challenge or seek by it, is no longer open."""

    challenge: Challenge


class SeekItem(NamedTuple):
    """A player seeks an opponent."""

    challenge: Challenge


class CallItem(NamedTuple):
    """A tournament that a player may enter, or has entered, and its phase."""

    player: str
    created: Created
    phase: TournamentPhase
    entered: bool


class PingItem(NamedTuple):
    """Requests a pong."""

    number: int


class NoticeItem(NamedTuple):
    """The reason why the stream will end."""

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


class Asked(NamedTuple):
    """When a player asked for its stream, and since when it waits for one, in UTC epoch milliseconds.

    at_ms: if earlier requests failed because of the store, the instant of the first one (`Waits`) after its player was
    last told of a turn. waits_since_ms: while the log of a shared store does not answer, servers refuse streams, and
    players ask one server after the other. So a player waits since the log fell silent, as far as the server that opens
    the stream can know.
    """

    at_ms: int
    waits_since_ms: int


class Session:
    """The Play stream of a player. An API takes the items of `outbox` and sends them, the first one first.

    asked: when its player asked for it. opened_ms, last_act_ms: when it was opened, and when the last message came on
    it. ended: the reason why it is to end, or None. round_trip_ms: the network's round trip on this stream, or None
    before the first pong. row: the replica and the epoch in its row of a shared store; '' and 0 without one. left: both
    sides have ended it, and messages that still arrive have no effect. closed: it is no longer its player's stream.
    """

    def __init__(self, caller: Caller, hello: Hello, limits: Limits, asked: Asked, now: int) -> None:
        self.caller = caller
        self.player = caller.player
        self.hello = hello
        self.asked = asked
        self.opened_ms = now
        self.last_act_ms = now
        self.round_trip_ms: int | None = None
        self.row = ("", 0)
        self.ended: Refusal | None = None
        self.left = self.closed = False
        self._limits = limits
        self.outbox: deque[Item] = deque()
        self._loop = asyncio.get_running_loop()
        self._waiting: Callable[[], object] | None = None  # of the sender
        self._pings: dict[int, int] = {}  # number: when it was sent
        self._next_ping = 1
        self._round_trips: deque[int] = deque(maxlen=ROUND_TRIPS_KEPT)
        self._acts = TokenBucket(limits.acts_a_second, SECOND_MS)
        self._free_acts = TokenBucket(FREE_ACTS, SECOND_MS)
        self._other_acts = 0
        self._most = limits.session_items
        self._unanswered = 0  # requests without an answer yet
        self._half_closed = False  # the bot has closed its side
        self._writing_since: int | None = None  # the write under way
        self._reader_delay_ms = 0  # by writes that have ended
        self.over = asyncio.Event()  #: set once the stream is to end, with `ended` saying why
        self.moves_sent: dict[str, int] = {}  #: by match, how many of its moves were sent on this stream
        self.turns: dict[str, int] = {}  #: by match, when the last turn on this stream began
        self.preparing: set[str] = set()  #: matches for which the bot will say on this stream that it is ready
        self.announced: set[str] = set()  #: tournaments whose call the bot has got
        self.last_result = 0  #: the cursor of the last result on this stream
        self.unacknowledged: dict[int, None] = {}  #: cursors of results on this stream, the first ones, as they came
        self._ends: set[str] = set()  # matches whose end was among the first items
        self._challenges: set[str] = set()  # challenges and seeks that were among the first items

    def put_first(self, items: Iterable[Item]) -> None:
        """Put the items that a bot gets when it connects; their number has no limit."""
        before = len(self.outbox)
        for item in items:
            self.outbox.append(item)
            self._note(item)
            if isinstance(item, EndedItem):
                self._ends.add(item.match_id)
            elif isinstance(item, ChallengeItem | SeekItem):
                self._challenges.add(item.challenge.challenge_id)
        self._most += len(self.outbox) - before
        self._wake()

    def put(self, item: Item) -> None:
        """Put an item on the stream.

        If too many items wait to be read, the stream ends. Its bot can connect again; it loses nothing.
        """
        if self.ended is not None:
            return
        if len(self.outbox) >= self._most:
            self.end(
                Refusal(
                    Reason.READER_TOO_SLOW,
                    f"{len(self.outbox)} items waited to be read on this stream: connect again, nothing is lost",
                    resume_from="",
                )
            )
            return
        self.outbox.append(item)
        self._note(item)
        self._wake()

    def has_sent_end_of(self, match_id: str) -> bool:
        """Return whether the first items had the end of a match, before its listeners were called."""
        return match_id in self._ends

    def has_sent_challenge(self, challenge: Challenge) -> bool:
        """Return whether the first items had a challenge or seek."""
        return challenge.challenge_id in self._challenges

    def _note(self, item: Item) -> None:
        if isinstance(item, EndedItem):
            self.last_result = max(self.last_result, item.cursor)
            if len(self.unacknowledged) < RESULTS_KEPT:
                self.unacknowledged[item.cursor] = None

    def received(self, cursor: int) -> set[int]:
        """Return the cursors of results that a bot has received, by its acknowledgement of one of them.

        A result that was put on the stream after that one may be lost with it, also one with a smaller cursor.
        """
        known = list(self.unacknowledged)
        return set(known[: known.index(cursor) + 1] if cursor in self.unacknowledged else known)

    def request_arrived(self) -> int:
        """Count a request that needs an answer; return how many there are now."""
        self._unanswered += 1
        return self._unanswered

    def put_answer(self, item: AnswerItem) -> None:
        """Put the answer to a request on the stream."""
        self._unanswered -= 1
        self.put(item)
        self._wake()

    def half_close(self) -> None:
        """Note that the bot has closed its side. Its requests are still answered, then the stream ends."""
        self._half_closed = True
        self._wake()

    def _wake(self) -> None:
        waiting = self._waiting
        if waiting is not None:
            self._waiting = None
            self._loop.call_soon(waiting)

    @property
    def is_done(self) -> bool:
        """Whether nothing more will be put on the stream."""
        return self.ended is not None or (self._half_closed and not self._unanswered)

    @property
    def waiting(self) -> int:
        """How many items wait to be sent."""
        return len(self.outbox)

    def call_with_items(self, waiting: Callable[[], object] | None) -> None:
        """Have a function called once, when items are put on the stream from now on, or when it ends.

        It is called in the next turn of the event loop: items that are put in the same turn go into one message. None:
        the function that was given before is no longer called.
        """
        self._waiting = waiting

    def end(self, refusal: Refusal) -> None:
        """End the stream with a refusal. Items in the queue are sent before it, unless the bot does not read."""
        if self.ended is None:
            if refusal.reason is Reason.READER_TOO_SLOW:
                self.outbox.clear()
            self.outbox.append(NoticeItem(refusal))
            self.ended = refusal
            self._wake()
            self.over.set()

    def write_began(self, now: int) -> None:
        """Note that a write to the transport begins."""
        self._writing_since = now

    def write_ended(self, now: int) -> None:
        """Note that the write to the transport has ended."""
        self._reader_delay_ms = self.reader_delay(now)
        self._writing_since = None

    def reader_delay(self, now: int) -> int:
        """Return the total time that the server has waited for the bot to read, in milliseconds."""
        if self._writing_since is None:
            return self._reader_delay_ms
        return self._reader_delay_ms + max(0, now - self._writing_since - WRITE_MS)

    def ping(self) -> None:
        """Put a ping on the stream. Call `ping_sent` when it is sent."""
        self.put(PingItem(self._next_ping))
        self._next_ping += 1

    def ping_sent(self, number: int, now: int) -> None:
        """Note that a ping is sent now."""
        self._pings[number] = now
        if len(self._pings) > ROUND_TRIPS_KEPT:
            del self._pings[next(iter(self._pings))]

    def pong_arrived(self, number: int, now: int) -> None:
        """Note a pong. A pong that answers no ping is ignored."""
        sent = self._pings.pop(number, None)
        if sent is not None:
            self._round_trips.append(now - sent)
            self.round_trip_ms = min(self._round_trips)

    def count_act(self, now: int) -> int:
        """Count an act that is not a move.

        Return 0, or, above the limit, the milliseconds until the next one is allowed.
        """
        self.note_other_act(now)
        return self._acts.take(now)

    def note_other_act(self, now: int) -> None:
        """Note an act that is no move in a live match, or a move that is sent again."""
        if self._free_acts.take(now):
            self._other_acts += 1

    def take_other_acts(self) -> int:
        """Return how many of these acts came since the last time, beyond FREE_ACTS a second."""
        acts, self._other_acts = self._other_acts, 0
        return acts
