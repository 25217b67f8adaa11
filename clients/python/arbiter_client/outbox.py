"""The acts of a bot on their way to the server: in a queue over the network, or at once in the server's process."""

from __future__ import annotations

import asyncio
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeAlias

from arbiter_protos.v1.play_pb2 import ClientHello, PlayAct, PlayRequest, PlayResponse


class Acts(ABC):
    """Acts on their way to the server.

    A request keeps its id, and is sent again on every new stream until its answer arrives. A pong or an acknowledgement
    is sent only once.
    """

    def __init__(self) -> None:
        self._unanswered: dict[str, PlayAct] = {}
        self._prefix = secrets.token_hex(8)
        self._count = 0

    @abstractmethod
    def say(self, act: PlayAct, at_once: bool = False) -> None:
        """Send an act that is not answered, `at_once` before all others. It is lost if the stream breaks."""

    @abstractmethod
    def _push(self, act: PlayAct, round_trip_s: float = 0.0) -> None:
        """Send a request, unless no stream is open."""

    def request(self, act: PlayAct, round_trip_s: float = 0.0) -> str:
        """Send an act that will be answered, and return its request id.

        round_trip_s: how much of the time since the turn came was on the way to a program and back, in seconds.
        """
        self._count += 1
        act.request_id = f"{self._prefix}-{self._count}"
        self._unanswered[act.request_id] = act
        self._push(act, round_trip_s)
        return act.request_id

    def unanswered(self, request_id: str) -> PlayAct | None:
        """Return the unanswered act with a request id, or None."""
        return self._unanswered.get(request_id)

    def answered(self, request_id: str) -> None:
        """Remove an act, which has been answered, from the list."""
        self._unanswered.pop(request_id, None)

    def again(self, request_id: str) -> None:
        """Send an unanswered act again."""
        act = self._unanswered.get(request_id)
        if act is not None:
            self._push(act)


class Outbox(Acts):
    """The queue of acts that go over the network, in order and in batches.

    Between `hold` and `release` only the hello is sent.
    """

    def __init__(self) -> None:
        super().__init__()
        self._urgent: list[PlayAct] = []
        self._queue: list[PlayAct] = []
        self._held = True
        self._closed = False
        self._ready = asyncio.Event()

    def hold(self, hello: ClientHello) -> None:
        """Begin a new stream: send the hello, and nothing else until `release`."""
        self._held = True
        self._queue = []
        self._urgent = [PlayAct(hello=hello)]
        self._ready.set()

    def release(self) -> None:
        """Continue after the server's hello: unanswered requests are sent again, in their old order."""
        self._held = False
        self._queue = list(self._unanswered.values())
        self._ready.set()

    def say(self, act: PlayAct, at_once: bool = False) -> None:
        """Send an act that is not answered, `at_once` before all others. It is lost if the stream breaks."""
        if at_once:
            self._urgent.append(act)
            self._ready.set()
        else:
            self._push(act)

    def again(self, request_id: str) -> None:
        """Send an unanswered act again, unless it is about to be sent."""
        if self.unanswered(request_id) not in self._queue:
            super().again(request_id)

    def close(self) -> None:
        """Let `next` return None once everything has been sent."""
        self._closed = True
        self._ready.set()

    async def next(self) -> PlayRequest | None:
        """Wait until there are acts to send, and return all of them, pongs first."""
        while not (self._urgent or self._queue):
            if self._closed:
                return None
            self._ready.clear()
            await self._ready.wait()
        acts = self._urgent + self._queue
        self._urgent, self._queue = [], []
        return PlayRequest(acts=acts)

    def _push(self, act: PlayAct, round_trip_s: float = 0.0) -> None:
        if not self._held:
            self._queue.append(act)
            self._ready.set()


class ServerEnd(Protocol):
    """The server's end of a session. over: raises what has ended it; done without that after the bot's `stop`."""

    over: asyncio.Future[None]

    @property
    def player(self) -> str:
        """The bot's player."""

    def begin(self) -> None:
        """Give the bot the items that there are, and from now on all others."""

    def act(self, act: PlayAct, round_trip_s: float = 0.0) -> None:
        """Do what the bot asks, unless the session has ended. round_trip_s: as for `Acts.request`."""


Opens: TypeAlias = Callable[[ClientHello, Callable[[PlayResponse], None]], AbstractAsyncContextManager[ServerEnd]]
"""Opens a session with the bot's hello, and what takes the items for the bot. Raises ArbiterError."""


class DirectActs(Acts):
    """The acts of a bot in its server's process: what it asks is done when it asks it. session: None between two."""

    def __init__(self) -> None:
        super().__init__()
        self.session: ServerEnd | None = None

    def say(self, act: PlayAct, at_once: bool = False) -> None:
        """Have something done that is not answered."""
        self._push(act)

    def repeat(self) -> None:
        """Have done again what was not answered in the session before."""
        for act in list(self._unanswered.values()):
            self._push(act)

    def _push(self, act: PlayAct, round_trip_s: float = 0.0) -> None:
        if self.session is not None:
            self.session.act(act, round_trip_s)
