"""What a fault can change: messages that its bot sends or receives, and functions of the client."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from arbiter_client.runner import BotRunner
from arbiter_client.values.play import Turn
from arbiter_protos.v1.play_pb2 import PlayAct, PlayItem, PlayRequest, PlayResponse
from arbiter_protos.v1.refusal_pb2 import RefusalReason
from google.protobuf.unknown_fields import UnknownFieldSet

FAULTS: dict[str, type[Fault]] = {}
"""The faults by name."""


class Fault:
    """A fault of a bot.

    fails: the clauses that it has to fail; it may fail no others.
    """

    fails: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        FAULTS[cls.__name__] = cls

    def __init__(self) -> None:
        self.call: Any = None  # the stream
        self.player = ""
        self.turns: dict[tuple[str, int], tuple[int, float]] = {}  # last ply and its arrival, by match and seat
        self.moved: set[tuple[str, int]] = set()  # match and ply
        self.matches: dict[str, Any] = {}  # the last state received, by id
        self.ended: set[str] = set()

    def patch(self) -> None:
        """Change the client before it runs."""

    def opened(self) -> None:
        """Handle a new stream."""

    def up(self, act: PlayAct) -> Iterable[PlayAct]:
        """Return what is sent in place of an act."""
        return [act]

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        """Return what is received in place of an item."""
        return [item]

    def heard(self, items: list[PlayItem]) -> list[PlayItem]:
        """Return what is received in place of a message."""
        return [out for item in items for out in self.down(item)]

    def say(self, act: PlayAct, after_s: float = 0.0) -> None:
        """Send another act, now or after a delay."""

        async def write() -> None:
            await asyncio.sleep(after_s)
            await self.call.write(PlayRequest(acts=[act]))

        self.task = asyncio.get_running_loop().create_task(write())

    def thinking(self, match_id: str = "") -> bool:
        """Return whether there is an unanswered turn, in a match or at all."""
        return any(
            match_id in ("", match) and (match, ply) not in self.moved and match not in self.ended
            for (match, _), (ply, _) in self.turns.items()
        )

    def remember(self, item: PlayItem) -> None:
        """Keep what a fault may need of a received item."""
        if item.HasField("hello"):
            self.player = item.hello.player
        elif item.HasField("match"):
            self.matches[item.match.match_id] = item.match
        elif item.HasField("turn"):
            self.turns[item.turn.match_id, item.turn.seat] = (item.turn.ply, time.monotonic())
        elif item.HasField("ended"):
            self.ended.add(item.ended.match_id)


class Call:
    """A Play stream with a fault."""

    def __init__(self, call: Any, fault: Fault) -> None:
        self._call = call
        self._fault = fault
        self._writing = asyncio.Lock()
        fault.call = self
        fault.opened()

    async def read(self) -> Any:
        """Return the next message."""
        message = await self._call.read()
        if not isinstance(message, PlayResponse):
            return message
        items = self._fault.heard(list(message.items))
        for item in message.items:
            self._fault.remember(item)
        return PlayResponse(items=items)

    async def write(self, request: PlayRequest) -> None:
        """Send an act."""
        acts = [out for act in request.acts for out in self._fault.up(act)]
        self._fault.moved |= {(act.match_id, act.move.ply) for act in request.acts if act.HasField("move")}
        async with self._writing:
            await self._call.write(PlayRequest(acts=acts))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._call, name)


def leave() -> None:
    """End the process as a bot does that received something unknown to it."""
    os._exit(3)


def unknown(item: Any, number: int) -> bool:
    """Return whether a message has a field with an unknown number."""
    fields: Any = UnknownFieldSet(item)  # its stub leaves out that it is a sequence
    return any(field.field_number == number for field in fields)


def reason(item: PlayItem) -> str:
    """Return why an answer is a refusal, or ''."""
    number: Any = item.answer.refusal.reason if item.answer.HasField("refusal") else 0
    known = number in RefusalReason.values()
    return RefusalReason.Name(number).removeprefix("REFUSAL_REASON_") if known and number else str(number or "")


def replace(owner: object, name: str, by: Any) -> None:
    """Replace a part of the client, which has to exist."""
    getattr(owner, name)
    setattr(owner, name, by)


async def asked_once(one: BotRunner, method: Callable[..., Any], turn: Turn, *more: Any) -> Any:
    """Have the bot choose only once, whatever happens."""
    return await one._caller.call(method, turn, *more)
