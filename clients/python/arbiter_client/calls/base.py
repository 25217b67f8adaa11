"""The common parts of the calls: the connection, request ids and pages."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from arbiter_client.channel import Connection

P = TypeVar("P", bound="Page")
V = TypeVar("V")


class Page(Protocol):
    """An answer with the token of the next page, '' on the last one."""

    next_page_token: str


class Calls:
    """Calls over one connection."""

    connection: Connection


def new_request_id() -> str:
    """Return a unique request id."""
    return secrets.token_hex(16)


async def collect(most: int, ask: Callable[[int, str], Awaitable[P]], values: Callable[[P], list[V]]) -> tuple[V, ...]:
    """Return up to `most` values, from as many pages as necessary; `ask` takes a page size and a page token."""
    found: list[V] = []
    token = ""
    while len(found) < most:
        page = await ask(min(most - len(found), 1000), token)
        found += values(page)
        token = page.next_page_token
        if not token:
            break
    return tuple(found[:most])
