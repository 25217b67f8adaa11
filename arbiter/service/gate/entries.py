"""What a caller asks for when it enters a tournament or changes an entry, and what of it is valid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from arbiter.errors import argument_invalid
from arbiter.plain_text import check_plain

LAST_ROUND: Final = 100  #: the last round that a player may ask to sit out
LONGEST_TEAM: Final = 40  #: maximum characters of the name of a team


class EntryRequest(NamedTuple):
    """A request to enter.

    player: '' for the caller. rating: whole Elo points to seed by, 0 for its own. byes: rounds to sit out. team: '' for
    none.
    """

    player: str = ""
    rating: int = 0
    byes: Sequence[int] = ()
    team: str = ""


class EntryCorrection(NamedTuple):
    """A request to change an entry.

    player: '' for the caller. rating: whole Elo points to seed by, 0 for its own. byes: all rounds to sit out. None:
    unchanged.
    """

    player: str = ""
    rating: int | None = None
    byes: Sequence[int] | None = None


def byes_of(rounds: Sequence[int]) -> tuple[int, ...]:
    """Return rounds to sit out in order, each once. Raises Refusal ARGUMENT_INVALID."""
    if any(not 1 <= bye <= LAST_ROUND for bye in rounds):
        raise argument_invalid(list(rounds), "byes", f"rounds, 1 to {LAST_ROUND}")
    return tuple(sorted(set(rounds)))


def team_of(entry: EntryRequest) -> str:
    """Return the team of a request to enter, '' for none. Raises Refusal ARGUMENT_INVALID."""
    return check_plain(entry.team, "team", LONGEST_TEAM)
