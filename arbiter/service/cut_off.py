"""Whether this server is cut off from a store that it shares, and the calls that wait for the store meanwhile.

It may take half a minute until a connection that was cut reports an error. Another server could answer such a call at
once. So calls that wait are refused as soon as the server counts as cut off, and streams end: their clients go on at
another server. What a refused call has asked for may still happen, as after any error of the store.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final

from arbiter.service.ports.journal import StoreFailed

NO_ANSWER: Final = "it does not answer"

CutOffListener = Callable[[StoreFailed], None]


class CutOff:
    """Whether this server is cut off.

    begun: called in order as soon as it is, with the refusal for streams. ended: called once it is no longer.
    """

    def __init__(self, begun: Sequence[CutOffListener] = (), ended: Sequence[Callable[[], None]] = ()) -> None:
        self._begun = begun
        self._ended = ended
        self._is_on = False
        self._waiting: set[asyncio.Timeout] = set()

    def __bool__(self) -> bool:
        return self._is_on

    def begin(self, refusal: StoreFailed) -> None:
        """Note that the server is cut off: refuse what waits."""
        self._is_on = True
        now = asyncio.get_running_loop().time()
        while self._waiting:
            self._waiting.pop().reschedule(now)
        for callback in self._begun:
            callback(refusal)

    def end(self) -> None:
        """Note that the store has answered."""
        if self._is_on:
            self._is_on = False
            for callback in self._ended:
                callback()

    def check(self) -> None:
        """Raise StoreFailed if the server is cut off."""
        if self._is_on:
            raise StoreFailed(NO_ANSWER)

    @asynccontextmanager
    async def waiting(self) -> AsyncIterator[None]:
        """Refuse the work of the context if it waits for anything while the server is cut off. Raises StoreFailed.

        What is known without the store is still answered then.
        """
        scope = asyncio.timeout_at(asyncio.get_running_loop().time() if self._is_on else None)
        try:
            async with scope:
                self._waiting.add(scope)
                yield
        except TimeoutError:
            if not scope.expired():
                raise
            raise StoreFailed(NO_ANSWER) from None
        finally:
            self._waiting.discard(scope)
