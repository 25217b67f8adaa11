"""The journal and the directory of a server that shares its store: what they have stored is reported.

The records go to whoever follows the log, who does not have to read them then; with a bus, to the other servers too.
Whoever follows the log also gets the records of other servers that an append has brought.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from arbiter.service.ports.directory import Challenge, Directory, Player
from arbiter.service.ports.journal import Append, Journal, Record, Stored
from arbiter.service.record.following import Follower
from arbiter.service.record.news import News

Report = Callable[[Sequence[Record], int], None]
"""Called with the records of an append that is durable, and with the sequence number of the last one."""


class AnnouncingJournal:
    """A journal whose appends are reported once they are durable. Its caller is told first."""

    def __init__(self, journal: Journal, follower: Follower, report: Report) -> None:
        self._journal = journal
        self._follower = follower
        self._report = report

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def append(self, append: Append) -> asyncio.Future[int]:
        """Store records; see `Journal`."""
        stored = self._journal.append(append)
        self._follower.began()
        stored.add_done_callback(partial(self._done, append))
        return stored

    def append_then(self, append: Append, then: Stored) -> None:
        """Store records, then call back; see `Journal`."""
        self._journal.append_then(append, partial(self._stored, append, then))
        self._follower.began()

    def _done(self, append: Append, stored: asyncio.Future[int]) -> None:
        self._follower.settled()
        if not stored.cancelled() and stored.exception() is None:
            self._report(append.records, stored.result())

    def _stored(self, append: Append, then: Stored, last: int, error: BaseException | None) -> None:
        try:
            then(last, error)
        finally:
            self._follower.settled()
            if error is None:
                self._report(append.records, last)


class AnnouncingDirectory:
    """A directory whose notices are reported once they are durable."""

    def __init__(self, directory: Directory, news: News) -> None:
        self._directory = directory
        self._news = news

    def __getattr__(self, name: str) -> Any:
        return getattr(self._directory, name)

    async def change_player(self, name: str, **changes: Any) -> Player | None:
        """Store new values of some fields of a player; see `Directory`."""
        changed = await self._directory.change_player(name, **changes)
        if "suspended" in changes:
            self._news.wrote_notice()
        return changed

    async def revoke_token(self, token_id: str) -> None:
        """Mark a token as revoked; see `Directory`."""
        await self._directory.revoke_token(token_id)
        self._news.wrote_notice()

    async def add_challenge(self, challenge: Challenge, most: int) -> Challenge | None:
        """Store a challenge; see `Directory`."""
        made = await self._directory.add_challenge(challenge, most)
        if made is challenge:
            self._news.wrote_notice()
        return made

    async def change_challenge(self, challenge: Challenge, was: Sequence[str], tell: str = "") -> bool:
        """Store a challenge's new state; see `Directory`."""
        changed = await self._directory.change_challenge(challenge, was, tell)
        if changed and tell:
            self._news.wrote_notice()
        return changed
