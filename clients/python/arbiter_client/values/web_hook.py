"""Web hooks of tournaments."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WebHook:
    """An address to which the events of a tournament are delivered, and how far that has come.

    delivered_revision: the last record of the tournament's log that needs no delivery any more. delivered_ms: when a
    delivery was accepted last, 0 if none was. tries: how often the next one was attempted in vain, or is being
    attempted. next_try_ms: 0 if nothing waits for another attempt. error: why the last attempt failed, or ''. stopped:
    nothing is attempted any more.
    """

    web_hook_id: str
    tournament_id: str
    url: str
    created_ms: int
    delivered_revision: int
    delivered_ms: int
    tries: int
    next_try_ms: int
    error: str
    stopped: bool


@dataclass(frozen=True, slots=True)
class NewWebHook:
    """A web hook that was just made. secret: the key of its signatures, which no other call returns."""

    web_hook: WebHook
    secret: str
