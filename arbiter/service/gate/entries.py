"""What a caller asks for when it enters a tournament or changes an entry, and what of it is valid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from arbiter.errors import argument_invalid
from arbiter.plain_text import check_plain

LAST_ROUND: Final = 100  #: the last round that a player may ask to sit out
LONGEST_GROUP: Final = 40  #: maximum characters of the name of a team, and of a category


class EntryRequest(NamedTuple):
    """A request to enter.

    player: '' for the caller. rating: whole Elo points to seed by, 0 for its own. byes: rounds to sit out. team and
    category: '' for none.
    """

    player: str = ""
    rating: int = 0
    byes: Sequence[int] = ()
    team: str = ""
    category: str = ""


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


def groups_of(entry: EntryRequest, organises: bool) -> tuple[str, str]:
    """Return the team and the category of a request to enter, '' for none. Raises Refusal ARGUMENT_INVALID.

    organises: whether the caller is the organiser, who alone may name them.
    """
    for value, name, players in ((entry.team, "team", "teams"), (entry.category, "category", "categories")):
        if check_plain(value, name, LONGEST_GROUP) and not organises:
            raise argument_invalid(value, name, f"nothing; the organiser enters the players of {players}")
    return entry.team, entry.category
