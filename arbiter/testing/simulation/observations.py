"""The observations of a run: written by the workload, judged by the invariants only.

Times named `at_ms` are on the server's clock; `true_ms` is virtual time, which no fault changes. `head` is the number
of records that the journal held when the observation was made.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from copy import copy
from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple

from arbiter.errors import Reason, Refusal
from arbiter.matches.requests import Receipt
from arbiter.ratings.rulings import Command
from arbiter.service.ports.directory import Challenge
from arbiter.service.ports.journal import StoredRecord
from arbiter.testing.guarantees import Bookmarked, Received
from arbiter.tournaments.commands import Correct, Rule
from arbiter.tournaments.standings import Table


class Request(NamedTuple):
    """A request of a player: the verb; for a move, its ply and text; for the answer to an offer, yes or no."""

    request: str
    match_id: str
    verb: str
    ply: int = 0
    move: str = ""
    accept: bool = False


class ReceivedRequest(NamedTuple):
    """A request reached the server. process: number of the server process, as in `SentTurn`."""

    player: str
    ask: Request
    at_ms: int
    streamed: bool
    true_ms: float
    process: int


class ReceivedReady(NamedTuple):
    """A player has said that it is ready for a match, at an instant of virtual time."""

    player: str
    match_id: str
    true_ms: float


def received(player: str, ask: Request, at_ms: int, streamed: bool, process: int) -> ReceivedRequest:
    """Return the observation of a request that has reached the server now."""
    return ReceivedRequest(player, ask, at_ms, streamed, true_ms(), process)


def true_ms() -> float:
    """Return virtual time, in milliseconds."""
    return asyncio.get_running_loop().time() * 1_000


class SentAnswer(NamedTuple):
    """An answer left the server."""

    player: str
    match_id: str
    request: str
    answer: Receipt | Refusal
    head: int


class SentTurn(NamedTuple):
    """A turn left the server, on a player's stream; `revision` is that of the match as it was sent.

    process: number of the server process, 0 for the first.
    """

    player: str
    process: int
    match_id: str
    revision: int
    ply: int
    since: int
    at_ms: int
    head: int
    true_ms: float


class SentResult(NamedTuple):
    """The end of a match reached a player; `cursor` is its journal position."""

    player: str
    match_id: str
    words: tuple[str, int, str, str, str, int]
    cursor: int
    head: int


@dataclass(slots=True)
class ServedStream:
    """A Play stream as the server had it: the journal's head when it was opened.

    server: its number. called_s: when its call had reached the server, in virtual time. taken: the journal's head and
    virtual time each time that the queue of the stream was emptied.
    """

    player: str
    opened: int
    server: int
    called_s: float
    taken: list[tuple[int, float]] = field(default_factory=list)


class CreatedMatch(NamedTuple):
    """The answer to a request for a match."""

    request: str
    match_id: str
    head: int


@dataclass(slots=True)
class ObservedEvents:
    """What one observer received: of one match, or ('') of everything, or of everything with a label.

    parts: one list for each stream, each resumed where the one before broke off. begins: the position after which the
    first began, None if that was `from now`. whole: whether the observer read to the end.
    """

    match_id: str
    label: str = ""
    begins: int | None = 0
    parts: list[list[Received | Bookmarked]] = field(default_factory=list)
    heads: list[tuple[Received, int, int]] = field(default_factory=list)
    whole: bool = False


class EndedStream(NamedTuple):
    """The server has ended a stream, because its client was shut out.

    held: whether a message waited that the client did not read, then or later: a Play stream is ended with its last
    messages. counted_s: how long the stream counted as open after that, open_s: how long until its call was over; None:
    for ever. silence_s: the patience of the server. elsewhere: another server has shut the client out.
    """

    reader: str
    kind: str
    how: str
    held: bool
    counted_s: float | None
    open_s: float | None
    silence_s: float
    elsewhere: bool = False


class Outage(NamedTuple):
    """The server was down: `head` is the journal's at the stop; graceful: the server stopped its clocks itself."""

    head: int
    graceful: bool


@dataclass(slots=True)
class LostServer:
    """One of several servers is no longer there: its process was killed, or stopped.

    replica: the id in its row. at_s, until_s: virtual time; None: for ever. players: whose Play stream was there.
    """

    how: str
    server: int
    replica: str
    at_s: float
    until_s: float | None
    players: tuple[str, ...]


class LogHold(NamedTuple):
    """Nobody could use the log: from when to when, in virtual time."""

    began_ms: float
    ended_ms: float


class Stall(NamedTuple):
    """A server stood still: from when to when by its own clock, in UTC epoch milliseconds; of which process."""

    process: int
    began_at: int
    ended_at: int


@dataclass(slots=True)
class AskedStream:
    """A player has asked for a Play stream. Times are virtual, in milliseconds; None: never.

    server, process: its number, and that of the process, as in `SentTurn`. asked_ms: when the server had read the
    hello; begun_ms: when its first message left, which is when the stream was open. over_ms: when the server had ended
    the call, or was dead; cut_ms: when its connection was lost. kept_waiting: when a message had to wait because the
    player did not read.
    """

    player: str
    server: int
    process: int
    asked_ms: float | None = None
    begun_ms: float | None = None
    over_ms: float | None = None
    cut_ms: float | None = None
    kept_waiting: list[tuple[float, float]] = field(default_factory=list)


