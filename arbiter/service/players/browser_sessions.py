"""Sessions of people who have signed in with a browser: tokens of a kind of their own, which end by themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from typing import Final

from arbiter.config import Limits
from arbiter.errors import Reason, Refusal
from arbiter.service.lookup import findable
from arbiter.service.ports.directory import Directory, Token
from arbiter.service.ports.environment import Clock
from arbiter.service.ports.journal import StoreFailed

HAS_ENDED: Final = Refusal(Reason.TOKEN_INVALID, "this session has ended: sign in again")
AGAIN_S: Final = 5.0  #: before a store that gave no answer is asked again
USES_NOTED: Final = 100  #: a session's use is stored once in this part of the time after which it ends unused


class Browsers:
    """The sessions of all players.

    make: returns a new token of a player, with these scopes and this note, and its secret. end: revokes one, at once
    and on all servers.
    """

    def __init__(
        self,
        directory: Directory,
        clock: Clock,
        limits: Limits,
        make: Callable[[str, Sequence[str], str], tuple[Token, str]],
        end: Callable[[Token], Awaitable[None]],
    ) -> None:
        self._directory = directory
        self._clock = clock
        self._limits = limits
        self._make = make
        self._end = end
        self._known: dict[str, Token] = {}  # those of callers that the server knows, by id

    async def open(self, player: str, scopes: Sequence[str], note: str) -> str:
        """Open a session of a player; return its secret.

        Sessions that have ended are revoked, and of more than `limits.sessions_of_player` the longest unused ones.
        """
        token, secret = self._make(player, scopes, note)
        session = replace(token, session=True, used_ms=token.created_ms)
        most = self._limits.sessions_of_player
        while True:
            for unused in (await self.of(player))[most - 1 :]:
                await self._end(unused)
            if await self._directory.add_token(session, most):  # if not, another browser has signed in meanwhile
                return secret

    async def of(self, player: str) -> list[Token]:
        """Return a player's sessions, the last used first. Those that have ended are revoked."""
        found, now = await self._directory.sessions(player) if findable(player) else [], self._clock.now_ms()
        for each in found:
            if self._is_over(each, now):
                await self._end(each)
        return [each for each in reversed(found) if not self._is_over(each, now)]

    async def end_all(self, player: str) -> None:
        """End all sessions of a player: it is signed out everywhere."""
        for each in await self.of(player):
            await self._end(each)

    async def use(self, token_id: str) -> None:
        """Note that a known session is in use. Raises Refusal TOKEN_INVALID if it has ended."""
        await self.found(self._known[token_id])

    async def found(self, session: Token) -> None:
        """Note, now and then durably, that a session is in use. Raises Refusal TOKEN_INVALID if it has ended."""
        now = self._clock.now_ms()
        if self._is_over(session, now):  # perhaps it is in use at another server
            session = await self._directory.token(session.token_id) or session
            if session.revoked or self._is_over(session, now):
                raise HAS_ENDED
        if now - session.used_ms >= self._limits.session_idle_ms // USES_NOTED:
            session = replace(session, used_ms=now)
            await self._directory.use_session(session.token_id, now)
        self._known[session.token_id] = session

    async def ended(self, token_id: str) -> Refusal:
        """Wait until a session has ended because of its age, or because nobody used it; return the refusal for it."""
        while True:
            session, now = self._known.get(token_id), self._clock.now_ms()
            if session is None or self._is_over(session, now):  # perhaps it is in use at another server
                try:
                    session = await self._directory.token(token_id)
                except StoreFailed:
                    await asyncio.sleep(AGAIN_S)
                    continue
            if session is None or self._is_over(session, now):
                return HAS_ENDED
            limits = self._limits
            ends = min(session.used_ms + limits.session_idle_ms, session.created_ms + limits.session_ms)
            await asyncio.sleep((ends - now) / 1_000)

    def forget(self, token_id: str) -> None:
        """Forget a session, if this is one."""
        self._known.pop(token_id, None)

    def forget_others(self, kept: Collection[str]) -> None:
        """Forget all sessions except those with these ids."""
        self._known = {held: session for held, session in self._known.items() if held in kept}

    def _is_over(self, session: Token, now: int) -> bool:
        return (
            now - session.used_ms >= self._limits.session_idle_ms or now - session.created_ms >= self._limits.session_ms
        )
