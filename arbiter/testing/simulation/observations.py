"""The observations of a run: written by the workload, judged by the invariants only.

Times named `at_ms` are on the server's clock; `true_ms` is virtual time, which no fault changes. `head` is the number
of records that the journal held when the observation was made.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from arbiter.errors import Refusal
from arbiter.matches.requests import Receipt
from arbiter.testing.guarantees import Bookmarked, Received


class Request(NamedTuple):
    """A request of a player: the verb; for a move, its ply and text; for the answer to an offer, yes or no."""

    request: str
    match_id: str
    verb: str
    ply: int = 0
    move: str = ""
    accept: bool = False


class ReceivedRequest(NamedTuple):
    """A request reached the server."""

    player: str
    ask: Request
    at_ms: int
    streamed: bool


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

    taken: the journal's head each time that the queue of the stream was emptied.
    """

    player: str
    opened: int
    taken: list[int] = field(default_factory=list)


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
    for ever. silence_s: the patience of the server.
    """

    reader: str
    kind: str
    how: str
    held: bool
    counted_s: float | None
    open_s: float | None
    silence_s: float


class Outage(NamedTuple):
    """The server was down: `head` is the journal's at the stop; graceful: the server stopped its clocks itself."""

    head: int
    graceful: bool


@dataclass(slots=True)
class RunObservations:
    """All observations of a run."""

    asked: list[ReceivedRequest] = field(default_factory=list)
    given: list[SentAnswer] = field(default_factory=list)
    handed: list[SentTurn] = field(default_factory=list)
    results: list[SentResult] = field(default_factory=list)
    streams: list[ServedStream] = field(default_factory=list)
    made: list[CreatedMatch] = field(default_factory=list)
    readings: list[ObservedEvents] = field(default_factory=list)
    ended: list[EndedStream] = field(default_factory=list)
    outages: list[Outage] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    unforeseen: list[str] = field(default_factory=list)  #: uncaught exceptions, and the arbiter's own errors
    unfinished: list[str] = field(default_factory=list)  #: matches that never ended