class TwoStreams(NamedTuple):
    """A player had a Play stream on several servers at the same time, all of which were fine."""

    player: str
    servers: tuple[int, ...]
    since_s: float
    seconds: float


class ChallengeAnswer(NamedTuple):
    """The answer to a player that accepted a challenge, or else declined or withdrew it. refused: why, if it was."""

    player: str
    accepts: bool
    match_id: str
    refused: Reason | None


@dataclass(slots=True)
class ChallengeStory:
    """A challenge at several servers. end: as the store has it. told: the matches of which its challenger was told.

    asked: who has asked to accept it, or else to decline or withdraw it, whether or not an answer came.
    """

    challenger: str
    challenge_id: str = ""
    asked: list[tuple[str, bool]] = field(default_factory=list)
    answers: list[ChallengeAnswer] = field(default_factory=list)
    end: Challenge | None = None
    told: list[str] = field(default_factory=list)


class DecisionAnswer(NamedTuple):
    """An answer to an organiser's or operator's decision. refused: why, if it was.

    began: the journal's head when it was asked for, with this call; place: when it was answered.
    """

    refused: Reason | None
    began: int
    place: int


@dataclass(slots=True)
class AskedDecision:
    """An organiser or operator has asked for a decision: on a tournament, on ratings, or to suspend the guest.

    of: the tournament's id, else '': of several. asked: the command, or whether the guest is suspended. place: the
    journal's head when it was asked first. answers: the final ones, each to a call of the same request.
    """

    of: str
    caller: str
    request: str
    asked: Rule | Correct | Command | bool
    place: int
    answers: list[DecisionAnswer] = field(default_factory=list)

    @property
    def is_made(self) -> bool:
        """Whether a caller was told that it is made."""
        return any(answer.refused is None for answer in self.answers)


@dataclass(slots=True)
class RatingRecord:
    """What the store has of rulings on ratings at the end of a run. unrated: the matches, each with its ruling."""

    log: list[StoredRecord] = field(default_factory=list)
    unrated: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class RunObservations:
    """All observations of a run."""

    asked: list[ReceivedRequest] = field(default_factory=list)
    ready: list[ReceivedReady] = field(default_factory=list)
    given: list[SentAnswer] = field(default_factory=list)
    handed: list[SentTurn] = field(default_factory=list)
    results: list[SentResult] = field(default_factory=list)
    streams: list[ServedStream] = field(default_factory=list)
    made: list[CreatedMatch] = field(default_factory=list)
    readings: list[ObservedEvents] = field(default_factory=list)
    ended: list[EndedStream] = field(default_factory=list)
    outages: list[Outage] = field(default_factory=list)
    processes: int = 0  #: that have been started
    opened_s: dict[tuple[str, int], float] = field(default_factory=dict)
    """When the last Play call of a player reached a server, in virtual time."""
    asked_streams: list[AskedStream] = field(default_factory=list)
    holds: list[LogHold] = field(default_factory=list)
    stalls: list[Stall] = field(default_factory=list)
    lost: list[LostServer] = field(default_factory=list)
    calm: list[LostServer] = field(default_factory=list)
    """Those that were killed while nothing happened to the others, neither shortly before nor for a while after."""
    stored_s: list[float] = field(default_factory=list)
    """When each record was stored, in virtual time, if there are several servers."""
    forgotten_s: dict[str, float] = field(default_factory=dict)
    """When the row of a server that is gone was removed, by its id, in virtual time."""
    two_streams: list[TwoStreams] = field(default_factory=list)
    gaps: list[tuple[float, float]] = field(default_factory=list)
    """When a server could not read the store's clock, in virtual time: from its last reading to the next one."""
    resumed_s: list[float] = field(default_factory=list)
    """When the machine of a server was continued that had been suspended, with its clock, in virtual time."""
    held: list[str] = field(default_factory=list)  #: players whom a server kept that could not reach the store
    challenges: list[ChallengeStory] = field(default_factory=list)
    decisions: list[AskedDecision] = field(default_factory=list)
    ratings: RatingRecord = field(default_factory=RatingRecord)
    tables: dict[str, dict[int, Table]] = field(default_factory=dict)
    """The standings of each tournament at the end, by its id and the number of the server that shows them."""
    differences: list[str] = field(default_factory=list)  #: between what two servers know
    faults: Counter[str] = field(default_factory=Counter)
    unforeseen: list[str] = field(default_factory=list)  #: uncaught exceptions, and the arbiter's own errors
    unfinished: list[str] = field(default_factory=list)  #: matches that never ended


def copy_of(history: RunObservations) -> RunObservations:
    """Return a copy that does not grow any more."""
    return replace(history, **{item.name: copy(getattr(history, item.name)) for item in fields(history)})
