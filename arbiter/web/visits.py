"""Requests of browsers are counted before anything else looks at them, and all pages share a part of the event loop.

Players' streams run in the same event loop. So that no visitor can stop play:

- each request counts as one, and as one more for each `WORK_MS` of the event loop that it takes; an address may make
  `limits.page_requests_a_second`, twice that at once. Faster ones wait, and are refused after `LONGEST_WAIT_MS`.
- all requests together get `limits.page_percent` of the event loop's time. Further ones wait in line, and are refused
  likewise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from time import thread_time
from typing import Any, Final

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from arbiter.config import Limits
from arbiter.errors import Refusal, limit_reached
from arbiter.service.gate.addresses import counted_as
from arbiter.service.ports.meter import Meter
from arbiter.service.token_bucket import SECOND_MS, TokenBucket, TokenBuckets, rate_limited
from arbiter.web.callers import HEADERS, status_of

BURST_S: Final = 2
WORK_MS: Final = 10  #: of the event loop that count as one more request
LONGEST_WAIT_MS: Final = 2_000
LEAST_WORK_US: Final = 500  #: what each request counts for at once; the rest is counted as it is used


class Visits:
    """Passes requests on in turn; refuses those beyond the limits with a short text, and closes their connection."""

    def __init__(self, app: ASGIApp, limits: Limits, meter: Meter) -> None:
        self._app = app
        self._meter = meter
        self._rate = limits.page_requests_a_second
        self._requests = TokenBuckets(BURST_S * self._rate, BURST_S * SECOND_MS, "requests from one address")
        self._percent = limits.page_percent
        self._work = TokenBucket(SECOND_MS * 1_000 * self._percent // 100, SECOND_MS)  # a token: 1 µs
        self._line = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on when it is its turn."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        client = scope.get("client")
        address = counted_as(client[0] if client else "")
        try:
            await self._turn_of(address)
        except Refusal as refusal:
            self._meter.refused(refusal)
            headers = {**HEADERS, "connection": "close", "retry-after": str(LONGEST_WAIT_MS // SECOND_MS)}
            refused = PlainTextResponse(refusal.message, status_of(refusal), headers)
            return await refused(scope, receive, send)
        return await _Measured(self._app(scope, receive, send), self._charging(address))

    async def _turn_of(self, address: str) -> None:
        """Wait until a request may be handled. Raises Refusal RATE_LIMITED if that takes too long."""
        if self._requests.owe(address, _now_ms(), 0) > LONGEST_WAIT_MS:
            raise rate_limited(self._rate, "requests a second from one address", LONGEST_WAIT_MS)
        await _sleep_ms(self._requests.owe(address, _now_ms()))
        try:
            async with asyncio.timeout(LONGEST_WAIT_MS / SECOND_MS), self._line:
                await _sleep_ms(self._work.owe(_now_ms(), LEAST_WORK_US))
        except TimeoutError:
            message = f"the pages of this server have used their {self._percent} % of its time: try again soon"
            raise limit_reached(message, self._percent, LONGEST_WAIT_MS) from None

    def _charging(self, address: str) -> Callable[[float], None]:
        """Return what is told the seconds that a request has used of the event loop, bit by bit."""
        used_us, counted = 0, 0

        def charge(seconds: float) -> None:
            nonlocal used_us, counted
            before, used_us = used_us, used_us + round(seconds * 1_000_000)
            now_ms = _now_ms()
            self._work.owe(now_ms, max(0, used_us - max(before, LEAST_WORK_US)))
            more = used_us // (WORK_MS * 1_000) - counted
            if more:
                counted += more
                self._requests.owe(address, now_ms, more)

        return charge


class _Measured:
    """A coroutine that is run as it is, and whose steps are measured: `charge` is told the seconds of each."""

    def __init__(self, work: Awaitable[None], charge: Callable[[float], None]) -> None:
        self._work = work
        self._charge = charge

    def __await__(self) -> Generator[Any, Any, None]:
        steps = self._work.__await__()
        step: Callable[[Any], Any] = steps.send
        argument: Any = None
        while True:
            began = thread_time()  # a busy machine makes no request dearer
            try:
                waits_for = step(argument)
            except StopIteration:
                return
            finally:
                self._charge(thread_time() - began)
            try:
                step, argument = steps.send, (yield waits_for)
            except BaseException as error:  # a cancellation, or the failure of what it waits for
                step, argument = steps.throw, error


async def _sleep_ms(wait_ms: int) -> None:
    if wait_ms:
        await asyncio.sleep(wait_ms / SECOND_MS)


def _now_ms() -> int:
    return int(asyncio.get_running_loop().time() * SECOND_MS)
