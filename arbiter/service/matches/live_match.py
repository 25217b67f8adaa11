"""One live match in memory, and the types of what it answers and of what it tells."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from arbiter.errors import Refusal
from arbiter.matches.commands import Command
from arbiter.matches.match import Match
from arbiter.matches.requests import Receipt
from arbiter.service.ports.journal import Basis
from arbiter.service.record.published import Published

Answer = Receipt | Refusal
AnswerCallback = Callable[[Answer], None]

MatchListener = Callable[[Match, Sequence[Published]], None]
"""Called with a match and the events that have just become durable; the match stands after the last of them."""


class LiveMatch:
    """A match that has not ended, or whose end is not durable yet.

    newest: the state that commands meet; durable: the state that others may see, None until the first event is stored.
    writing: how many appends are under way; tail: the last of them. rings_ms: the deadline that the timer was set for.
    failed: an append failed, so `newest` is ahead of the record, and it takes no commands until the record has been
    read again; failures: so many in a row. basis: what its appends build on.
    waiting: None, or, while it catches up with what another server has appended, the commands that are decided then;
    lost: it does so because an append was refused.
    """

    __slots__ = (
        "basis",
        "durable",
        "failed",
        "failures",
        "lost",
        "newest",
        "rings_ms",
        "tail",
        "timer",
        "waiting",
        "writing",
    )

    def __init__(self, newest: Match, durable: Match | None) -> None:
        self.newest = newest
        self.durable = durable
        self.writing = 0
        self.tail: asyncio.Future[int] | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.rings_ms = 0
        self.failed = False
        self.failures = 0
        self.basis = Basis()
        self.lost = False
        self.waiting: list[tuple[Command, AnswerCallback]] | None = None


AdoptionListener = Callable[[Match], None]
"""Called with a match that has become live here as another server has stored it."""

FailureListener = Callable[[LiveMatch], None]
"""Called with a match when an append of its events has failed: it is `failed` by then, or has commands `waiting`.

Also if the log may have more of the match than is known here.
"""
