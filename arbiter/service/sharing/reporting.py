"""The appends and the directory of a server that shares its store: what they have stored is reported.

The follower of the log gets the records, and does not have to read them; with a bus, the other servers get them too.
The follower also gets the records of other servers that an append has brought.

Each class names every method of its port; `arbiter.service.ports` says why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from arbiter.service.ports.directory import SHOWING, Challenge, Directory, Player
from arbiter.service.ports.journal import Append, Appends, Record, Stored
from arbiter.service.sharing.following import Follower
from arbiter.service.sharing.news import News

Report = Callable[[Sequence[Record], int], None]
"""Called with the records of an append that is durable, and with the sequence number of the last one."""


class ReportingAppends:
    """Appends that are reported once they are durable. Their caller is told first."""

    def __init__(self, appends: Appends, follower: Follower, report: Report) -> None:
        self._appends = appends
        self._follower = follower
        self._report = report

    def append(self, append: Append) -> asyncio.Future[int]:
        stored = self._appends.append(append)
        self._follower.began()
        stored.add_done_callback(partial(self._done, append))
        return stored

    def append_then(self, append: Append, then: Stored) -> None:
        self._appends.append_then(append, partial(self._stored, append, then))
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


class ReportingDirectory:
    """A directory whose notices are reported once they are durable."""

    def __init__(self, directory: Directory, news: News) -> None:
        self._directory = directory
        self._news = news
        self.web_hooks: Final = directory.web_hooks
        self.add_player: Final = directory.add_player
        self.player: Final = directory.player
        self.players: Final = directory.players
        self.profiles: Final = directory.profiles
        self.acknowledge: Final = directory.acknowledge
        self.add_token: Final = directory.add_token
        self.token: Final = directory.token
        self.token_of_digest: Final = directory.token_of_digest
        self.tokens: Final = directory.tokens
        self.sessions: Final = directory.sessions
        self.use_session: Final = directory.use_session
        self.add_invitation: Final = directory.add_invitation
        self.challenge: Final = directory.challenge
        self.challenges: Final = directory.challenges
        self.challenges_being_accepted: Final = directory.challenges_being_accepted
        self.forget: Final = directory.forget
        self.notices: Final = directory.notices
        self.last_notice: Final = directory.last_notice

    async def change_player(self, name: str, **changes: Any) -> Player | None:
        changed = await self._directory.change_player(name, **changes)
        if SHOWING.intersection(changes):
            self._news.wrote_notice()
        return changed

    async def rename_player(self, name: str, new: str, most: int) -> Player | None:
        renamed = await self._directory.rename_player(name, new, most)
        self._news.wrote_notice()
        return renamed

    async def delete_player(self, name: str, neutral: str) -> Player | None:
        deleted = await self._directory.delete_player(name, neutral)
        self._news.wrote_notice()
        return deleted

    async def revoke_token(self, token_id: str) -> None:
        await self._directory.revoke_token(token_id)
        self._news.wrote_notice()

    async def add_challenge(self, challenge: Challenge, most: int) -> Challenge | None:
        made = await self._directory.add_challenge(challenge, most)
        if made is challenge:
            self._news.wrote_notice()
        return made

    async def change_challenge(self, challenge: Challenge, was: Sequence[str], tell: str = "") -> bool:
        changed = await self._directory.change_challenge(challenge, was, tell)
        if changed and tell:
            self._news.wrote_notice()
        return changed
