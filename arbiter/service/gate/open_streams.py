"""The open streams of callers: their number, and how the server ends them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager

from arbiter.config import Limits
from arbiter.errors import Refusal, limit_reached
from arbiter.service.cut_off import CutOff
from arbiter.service.players.accounts import Accounts, Caller, shut_out


class OpenStreams:
    """The streams of all callers, counted by kind and by caller."""

    def __init__(self, accounts: Accounts, limits: Limits, cut_off: CutOff) -> None:
        self._accounts = accounts
        self._cut_off = cut_off
        self._limits = limits
        self._held: dict[Callable[[Refusal], None], Caller] = {}
        self._counts: Counter[tuple[str, str]] = Counter()

    def held_by(self, name: str) -> int:
        """Return how many streams of all kinds a caller has open."""
        return sum(count for (_, holder), count in self._counts.items() if holder == name)

    def counts(self) -> Mapping[str, int]:
        """Return how many streams of each kind are open. Safe to call from any thread."""
        kinds: Counter[str] = Counter()
        for (kind, _), count in list(self._counts.items()):
            kinds[kind] += count
        return kinds

    @contextmanager
    def counted(self, kind: str, name: str, most: int = 0) -> Iterator[None]:
        """Count an open stream of a caller.

        most: the limit of its streams of this kind, 0 for the limit in the settings. Raises Refusal RATE_LIMITED above
        the limit. Each kind has its own count, so observing never keeps a caller from playing.
        """
        most, key = most or self._limits.streams_of_player, (kind, name)
        if self._counts[key] >= most:
            raise limit_reached(
                f"{most} streams of {kind} are open for {name}, the maximum: end some first",
                most,
                self._limits.bookmark_ms,
            )
        self._counts[key] += 1
        try:
            yield
        finally:
            self._counts[key] -= 1
            if not self._counts[key]:
                del self._counts[key]

    @asynccontextmanager
    async def held(self, caller: Caller, kind: str) -> AsyncIterator[None]:
        """Hold a stream open.

        The stream ends with a refusal if its caller is suspended, its token revoked, its browser's session over, or the
        server drains or is cut off from its store. Raises Refusal TOKEN_INVALID, RATE_LIMITED, STORE_UNAVAILABLE.
        """
        self._cut_off.check()
        if caller.token_id:  # a caller without a token cannot lose it
            self._accounts.check(caller)
        scope = asyncio.timeout(None)
        ended: list[Refusal] = []

        def end(refusal: Refusal) -> None:
            if not ended:
                ended.append(refusal)
                scope.reschedule(asyncio.get_running_loop().time())

        self._held[end] = caller
        ending = asyncio.create_task(self._end_with_session(caller, end)) if caller.session else None
        try:
            with self.counted(kind, caller.player):
                async with scope:
                    yield
        except TimeoutError:
            if not scope.expired():
                raise
            raise ended[0] from None
        finally:
            del self._held[end]
            if ending is not None:
                ending.cancel()

    async def _end_with_session(self, caller: Caller, end: Callable[[Refusal], None]) -> None:
        end(await self._accounts.browsers.ended(caller.token_id))

    def shut_out(self, player: str, token_id: str) -> None:
        """End the streams of a player who is suspended (`token_id` is ''), or those of a token that was revoked."""
        for end, caller in list(self._held.items()):
            if player == caller.player and token_id in ("", caller.token_id):
                end(shut_out(player, token_id))

    def end_all(self, refusal: Refusal) -> None:
        """End every open stream with a refusal, which says why."""
        for end in list(self._held):
            end(refusal)
