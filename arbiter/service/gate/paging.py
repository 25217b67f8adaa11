"""Pages of lists: their size, and the token that requests the next page."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from arbiter.config import Limits
from arbiter.errors import argument_invalid
from arbiter.service.ports.journal import RatedGames

T = TypeVar("T")

_TOKEN: Final = "a token that this server gave, or nothing"
_ROWS: Final = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,15}))?-([0-9]{1,9})", re.ASCII)


class PageRequest(NamedTuple):
    """The page that a request asks for.

    size: the number of items, 0 for the default. token: '' for the first page.
    """

    size: int
    token: str


class Page(NamedTuple, Generic[T]):
    """Some items of a list. next_token: the token of the next page, '' if there is none."""

    items: Sequence[T]
    next_token: str


def size_of(asked: PageRequest, limits: Limits) -> int:
    """Return how many items a page has. Raises Refusal ARGUMENT_INVALID for a negative number."""
    if asked.size < 0:
        raise argument_invalid(asked.size, "page_size", f"0 to {limits.largest_page_size}")
    return min(asked.size or limits.page_size, limits.largest_page_size)


def page_of(found: Sequence[T], size: int, token_of: Callable[[T], str]) -> Page[T]:
    """Return a page of the first `size` items found; one more item shows that there is a next page."""
    shown = found[:size]
    return Page(shown, token_of(shown[-1]) if len(found) > size else "")


def number_of(token: str, where: str = "page_token") -> int:
    """Return the number in a token, 0 if the token is ''. Raises Refusal ARGUMENT_INVALID."""
    if not token:
        return 0
    if not (token.isascii() and token.isdigit() and len(token) <= 18):
        raise argument_invalid(token, where, _TOKEN)
    return int(token)


def rows_of(token: str) -> tuple[RatedGames | None, int]:
    """Return what is in the page token of a leaderboard: what its ratings follow from, and the rows before the page.

    None and 0 for ''. Raises Refusal ARGUMENT_INVALID.
    """
    if not token:
        return None, 0
    found = _ROWS.fullmatch(token)
    if found is None:
        raise argument_invalid(token, "page_token", _TOKEN)
    return RatedGames(int(found[1]), int(found[2] or 0)), int(found[3])


def rows_token(of: RatedGames, before: int) -> str:
    """Return the page token of a leaderboard; without rulings as servers of the version before know it."""
    return f"{of.games}{f'.{of.rulings}' if of.rulings else ''}-{before}"
