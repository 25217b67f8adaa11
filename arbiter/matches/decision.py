"""What a match answers to a command, and what it records of it."""

from __future__ import annotations

from dataclasses import dataclass

from arbiter.errors import Refusal
from arbiter.matches.answers import receipt_of
from arbiter.matches.events import Event
from arbiter.matches.match import Match
from arbiter.matches.requests import Receipt


@dataclass(init=False, slots=True)
class Decision:
    """What a command does: the events to store, in order (none if nothing changes), and the answer to its sender.

    Send the answer, even a refusal, only once the events are durable.
    """

    events: tuple[Event, ...]
    answer: Receipt | Refusal

    def __init__(self, events: tuple[Event, ...], answer: Receipt | Refusal) -> None:
        self.events = events
        self.answer = answer


def unchanged(match: Match) -> Decision:
    """Return the decision of a command that changes nothing."""
    return Decision((), Receipt(match.revision, None, match.ply))


def carried_out(match: Match, event: Event, *consequences: Event) -> Decision:
    """Return the decision of a command that the first of these events carries out."""
    return Decision((event, *consequences), receipt_of(match, event))
