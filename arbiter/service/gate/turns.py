"""When an API may go on with a call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from arbiter.service.background import CALL_S, Background, TimeCharge
from arbiter.service.gate.admission import CALL_MS, Admission, Call
from arbiter.service.gate.open_streams import OpenStreams

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
    count requests itself: waits before it refuses a call. in_turn: runs all that is not play. for_all: counts an open
    stream that needs no token, by its kind; raises Refusal RATE_LIMITED if its caller has too many.
    """

    waiting: Waiting
    refusing: Refusing
    in_turn: InTurn
    for_all: Callable[[Call, str], AbstractContextManager[None]]


def turns_of(admission: Admission, streams: OpenStreams, background: Background, waiting: Waiting) -> Turns:
    """Return the turns of calls that are counted by an admission."""

    def in_turn(call: Call, work: Awaitable[Any], /, *, charged: bool = False) -> Awaitable[Any]:
        name = admission.counted_as(call)
        charge = TimeCharge(CALL_MS, partial(admission.charge_calls, name)) if charged else None
        return background.run(work, name, charge, besides_s=CALL_S)

    def for_all(call: Call, kind: str) -> AbstractContextManager[None]:
        return streams.counted(kind, admission.counted_as(call))

    return Turns(waiting, admission.refused, in_turn, for_all)
