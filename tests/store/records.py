"""Random records of whole matches for the tests of stores, appended as the service does."""

from __future__ import annotations

import random
from functools import cache

from arbiter.matches import Match, Phase, create, deadline, decide, evolve, replay, seal, seal_first
from arbiter.matches.commands import (
    Abort,
    Adjudicate,
    AnswerDraw,
    Arrive,
    Command,
    Create,
    OfferDraw,
    Play,
    ReportFault,
    Resign,
    ResultKind,
    Tick,
)
from arbiter.matches.events import Event
from arbiter.matches.record import Sealed
from arbiter.service.ports.journal import Append, Record, Subject
from arbiter.service.record.match_log import end_of, summary_of

PLAYERS = ("anna", "ben", "carl", "dora")
NOON = 1_800_000_000_000


class RandomMatch:
    """A match that goes on at random; its events are returned as appends."""

    def __init__(self, number: int, dice: random.Random) -> None:
        self._dice = dice
        self._now = NOON + number
        self._requests = 0
        first, second = dice.sample(PLAYERS, 2)
        command = Create(
            dice.choice(("circle-of-life(target=1)", "circle-of-life")),
            (first, second),
            "1m",
            "org",
            f"create {number}",
            rated=dice.random() < 0.5,
            label=dice.choice(("", "cup", "league")),
        )
        events = create(f"m{number:03}", command, self._now).events
        self.match: Match = replay(events)
        self.opening = Append(
            _records(self.match, seal_first(self.match.id, events)), opened=summary_of(self.match.created)
        )

    @property
    def ended(self) -> bool:
        return self.match.phase is Phase.ENDED

    def go_on(self) -> Append | None:
        """Let something happen; return the append, or None if there is no event."""
        before = self.match
        self._now += 7
        events = decide(before, self._command(), self._now).events
        return self._append(before, events) if events else None

    def _append(self, before: Match, events: tuple[Event, ...] | list[Event]) -> Append:
        sealed = seal(before, events)
        for event in events:
            self.match = evolve(self.match, event)
        return Append(_records(before, sealed), closed=end_of(self.match) if self.ended else None)

    def _command(self) -> Command:
        match, dice = self.match, self._dice
        self._requests += 1
        request = f"r{self._requests}"
        if match.phase is Phase.PENDING and dice.random() < 0.9:
            return Arrive(1 if not match.present[0] else 2)
        roll = dice.random()
        if roll < 0.7 and match.phase is Phase.ACTIVE:
            moves = sorted(match.game.moves(match.position))
            return Play(match.turn, request, match.ply, dice.choice(moves), self._now)
        if roll < 0.9 and match.phase is Phase.ACTIVE:
            if match.offer is not None:
                return AnswerDraw(2 if match.offer.seat == 1 else 1, request, dice.random() < 0.5)
            ends: tuple[Command, ...] = (*[OfferDraw(match.turn, request)] * 3, Resign(match.turn, request))
            return dice.choice(ends)
        if roll < 0.95:
            due = deadline(match)
            self._now = due if due is not None else self._now
            return Tick()
        others: tuple[Command, ...] = (
            Abort("org", request, "the venue closes – good night"),
            Adjudicate("org", request, ResultKind.WIN, 2, "seen"),
            *[Adjudicate("org", request, ResultKind.DRAW)] * 3,
            ReportFault("a mistake"),
        )
        return dice.choice(others)


def _records(match: Match, sealed: list[Sealed]) -> tuple[Record, ...]:
    return tuple(Record(match.id, item.revision, item.data, Subject.MATCH) for item in sealed)


@cache
def appends(seed: int, matches: int = 16) -> tuple[Append, ...]:
    """Return the appends of many simultaneous matches, in order; some of the matches have not ended."""
    dice = random.Random(seed)
    running = [RandomMatch(number, dice) for number in range(matches)]
    asked = []
    for match in running:
        asked.append(match.opening)
        for _ in range(dice.randrange(8)):  # matches overlap
            other = dice.choice(running[: running.index(match) + 1])
            append = None if other.ended else other.go_on()
            asked += [append] if append is not None else []
    for _ in range(10 * matches):
        match = dice.choice(running)
        append = None if match.ended else match.go_on()
        asked += [append] if append is not None else []
    return tuple(asked)
