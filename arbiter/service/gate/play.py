"""The call that opens a Play stream, for every API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from arbiter.service.gate.admission import Admission, Call
from arbiter.service.gate.open_streams import OpenStreams
from arbiter.service.gate.rights import Action
from arbiter.service.players.accounts import Caller


class PlayGate:
    """The call by which a bot plays all its matches."""

    def __init__(self, admission: Admission, streams: OpenStreams) -> None:
        self._admission = admission
        self._streams = streams

    @asynccontextmanager
    async def playing(self, call: Call) -> AsyncIterator[Caller]:
        """Open and count a player's Play stream; `Sessions` handles its messages. Raises as `Admission.caller` does."""
        caller = await self._admission.caller(call, Action.PLAY)
        with self._streams.counted("play", caller.player):
            yield caller
