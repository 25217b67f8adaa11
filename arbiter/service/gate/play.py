"""The call that opens a Play stream, for every API; and what acts cost that are not moves in live matches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, TypeAlias

from arbiter.config import Limits
from arbiter.errors import Refusal
from arbiter.matches.commands import Play
from arbiter.matches.comments import Comment
from arbiter.matches.requests import Receipt
from arbiter.service.background import Background
from arbiter.service.gate.admission import Admission, Call
from arbiter.service.gate.open_streams import OpenStreams
from arbiter.service.gate.rights import Action
from arbiter.service.matches.match_registry import MatchRegistry
from arbiter.service.players.accounts import Caller
from arbiter.service.ports.environment import Clock
from arbiter.service.token_bucket import MINUTE_MS, SECOND_MS, TokenBuckets

MoveAnswer: TypeAlias = Receipt | Refusal

ACT_S: Final = 0.000_5  #: of the event loop, which an act counts for that is no move in a live match, or is sent again
OPENING_S: Final = 0.002  #: of the event loop, which a Play stream counts for that has to wait for its turn


class PlayGate:
    """The call by which a bot plays all its matches."""

    def __init__(self, admission: Admission, streams: OpenStreams, background: Background, limits: Limits) -> None:
        self._admission = admission
        self._background = background
        self._streams = streams
        self._openings = TokenBuckets(limits.prompt_play_streams_a_minute, MINUTE_MS, "Play streams in a minute")

    @asynccontextmanager
    async def playing(self, call: Call) -> AsyncIterator[Caller]:
        """Open and count a player's Play stream; `Sessions` handles its messages. Raises as `Admission.caller` does."""
        caller = await self._admission.caller(call, Action.PLAY)
        if self._openings.take(caller.player, int(asyncio.get_running_loop().time() * SECOND_MS)):
            await self._background.spend(f"player {caller.player}", OPENING_S)
        with self._streams.counted("play", caller.player):
            yield caller

    async def other_acts(self, player: str, acts: int) -> None:
        """Wait as long as some acts cost that were no moves in live matches, before the next one of their stream."""
        await self._background.spend(f"player {player}", acts * ACT_S)


class PlayerMoves:
    """The live matches of one player, for a stream of its moves."""

    def __init__(self, matches: MatchRegistry, clock: Clock, background: Background, player: str, most: int) -> None:
        self._matches = matches
        self._clock = clock
        self._background = background
        self._player = player
        self.most = most  #: the limit of moves whose answers the client has not read

    def now_ms(self) -> int:
        """Return the current instant, for a message that arrives now."""
        return self._clock.now_ms()

    def play(
        self, match_id: str, request_id: str, ply: int, move: str, arrived: int, comment: Comment | None
    ) -> asyncio.Future[MoveAnswer]:
        """Play a move that arrived at an instant (UTC, ms). Return the future of its answer, which may be a refusal."""
        return self._matches.request(
            self._player, match_id, lambda seat: Play(seat, request_id, ply, move, arrived, comment=comment)
        )

    def is_new(self, match_id: str, request_id: str) -> bool:
        """Return whether a move is one of a live match of the player that has not been answered yet."""
        return self._matches.has_answered(self._player, match_id, request_id) is False

    async def other(self, moves: int) -> None:
        """Wait as long as some moves cost that were refused, or sent again, before the next one of their stream."""
        await self._background.spend(f"player {self._player}", moves * ACT_S)
