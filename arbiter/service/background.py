"""Work that is not play, in turn: one step of the event loop at a time.

All calls but those of players' moves, all pages, all reads of past events and all messages with new events to observers
take their steps here. A step is whatever a coroutine does until it waits again, or a function. After a step, the next
one begins as soon as the event loop has nothing else to do. If there is always something else, it begins when all steps
together have had no more than their part of the time. A move takes several turns of the event loop, and each may wait
for one step, however many players and addresses ask for something else. While a move is being stored, or has just been,
the event loop has something else to do, even if it waits for the disk.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from time import thread_time
from typing import Any, Final, Generic, TypeAlias, TypeVar
from weakref import WeakSet

from arbiter.service.ports.journal import Append, AppendThen, Stored

T = TypeVar("T")

Charge: TypeAlias = Callable[[float], object]
"""Is told the seconds of processor time that a step has taken."""

Before: TypeAlias = Callable[[], Awaitable[None]]
"""Is awaited before a step asks for its turn."""

Grant: TypeAlias = Callable[[], bool]
"""Gives a turn to what waits for it; returns False if that has left."""

SLACK_S: Final = 0.002  #: short steps may come at once, if they are ahead of their part of the time by no more
CALL_S: Final = 0.000_35  #: of the event loop, for what gRPC or the page's server does before a call and after it
IDLE_S: Final = 0.000_2  #: a turn of the event loop that takes no longer had nothing to do
SENDING_S: Final = 0.002  #: after a move is stored, its answer and the next turn are sent in this time
IDLE_TURNS: Final = 2  #: this many of them in succession, since a move takes several turns


class Background:
    """Grants steps: to one caller after the other, in turn by name, to the steps of one name in their order.

    percent: the part of the event loop's time that is left to the steps if play needs the rest; 100: no step waits.
    """

    def __init__(self, percent: int) -> None:
        self._each = 100 / percent  # of the time that a step has taken, until the next one
        self._waits = percent < 100
        self._waiting: OrderedDict[str, deque[Grant]] = OrderedDict()  # the last served at the end
        self._under_way = False
        self._free_at = 0.0
        self._alarm: asyncio.TimerHandle | None = None
        self._probing = False
        self._idle = 0  # turns of the event loop in succession that had nothing to do
        self._inside: WeakSet[asyncio.Task[Any]] = WeakSet()
        self._storing = 0  # appends of live matches that are under way
        self._sent_at = 0.0  # when the answers to the last of them have been sent

    def run(
        self,
        work: Awaitable[T],
        name: str,
        charge: Charge | None = None,
        before: Before | None = None,
        besides_s: float = 0.0,
    ) -> Run[T]:
        """Return what runs a coroutine as it is, each of its steps in its turn; await it.

        name: of the caller whose turn it is. charge: is told what each step has taken. before: is awaited before each
        step asks for its turn. besides_s: what else the event loop does for it, outside of its steps. Work within such
        work is a part of it.
        """
        return Run(self, work, name, charge, before, besides_s)

    async def spend(self, name: str, seconds: float) -> None:
        """Wait for a turn, for a step that has been made already and has taken this many seconds.

        Work that takes turns for its steps has one now, and pays for them as it is.
        """
        if self._waits and asyncio.current_task() not in self._inside:
            await self.turn(name)
            self.done(seconds)

    async def turn(self, name: str) -> None:
        """Wait for a turn; `done` is to be called after the step."""
        loop = asyncio.get_running_loop()
        if not self._waits:
            return
        if not self._under_way and not self._waiting and self._free_at <= loop.time() + SLACK_S:
            self._under_way = True
            return
        turn = loop.create_future()
        self._wait(name, partial(self._begin, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.done(0.0)
            raise

    def call(self, name: str, step: Callable[[], object]) -> None:
        """Have a function called in its turn, as a step, in a later turn of the event loop."""
        if self._waits:
            self._wait(name, partial(self._make, step))
        else:
            asyncio.get_running_loop().call_soon(step)

    def done(self, seconds: float) -> None:
        """Note that a step is over, and the seconds of the event loop that it has taken."""
        if not self._waits:
            return
        self._under_way = False
        began = asyncio.get_running_loop().time() - seconds
        self._free_at = max(self._free_at, began) + self._each * seconds
        self._idle = 0
        self._look_ahead()

    def after_play(self, append_then: AppendThen) -> AppendThen:
        """Return the function that stores events of live matches, as one to which all steps give way.

        Until the events are stored and sent, the next step does not begin because the event loop looks idle.
        """

        def append(appended: Append, then: Stored) -> None:
            append_then(appended, partial(self._stored, then))
            self._storing += 1

        return append if self._waits else append_then

    def _stored(self, then: Stored, last: int, error: BaseException | None) -> None:
        self._storing -= 1
        self._sent_at = asyncio.get_running_loop().time() + SENDING_S
        then(last, error)

    def enter(self, task: asyncio.Task[Any] | None) -> bool:
        """Note that a task takes turns for all that it does; return False if it does so already."""
        if task is None or task in self._inside:
            return False
        self._inside.add(task)
        return True

    def leave(self, task: asyncio.Task[Any] | None) -> None:
        """Undo `enter`."""
        if task is not None:
            self._inside.discard(task)

    def _wait(self, name: str, grant: Grant) -> None:
        self._waiting.setdefault(name, deque()).append(grant)
        self._look_ahead()

    def _begin(self, turn: asyncio.Future[None]) -> bool:
        if turn.done():
            return False
        self._under_way = True
        turn.set_result(None)
        return True

    def _make(self, step: Callable[[], object]) -> bool:
        now = asyncio.get_running_loop().time
        began = now()
        try:
            step()
        finally:
            self.done(now() - began)
        return True

    def _look_ahead(self) -> None:
        """Grant the next turn as soon as that is possible."""
        if self._under_way or not self._waiting:
            return
        loop = asyncio.get_running_loop()
        if self._alarm is None:
            self._alarm = loop.call_at(self._free_at - SLACK_S, self._ring)
        now = loop.time()
        if not self._probing and self._free_at - SLACK_S > now:
            self._probing = True
            loop.call_soon(self._probe, now)

    def _ring(self) -> None:
        self._alarm = None
        if self._free_at - SLACK_S > asyncio.get_running_loop().time():
            self._look_ahead()  # a step has come in between
        else:
            self._grant()

    def _probe(self, before: float) -> None:
        """Grant a turn if the event loop has had nothing else to do for some turns of its own."""
        self._probing = False
        if self._under_way or not self._waiting:
            return
        loop = asyncio.get_running_loop()
        now = loop.time()
        if now - before > IDLE_S or self._storing or now < self._sent_at:
            self._idle = 0
            return
        self._idle += 1
        if self._idle >= IDLE_TURNS:
            self._free_at = min(self._free_at, loop.time())  # nobody needs what is left of the pause
            self._grant()
        else:
            self._probing = True
            loop.call_soon(self._probe, loop.time())

    def _grant(self) -> None:
        granted = self._under_way
        while self._waiting and not granted:
            name, turns = next(iter(self._waiting.items()))
            grant = turns.popleft()
            if turns:
                self._waiting.move_to_end(name)
            else:
                del self._waiting[name]
            granted = grant()


class Run(Generic[T]):
    """Work that takes its steps in turn; see `Background.run`."""

    def __init__(
        self,
        background: Background,
        work: Awaitable[T],
        name: str,
        charge: Charge | None,
        before: Before | None,
        besides_s: float,
    ) -> None:
        self._background = background
        self._work = work
        self._name = name
        self._charge = charge
        self._before = before
        self._besides_s = besides_s

    def __await__(self) -> Generator[Any, Any, T]:
        task = asyncio.current_task()
        if not self._background.enter(task):
            return (yield from self._work.__await__())
        try:
            return (yield from self._steps())
        finally:
            self._background.leave(task)

    def _steps(self) -> Generator[Any, Any, T]:
        steps = self._work.__await__()
        step: Callable[[Any], Any] = steps.send
        argument: Any = None
        now, besides_s = asyncio.get_running_loop().time, self._besides_s
        while True:
            try:
                yield from self._turn().__await__()
            except BaseException as error:  # a cancellation; the work has to clean up, in or out of turn
                step, argument = steps.throw, error
            began, used = now(), thread_time()
            try:
                waits_for = step(argument)
            except StopIteration as stopped:
                result: T = stopped.value
                return result
            finally:
                step, argument = steps.send, None  # an error would hold this frame, and this the error
                self._background.done(now() - began + besides_s)
                besides_s = 0.0
                if self._charge is not None:
                    self._charge(thread_time() - used)  # a busy machine makes no step dearer
            try:
                argument = yield waits_for
            except BaseException as error:  # a cancellation, or the failure of what it waits for
                step, argument = steps.throw, error

    async def _turn(self) -> None:
        if self._before is not None:
            await self._before()
        await self._background.turn(self._name)


class TimeCharge:
    """Charges one more use for each `each_ms` of processor time. charge: takes the number of these uses."""

    def __init__(self, each_ms: int, charge: Callable[[int], object]) -> None:
        self._each_us = each_ms * 1_000
        self._charge = charge
        self._used_us = 0

    def __call__(self, seconds: float) -> None:
        """Add the time of a step."""
        self._used_us += round(seconds * 1_000_000)
        uses, self._used_us = divmod(self._used_us, self._each_us)
        if uses:
            self._charge(uses)
