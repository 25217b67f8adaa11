"""Requests of browsers are counted before anything else looks at them, and all pages share a part of the event loop.

Players' streams run in the same event loop. So that no visitor can stop play:

- each request counts as one, and as one more for each `WORK_MS` of the event loop that it takes; an address may make
  `limits.page_requests_a_second`, twice that at once. Faster ones wait, and are refused if they would wait longer than
  `LONGEST_WAIT_MS`; the refusal comes as late.
- until their answers begin, `AT_ONCE` requests are handled at once, `OF_ADDRESS` of one address. Others wait, and are
  refused likewise. A request of an agent waits for its turn among them, and is then no longer one of them.
- what takes long runs in threads (`beside`), `THREADS` at once, one of them for one address: threads take the
  interpreter from the event loop. Their time counts as requests too.
- all requests together get `limits.page_percent` of the event loop's time, all of it where no player is: after a step
  that has taken longer than is left of it, the next step of any request waits.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from contextvars import ContextVar
from time import thread_time
from typing import Any, Final, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from arbiter.config import Limits
from arbiter.errors import Refusal, limit_reached
from arbiter.service.background import CALL_S, Background, Charge, TimeCharge
from arbiter.service.gate.addresses import counted_as
from arbiter.service.ports.meter import Meter
from arbiter.service.token_bucket import SECOND_MS, TokenBucket, TokenBuckets, rate_limited
from arbiter.web.call_paths import AGENTS
from arbiter.web.callers import HEADERS, status_of

BURST_S: Final = 2
WORK_MS: Final = 10  #: of the event loop that count as one more request
LONGEST_WAIT_MS: Final = 2_000
REFUSAL_S: Final = 0.000_5  #: of the event loop, which a refusal counts for
AT_ONCE: Final = 16
OF_ADDRESS: Final = 8
THREADS: Final = 2

T = TypeVar("T")


class _Threads(NamedTuple):
    """The threads of a request: places of its address and of all, and what is told the seconds that one has taken."""

    own: asyncio.Semaphore
    all: asyncio.Semaphore
    charge: Charge


_threads: ContextVar[_Threads | None] = ContextVar("threads", default=None)


async def beside(work: Callable[..., T], *given: Any) -> T:
    """Return what a function that takes long returns: it runs in a thread, when it is the turn of this request."""
    threads = _threads.get()
    if threads is None:
        return await asyncio.to_thread(work, *given)
    used_s = 0.0

    def timed() -> T:
        nonlocal used_s
        began = thread_time()
        try:
            return work(*given)
        finally:
            used_s = thread_time() - began

    async with threads.own, threads.all:
        try:
            return await asyncio.to_thread(timed)
        finally:
            threads.charge(used_s)


class PageTime:
    """The part of the event loop's time that all requests and connections of browsers together may take.

    alone: the server has no players.
    """

    def __init__(self, limits: Limits, alone: bool = False) -> None:
        percent = 100 if alone else limits.page_percent
        self._work = TokenBucket(SECOND_MS * 1_000 * percent // 100, SECOND_MS)  # a token: 1 µs
        self._line = asyncio.Lock()

    async def turn(self) -> None:
        """Wait until they have used no more than their part."""
        async with self._line:
            await _sleep_ms(self._work.owe(_now_ms(), 0))

    def charge(self, seconds: float) -> None:
        """Note the seconds that a step has taken."""
        self._work.owe(_now_ms(), round(seconds * 1_000_000))


class Visits:
    """Passes requests on in turn; refuses those beyond the limits with a short text, and closes their connection."""

    def __init__(self, app: ASGIApp, background: Background, time: PageTime, limits: Limits, meter: Meter) -> None:
        self._app = app
        self._background = background
        self._time = time
        self._meter = meter
        self._rate = limits.page_requests_a_second
        self._requests = TokenBuckets(BURST_S * self._rate, BURST_S * SECOND_MS, "requests from one address")
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._slots_of: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()  # those in use
        self._threads = asyncio.Semaphore(THREADS)
        self._threads_of: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()  # those in use

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on when it is its turn."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        client = scope.get("client")
        address = counted_as(client[0] if client else "")
        try:
            slots = await self._slot(address)
        except Refusal as refusal:
            await self._refused(refusal, scope, receive, send)
            return

        async def answering(message: Message) -> None:
            slots.close()
            await send(message)

        if scope["path"] == AGENTS:
            slots.close()  # the answer may begin minutes later: an agent waits for its turn
        of_address = TimeCharge(WORK_MS, lambda requests: self._requests.owe(address, _now_ms(), requests))

        def charge(seconds: float) -> None:
            self._time.charge(seconds)
            of_address(seconds)

        own = self._threads_of.setdefault(address, asyncio.Semaphore(1))
        threads = _threads.set(_Threads(own, self._threads, of_address))
        with slots:
            try:
                work = self._app(scope, receive, answering)
                await self._background.run(work, f"page {address}", charge, self._time.turn, CALL_S)
            finally:
                _threads.reset(threads)

    async def _refused(self, refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
        self._meter.refused(refusal)
        self._time.charge(REFUSAL_S)
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


async def _sleep_ms(wait_ms: int) -> None:
    if wait_ms:
        await asyncio.sleep(wait_ms / SECOND_MS)


def _now_ms() -> int:
    return int(asyncio.get_running_loop().time() * SECOND_MS)
