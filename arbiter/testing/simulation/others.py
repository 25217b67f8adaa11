"""The simulated organiser, who creates matches and ends some of them, and the simulated observers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

from arbiter.errors import Reason, Refusal
from arbiter.matches.commands import Abort, Adjudicate, OrganiserRequest, ResultKind
from arbiter.testing.guarantees import Received
from arbiter.testing.simulation.address import Address
from arbiter.testing.simulation.gate_calls import Answer
from arbiter.testing.simulation.observations import CreatedMatch, ObservedEvents
from arbiter.testing.simulation.plan import ORGANISER, MatchPlan
from arbiter.testing.simulation.simulated_network import Calls, Delays, Link
from arbiter.testing.simulation.simulated_player import TRY_AGAIN

PATIENCE_S = 3.0  #: timeout after which the organiser repeats a request


class Organiser:
    """Creates the matches of a plan; repeats each request until it is answered. `matches`: their ids by request."""

    def __init__(self, plans: tuple[MatchPlan, ...], server: Address, delays: Delays, dice: Random) -> None:
        self.matches: dict[str, str] = {}
        self._plans = plans
        self._server = server
        self._dice = dice
        self._calls = Calls(delays, dice, server.chance)
        self._open = len(plans)

    @property
    def is_done(self) -> bool:
        """Whether everything planned is done."""
        return not self._open

    def begin(self) -> None:
        """Start everything that is planned, each at its time."""
        loop = asyncio.get_running_loop()
        for plan in self._plans:
            loop.call_later(plan.after_ms / 1000, self._create, plan)

    def _create(self, plan: MatchPlan) -> None:
        if plan.create.request not in self.matches:
            self._calls.call(
                lambda: self._server.create(plan.create), lambda made: self._made(plan, made), lambda: None
            )
            asyncio.get_running_loop().call_later(PATIENCE_S, self._create, plan)

    def _made(self, plan: MatchPlan, made: CreatedMatch) -> None:
        if plan.create.request in self.matches:
            return
        self.matches[plan.create.request] = made.match_id
        if plan.intervenes_ms:
            asyncio.get_running_loop().call_later(plan.intervenes_ms / 1000, self._intervene, made.match_id)
        else:
            self._open -= 1

    def _intervene(self, match_id: str) -> None:
        kind = self._dice.choice(("abort", *ResultKind))
        command: OrganiserRequest = Abort(ORGANISER, f"judge {match_id}", "the venue closes")
        if kind != "abort":
            winner = self._dice.choice((1, 2)) if kind is ResultKind.WIN else 0
            command = Adjudicate(ORGANISER, f"judge {match_id}", ResultKind(kind), winner, "seen on the board")
        self._judge(match_id, command, asyncio.Event())

    def _judge(self, match_id: str, command: OrganiserRequest, answered: asyncio.Event) -> None:
        if answered.is_set():
            return

        def take(answer: Answer) -> None:
            if not answered.is_set() and not (isinstance(answer, Refusal) and answer.reason in TRY_AGAIN):
                answered.set()
                self._open -= 1

        self._calls.call(lambda: self._server.judge(match_id, command), take, lambda: None)
        asyncio.get_running_loop().call_later(PATIENCE_S, self._judge, match_id, command, answered)


class Observer:
    """Reads a stream of events to its end, over as many connections as it takes.

    find: returns which match to observe, once that is known ('' for everything).
    """

    def __init__(
        self, server: Address, delays: Delays, dice: Random, find: Callable[[], str | None], label: str = ""
    ) -> None:
        self.link: Link | None = None
        self.reading: ObservedEvents | None = None
        self._server = server
        self._delays = delays
        self._dice = dice
        self._find = find
        self._label = label
        self._after: int | None = None
        self._closing = False

    @property
    def place(self) -> int:
        """The journal position after which the observer resumes (a revision, for one match)."""
        return self._after or 0

    def begin(self) -> None:
        """Start reading, or try again."""
        if self._closing or self.link is not None or (self.reading is not None and self.reading.whole):
            return
        if self.reading is None and not self._choose():
            self._later(1.0)
            return
        assert self.reading is not None
        self.reading.parts.append([])
        link = self.link = Link(self._delays)
        link.on_message_below = lambda message: self._receive(link, *message)
        link.on_loss_below = lambda: self._lost(link)
        delay_s = self._delays.draw_s()
        asyncio.get_running_loop().call_later(
            delay_s, self._server.observe, self.reading.match_id, self._label, self._after, link
        )

    def _choose(self) -> bool:
        match_id = self._find()
        if match_id is None:
            return False
        self._after = self._dice.choice((0, None)) if not match_id else 0
        self.reading = ObservedEvents(match_id, self._label, self._after)
        self._server.history.readings.append(self.reading)
        return True

    def _later(self, seconds: float) -> None:
        asyncio.get_running_loop().call_later(seconds, self.begin)

    def _receive(self, link: Link, head: int, items: list[Any]) -> None:
        assert self.reading is not None
        for item in items:
            if item is None:
                self.reading.whole = True
                link.cut(above_after_s=None)
            elif isinstance(item, Refusal):
                self._refused(link, item)
            else:
                self._take(self.reading, head, *item)

    def _take(self, reading: ObservedEvents, head: int, item: Any, place: int) -> None:
        reading.parts[-1].append(item)
        if isinstance(item, Received):
            reading.heads.append((item, place, head))
            self._after = item.revision if reading.match_id else place
        elif not reading.match_id:
            self._after = place
        if reading.begins is None:
            reading.begins = place - isinstance(item, Received)

    def _refused(self, link: Link, refusal: Refusal) -> None:
        if refusal.reason is Reason.READER_TOO_SLOW:
            told = int(refusal.facts["resume_from"])
            # With a label, skipped events are not read again; otherwise the position is that of the last event sent.
            if told < self.place or (told > self.place and not self._label):
                self._server.history.unforeseen.append(f"told to resume after {told}, having read up to {self.place}")
            self._after = told
        elif refusal.reason not in TRY_AGAIN:
            self._server.history.unforeseen.append(f"an observer was refused: {refusal}")
        link.cut(above_after_s=None)

    def _lost(self, link: Link) -> None:
        if link is self.link:
            self.link = None
            self._later(self._dice.uniform(0.05, 2.0))

    def close(self) -> None:
        """Stop reading."""
        self._closing = True
        if self.link is not None:
            self.link.cut()
