"""Requests of browsers are counted before anything else looks at them, and all pages share a part of the event loop.

Players' streams run in the same event loop. So that no visitor can stop play:

- each request counts as one, and as one more for each `WORK_MS` of the event loop that it takes; an address may make
  `limits.page_requests_a_second`, twice that at once. Faster ones wait, and are refused if they would wait longer than
  `LONGEST_WAIT_MS`; the refusal comes as late.
- until their answers begin, `AT_ONCE` requests are handled at once, `OF_ADDRESS` of one address. Others wait, and are
  refused likewise. A request of an agent waits for its turn among them, and is then no longer one of them.
- all requests together get `limits.page_percent` of the event loop's time, all of it where no player is: after a step
  that has taken longer than is left of it, the next step of any request waits.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Generator
from time import thread_time
from typing import Any, Final
from weakref import WeakValueDictionary

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from arbiter.config import Limits
from arbiter.errors import Refusal, limit_reached
from arbiter.service.gate.addresses import counted_as
from arbiter.service.ports.meter import Meter
from arbiter.service.token_bucket import SECOND_MS, TokenBucket, TokenBuckets, rate_limited
from arbiter.web.call_paths import AGENTS
from arbiter.web.callers import HEADERS, status_of

BURST_S: Final = 2
WORK_MS: Final = 10  #: of the event loop that count as one more request
LONGEST_WAIT_MS: Final = 2_000
REFUSAL_US: Final = 500  #: of the event loop, which a refusal counts for
AT_ONCE: Final = 16
OF_ADDRESS: Final = 8


class Visits:
    """Passes requests on in turn; refuses those beyond the limits with a short text, and closes their connection.

    alone: the server has no players.
    """

    def __init__(self, app: ASGIApp, limits: Limits, meter: Meter, alone: bool = False) -> None:
        self._app = app
        self._meter = meter
        self._rate = limits.page_requests_a_second
        self._requests = TokenBuckets(BURST_S * self._rate, BURST_S * SECOND_MS, "requests from one address")
        percent = 100 if alone else limits.page_percent
        self._work = TokenBucket(SECOND_MS * 1_000 * percent // 100, SECOND_MS)  # a token: 1 µs
        self._line = asyncio.Lock()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._slots_of: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()  # those in use

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on when it is its turn."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        client = scope.get("client")
        address = counted_as(client[0] if client else "")
        try:
            slots = await self._slot(address)
        except Refusal as refusal:
            return await self._refused(refusal, scope, receive, send)

        async def answering(message: Message) -> None:
            slots.close()
            await send(message)

        if scope["path"] == AGENTS:
            slots.close()  # the answer may begin minutes later: an agent waits for its turn
        with slots:
            return await _Measured(self._app(scope, receive, answering), self._turn, self._charging(address))

    async def _refused(self, refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
        self._meter.refused(refusal)
        self._work.owe(_now_ms(), REFUSAL_US)
        await _sleep_ms(LONGEST_WAIT_MS)  # a client that asks again at once has no more of the server
        headers = {**HEADERS, "connection": "close", "retry-after": str(LONGEST_WAIT_MS // SECOND_MS)}
        await PlainTextResponse(refusal.message, status_of(refusal), headers)(scope, receive, send)

    async def _slot(self, address: str) -> contextlib.ExitStack:
        """Take a slot of all and one of an address; return what gives them back.

        Raises Refusal RATE_LIMITED if that takes too long.
        """
        if self._requests.owe(address, _now_ms(), 0) > LONGEST_WAIT_MS:
            raise rate_limited(self._rate, "requests a second from one address", LONGEST_WAIT_MS)
        await _sleep_ms(self._requests.owe(address, _now_ms()))
        own = self._slots_of.setdefault(address, asyncio.Semaphore(OF_ADDRESS))
        with contextlib.ExitStack() as taken:
            try:
                async with asyncio.timeout(LONGEST_WAIT_MS / SECOND_MS):
                    for slots in (own, self._slots):
                        await slots.acquire()
                        taken.callback(slots.release)
            except TimeoutError:
                message = f"the page handles {AT_ONCE} requests at once, {OF_ADDRESS} from one address: try again soon"
                raise limit_reached(message, OF_ADDRESS, LONGEST_WAIT_MS) from None
            return taken.pop_all()

    async def _turn(self) -> None:
        """Wait until requests have used no more of the event loop than their part."""
        async with self._line:
            await _sleep_ms(self._work.owe(_now_ms(), 0))

    def _charging(self, address: str) -> Callable[[float], None]:
        """Return what is told the seconds that a request has used of the event loop, bit by bit."""
        used_us, counted = 0, 0

        def charge(seconds: float) -> None:
            nonlocal used_us, counted
            step_us, now_ms = round(seconds * 1_000_000), _now_ms()
            used_us += step_us
            self._work.owe(now_ms, step_us)
            more = used_us // (WORK_MS * 1_000) - counted
            if more:
                counted += more
                self._requests.owe(address, now_ms, more)

        return charge


class _Measured:
    """A coroutine that is run as it is: `turn` is awaited before each of its steps, `charge` is told its seconds."""

    def __init__(
        self, work: Awaitable[None], turn: Callable[[], Awaitable[None]], charge: Callable[[float], None]
    ) -> None:
        self._work = work
        self._turn = turn
        self._charge = charge

    def __await__(self) -> Generator[Any, Any, None]:
        steps = self._work.__await__()
        step: Callable[[Any], Any] = steps.send
        argument: Any = None
        while True:
            try:
                yield from self._turn().__await__()
            except BaseException as error:  # a cancellation
                step, argument = steps.throw, error
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
