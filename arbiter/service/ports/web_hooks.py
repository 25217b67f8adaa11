"""Web hooks as ports: where they are stored with the progress of their deliveries, and what sends a delivery."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class WebHook:
    """An address to which events of a tournament are delivered, and how far its deliveries have come.

    secret: the key of its signatures, as text. revision: that of the last record of the tournament's log that needs no
    delivery any more. tries: how often the delivery after it was attempted in vain, or is being attempted. due_ms: when
    the next attempt may begin, 0 if nothing has been attempted yet. error: why the last attempt failed, '' if it did
    not. delivered_ms: when the last delivery was accepted, 0 if none was. stopped: no attempt is made any more.

    All instants are UTC epoch milliseconds.
    """

    hook_id: str
    tournament_id: str
    url: str
    secret: str
    creator: str
    request_id: str
    created_ms: int
    revision: int
    tries: int = 0
    due_ms: int = 0
    error: str = ""
    delivered_ms: int = 0
    stopped: bool = False


class WebHooks(Protocol):
    """The stored web hooks. Every write is durable when its call returns; every call raises StoreFailed."""

    async def add(self, hook: WebHook, most: int) -> WebHook | None:
        """Store a web hook. If its creator has already used its request id, return that earlier one instead.

        Returns None and stores nothing if its tournament has `most`.
        """

    async def get(self, hook_id: str) -> WebHook | None:
        """Return a web hook, or None if it does not exist."""

    async def of_tournament(self, tournament_id: str) -> list[WebHook]:
        """Return the web hooks of a tournament, by id."""

    async def active(self) -> list[WebHook]:
        """Return all web hooks that have not stopped, by id."""

    async def due(self, now_ms: int) -> list[WebHook]:
        """Return those that have not stopped, of which an attempt has begun or failed and the next one may begin."""

    async def unused_since(self, before_ms: int) -> list[WebHook]:
        """Return those that were made before an instant, by id, and to which nothing is or was delivered since then."""

    async def change(self, hook: WebHook, was: WebHook) -> bool:
        """Store the progress of a web hook if it still is that of `was`; return whether it was.

        So of all servers that share the store, one makes an attempt: the one that could write it down.
        """

    async def remove(self, hook_id: str) -> None:
        """Remove a web hook, if it exists."""


class DeliveryFailed(Exception):
    """An attempt has failed: the message says why. gone: the receiver has said that it wants no more."""

    def __init__(self, why: str, gone: bool = False) -> None:
        super().__init__(why)
        self.gone = gone


class Sender(Protocol):
    """Sends deliveries by HTTP, to addresses to which the operator lets it connect."""

    def check(self, url: str) -> None:
        """Raise ValueError, which says why, for a URL to which nothing could ever be delivered."""

    async def send(self, url: str, headers: Mapping[str, str], body: bytes) -> None:
        """Send a delivery, and return once the receiver has accepted it. Raises DeliveryFailed."""
