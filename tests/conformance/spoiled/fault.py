"""What a fault can change: what its bot says, what it hears, and functions of the client."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable
from typing import Any, ClassVar

from arbiter_protos.v1.play_pb2 import PlayAct, PlayItem, PlayRequest, PlayResponse
from arbiter_protos.v1.refusal_pb2 import RefusalReason
from google.protobuf.unknown_fields import UnknownFieldSet

FAULTS: dict[str, type[Fault]] = {}
"""The faults by name."""


class Fault:
    """A fault of a bot. fails: the clauses that it fails, each of them and no others."""

    fails: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        FAULTS[cls.__name__] = cls

    def __init__(self) -> None:
        self.call: Any = None  # the stream
        self.player = ""
        self.turns: dict[tuple[str, int], tuple[int, float]] = {}  # ply told last and when, by match and seat
        self.moved: set[tuple[str, int]] = set()  # match and ply
        self.matches: dict[str, Any] = {}  # as told last, by id
        self.ended: set[str] = set()

    def patch(self) -> None:
        """Change the client before it runs."""

    def opened(self) -> None:
        """Be told of a new stream."""

    def up(self, act: PlayAct) -> Iterable[PlayAct]:
        """Return what is said in the place of an act."""
        return [act]

    def down(self, item: PlayItem) -> Iterable[PlayItem]:
        """Return what is heard in the place of an item."""
        return [item]

    def heard(self, items: list[PlayItem]) -> list[PlayItem]:
        """Return what is heard in the place of a message."""
        return [out for item in items for out in self.down(item)]

    def say(self, act: PlayAct, after_s: float = 0.0) -> None:
        """Say something more, now or in a while."""

        async def write() -> None:
            await asyncio.sleep(after_s)
            await self.call.write(PlayRequest(acts=[act]))

        self.task = asyncio.get_running_loop().create_task(write())

    def thinking(self, match_id: str = "") -> bool:
        """Say whether there is a turn, of a match or at all, that has not been answered."""
        return any(
            match_id in ("", match) and (match, ply) not in self.moved and match not in self.ended
            for (match, _), (ply, _) in self.turns.items()
        )

    def remember_told(self, item: PlayItem) -> None:
        """Keep what a fault may want to know of an item, once it has been heard."""
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
            self._fault.remember_told(item)
        return PlayResponse(items=items)

    async def write(self, request: PlayRequest) -> None:
        """Say something."""
        acts = [out for act in request.acts for out in self._fault.up(act)]
        self._fault.moved |= {(act.match_id, act.move.ply) for act in request.acts if act.HasField("move")}
        async with self._writing:
            await self._call.write(PlayRequest(acts=acts))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._call, name)


def leave() -> None:
    """End the process, as one that has met what it does not know."""
    os._exit(3)


def unknown(item: Any, number: int) -> bool:
    """Say whether a message has a field of a number that nobody knows."""
    return any(field.field_number == number for field in UnknownFieldSet(item))


def reason(item: PlayItem) -> str:
    """Return why an answer is a refusal, or ''."""
    number = item.answer.refusal.reason if item.answer.HasField("refusal") else 0
    known = number in RefusalReason.values()
    return RefusalReason.Name(number).removeprefix("REFUSAL_REASON_") if known and number else str(number or "")


async def asked_once(one, method, turn, *more):
    """Ask the bot for its choice once, whatever comes of it."""
    return await one._caller.call(method, turn, *more)
