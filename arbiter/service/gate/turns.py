"""When an API may go on with a call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from arbiter.service.background import Background, TimeCharge
from arbiter.service.gate.admission import CALL_MS, Admission, Call

T = TypeVar("T")

Refusing: TypeAlias = Callable[[Call], Awaitable[None]]
"""Waits until the caller of a call may hear that it is refused."""

Waiting: TypeAlias = Callable[[], AbstractAsyncContextManager[None]]
"""Returns the context in which an API waits for the answer of a call that is no stream."""


class InTurn(Protocol):
    """Runs the work of a call in the background; see `arbiter.service.background`."""

    def __call__(self, call: Call, work: Awaitable[T], /, *, charged: bool = False) -> Awaitable[T]:
        """Return what runs the work of a call in turn. charged: its time counts as calls of its caller."""


class Turns(NamedTuple):
    """When an API may go on with a call.

    waiting: refuses a call that waits while this server is cut off from its store. refusing: for an API that does not
    count requests itself: waits before it refuses a call. in_turn: runs all that is not play.
    """

    waiting: Waiting
    refusing: Refusing
    in_turn: InTurn


def turns_of(admission: Admission, background: Background, waiting: Waiting) -> Turns:
    """Return the turns of calls that are counted by an admission."""

    def in_turn(call: Call, work: Awaitable[Any], /, *, charged: bool = False) -> Awaitable[Any]:
        name = admission.counted_as(call)
        charge = TimeCharge(CALL_MS, partial(admission.charge_calls, name)) if charged else None
        return background.run(work, name, charge)

    return Turns(waiting, admission.refused, in_turn)
