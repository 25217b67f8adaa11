"""Notices between servers that share a store: what concerns those who are connected, and stands in no log."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import NamedTuple


class NoticeKind(StrEnum):
    """What a notice is about."""

    SHUT_OUT = "shut_out"  #: player `receiver` was suspended, or its token `subject` revoked
    CHALLENGE = "challenge"  #: `receiver` ('' for who wants to know of seeks) is to be told of challenge `subject`


class Notice(NamedTuple):
    """A notice. Numbers grow in the order in which notices become visible. detail: the match that a challenge made."""

    number: int
    kind: NoticeKind
    subject: str
    receiver: str
    detail: str = ""


NoticeListener = Callable[[Notice], Awaitable[None]]
"""Called with each new notice, the server's own too. May raise StoreFailed: then it is called again later."""
