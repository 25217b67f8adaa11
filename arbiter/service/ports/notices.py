"""Notices between servers that share a store, about connected players. The event log does not have them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Final, NamedTuple


class NoticeKind(StrEnum):
    """The subject of a notice."""

    SHUT_OUT = "shut_out"  #: player `receiver` was suspended, or its token `subject` revoked; see also SHOWN
    CHALLENGE = "challenge"  #: challenge `subject` is for `receiver` ('' for all players that asked for seeks)


SHOWN: Final = "shown"
"""The subject of a notice SHUT_OUT that says that `receiver` is shown in another way: it is the id of no token.

So servers of a version that does not know renamed players can read it.
"""


class Notice(NamedTuple):
    """A notice. Notices become visible in the order of their numbers. detail: the match that a challenge created."""

    number: int
    kind: NoticeKind
    subject: str
    receiver: str
    detail: str = ""


NoticeListener = Callable[[Notice], Awaitable[None]]
"""Called with each new notice, also with those of its own server.

If it raises StoreFailed, it is called again later.
"""
