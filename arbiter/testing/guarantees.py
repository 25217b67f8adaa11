"""The guarantees of an event stream, with one validator for each.

A validator is a function of the events that a reader received. It raises Broken, which names the guarantee and the
first item that violates it. `Received` represents an event from any source: the service, the wire, a client.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class Received(NamedTuple):
    """An event as a reader received it. `body` is any value that is equal in two readings of the same event."""

    match_id: str
    revision: int
    body: object = None


class Bookmarked(NamedTuple):
    """A bookmark as a reader received it: a revision on the stream of one match, a token's number on other streams."""

    place: int


Item = Received | Bookmarked


class Broken(AssertionError):
    """A stream violated a guarantee."""

    def __init__(self, promise: str, item: object, why: str) -> None:
        super().__init__(f"{promise} is broken at {item}: {why}")
        self.promise = promise


def ordered(events: Iterable[Received]) -> None:
    """Check that revisions only increase within a match."""
    last: dict[str, int] = {}
    for event in events:
        if event.revision < last.get(event.match_id, 0):
            raise Broken("Ordered", event, f"revision {last[event.match_id]} came before")
        last[event.match_id] = event.revision


def unique(events: Iterable[Received]) -> None:
    """Check that no event arrives twice."""
    seen: set[tuple[str, int]] = set()
    for event in events:
        if (event.match_id, event.revision) in seen:
            raise Broken("Unique", event, "it came before")
        seen.add((event.match_id, event.revision))


def gap_free(events: Iterable[Received], after: Mapping[str, int] | None = None) -> None:
    """Check that no revision of a match is missing from the one after `after` on (by match; default: the first)."""
    last = dict(after or {})
    for event in events:
        expected = last.get(event.match_id, 0) + 1
        if event.revision > expected:
            raise Broken("Gap-free", event, f"revision {expected} is missing")
        last[event.match_id] = max(event.revision, expected - 1)


def resumable(whole: Sequence[Received], parts: Iterable[Sequence[Received]]) -> None:
    """Check that reading in parts, each resumed after the one before, gives the same as reading in one go."""
    joined = [event for part in parts for event in part]
    for n, event in enumerate(whole):
        if n >= len(joined):
            raise Broken("Resumable", event, "it did not come in the parts")
        if joined[n] != event:
            raise Broken("Resumable", joined[n], f"in one go {event} stands there")
    if len(joined) > len(whole):
        raise Broken("Resumable", joined[len(whole)], "it did not come in one go")


def bookmarked(items: Iterable[Item], after: int = 0, tokens: Mapping[tuple[str, int], int] | None = None) -> None:
    """Check that the bookmarks of a stream that began at `after` are correct, and that there is at least one.

    On the stream of one match, a bookmark is the last revision sent. A stream of many matches skips events that its
    reader did not ask for. There, `tokens` are those of the events sent, by match and revision. A bookmark is never
    behind an event that was sent before it, nor ahead of an event that is sent after it.
    """
    last, count = after, 0
    for item in items:
        if isinstance(item, Received):
            place = item.revision if tokens is None else tokens[item.match_id, item.revision]
            if place <= last:
                raise Broken("Bookmarked", item, f"its place is {place}, and the stream was at {last}")
        else:
            place = item.place
            count += 1
            if place < last or (tokens is None and place != last):
                raise Broken("Bookmarked", item, f"the stream is at {last}")
        last = place
    if not count:
        raise Broken("Bookmarked", f"{last}", "there is no bookmark")


def kept(events: Sequence[Received], after: Mapping[str, int] | None = None) -> None:
    """Check the guarantees of every stream: ordered, unique and without gaps."""
    ordered(events)
    unique(events)
    gap_free(events, after)
