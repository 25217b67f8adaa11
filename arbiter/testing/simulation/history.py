"""What was seen in a run, by whoever saw it: written down by the workload, judged by the invariants alone.

Instants named `at_ms` are the server's clock's; `true_ms` is virtual time, which no fault touches. `head` is how many
records the journal truly held when something was seen.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from arbiter.errors import Refusal
from arbiter.matches.requests import Receipt
from arbiter.testing.guarantees import Bookmarked, Received


class Ask(NamedTuple):
    """A request of a player: the verb and, for a move, its ply and text; for the answer to an offer, yes or no."""

    request: str
    match_id: str
    verb: str
    ply: int = 0
    move: str = ""
    accept: bool = False


class Asked(NamedTuple):
    """A request reached the server."""

    player: str
    ask: Ask
    at_ms: int
    streamed: bool


class Given(NamedTuple):
    """An answer left the server."""

    player: str
    match_id: str
    request: str
    answer: Receipt | Refusal
    head: int


class Handed(NamedTuple):
    """A turn left the server, on a player's stream; `revision` is that of the match as it was told.

    process: which of the server's it was, 0 for the first.
    """

    player: str
    process: int
    match_id: str
    revision: int
    ply: int
    since: int
    at_ms: int
    head: int


class Result(NamedTuple):
    """The end of a match reached a player; `cursor` is its journal place."""

    player: str
    match_id: str
    words: tuple[str, int, str, str, str, int]
    cursor: int
    head: int


@dataclass(slots=True)
class Stream:
    """A Play stream as the server had it: the journal's head when it was opened.

    taken: the head each time that all of what waited to be sent was taken.
    """

    player: str
    opened: int
    taken: list[int] = field(default_factory=list)


class Made(NamedTuple):
    """The answer to a request for a match."""

    request: str
    match_id: str
    head: int


@dataclass(slots=True)
class Reading:
    """What one observer received: of a match, or ('') of everything, or of everything with a label.

    parts: a list a stream, each resumed where the one before broke off. begins: the place after which the first began,
    None if that was `from now`. whole: whether the observer read to the end.
    """

    match_id: str
    label: str = ""
    begins: int | None = 0
    parts: list[list[Received | Bookmarked]] = field(default_factory=list)
    heads: list[tuple[Received, int, int]] = field(default_factory=list)
    whole: bool = False


class Outage(NamedTuple):
    """The server was away: `head` is the journal's when it went; graceful means that it stopped its clocks itself."""

    head: int
    graceful: bool


@dataclass(slots=True)
class History:
    """Everything that was seen."""

    asked: list[Asked] = field(default_factory=list)
    given: list[Given] = field(default_factory=list)
    handed: list[Handed] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)
    made: list[Made] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    outages: list[Outage] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    unforeseen: list[str] = field(default_factory=list)  #: exceptions that nobody caught, and the arbiter's own errors
    unfinished: list[str] = field(default_factory=list)  #: matches that never ended
