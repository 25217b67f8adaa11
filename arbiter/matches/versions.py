"""Versions of bots: for which version a match counts.

A bot sends its version in the hello of its stream. After a reconnect the version may differ; the record holds each one
(`Arrived`). For each player a match counts for the version that played that player's first move; if the player never
moved, for the version that arrived last. '' is an unknown version: the bot sent none, plays without a Play stream, or
never came.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any, NamedTuple

from arbiter.games.contract import Seat
from arbiter.matches.events import Arrived, Event, Moved


class Versions(NamedTuple):
    """The versions of both players' bots, by seat: on their last arrival, and at their first move."""

    arrived: tuple[str, str] = ("", "")
    moved: tuple[str | None, str | None] = (None, None)

    def after(self, event: Event) -> Versions:
        """Return the versions after an event of the match."""
        match event:
            case Arrived(seat=seat, version=version):
                return self._replace(arrived=_set(self.arrived, seat, version))
            case Moved(seat=seat) if self.moved[seat - 1] is None:
                return self._replace(moved=_set(self.moved, seat, self.arrived[seat - 1]))
            case _:
                return self

    @property
    def counted(self) -> tuple[str, str]:
        """The versions for which the match counts."""
        first, second = (
            arrived if moved is None else moved for arrived, moved in zip(self.arrived, self.moved, strict=True)
        )
        return first, second


def versions_of(events: Iterable[Event]) -> tuple[str, str]:
    """Return the versions for which a match counts, from its events so far."""
    return reduce(Versions.after, events, Versions()).counted


def _set(pair: tuple[Any, Any], seat: Seat, value: str) -> tuple[Any, Any]:
    return (value, pair[1]) if seat == 1 else (pair[0], value)
