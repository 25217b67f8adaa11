"""The matches of a bot under test, and its opponent in them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any, Final, Protocol

from arbiter.bootstrap import Arbiter
from arbiter.conformance.trace import Trace
from arbiter.games.contract import Seat
from arbiter.matches import commands
from arbiter.matches.match import Match, Phase
from arbiter.service.ports.environment import Clock

OPPONENT: Final = "referee"
ORGANISER: Final = "organiser"


class MatchContext(Protocol):
    """The environment of a match: the arbiter, the latest state of its matches by id, and the bot's player name."""

    arbiter: Arbiter
    clock: Clock
    player: str
    matches: dict[str, Match]
    trace: Trace

    def new_id(self) -> str:
        """Return a request id for the referee's own use."""

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until a condition holds. Raises Failed after a time limit, naming the condition."""

    async def waiting(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds, without a time limit."""


class BotMatch:
    """A match of the bot. seat: the bot's; 1 in a match against itself."""

    def __init__(self, around: MatchContext, match: Match, seat: Seat) -> None:
        self._around = around
        self._dice = random.Random(match.created.game)
        self.id = match.id
        self.seat = seat
        self.auto: asyncio.Task[None] | None = None

    @property
    def now(self) -> Match:
        """The match's current state."""
        return self._around.matches[self.id]

    @property
    def over(self) -> bool:
        """Whether the match has ended."""
        return self.now.phase is Phase.ENDED

    @property
    def opponents_turn(self) -> bool:
        """Whether the referee's player is to move."""
        return self.now.phase is Phase.ACTIVE and self.now.players[self.now.turn - 1] != self._around.player

    async def reply(self) -> None:
        """Wait for the opponent's turn, then play a random move for it. The moves are the same in every run."""
        await self._around.until(lambda: self.opponents_turn or self.over, "the bot's move to be played")
        if not self.over:
            now = self.now
            move = self._dice.choice(sorted(now.game.moves(now.position)))
            await self.play_as(OPPONENT, now.ply, move)

    async def play_as(self, player: str, ply: int, move: str) -> None:
        """Play a move for a player, as if another client had sent it."""
        now_ms, request = self._around.clock.now_ms, self._around.new_id()
        await self._around.arbiter.matches.request(
            player, self.id, lambda seat: commands.Play(seat, request, ply, move, now_ms())
        )

    def go_on(self) -> None:
        """Let the opponent reply automatically from now on."""
        self.auto = asyncio.create_task(self._replies())

    async def _replies(self) -> None:
        while not self.over:
            await self._around.waiting(lambda: self.opponents_turn or self.over)
            await self.reply()

    async def request(self, make: Callable[[Seat], commands.SeatRequest], player: str = OPPONENT) -> Any:
        """Send a request for the opponent, or another player, to the match; return the answer."""
        return await self._around.arbiter.matches.request(player, self.id, make)

    async def arrive(self) -> None:
        """Mark the opponent as present: a match from a challenge waits for both players."""
        await self._around.arbiter.matches.answer(self.id, commands.Arrive(2 if self.seat == 1 else 1))

    async def interrupt(self) -> None:
        """Interrupt the match like an outage of the arbiter; it continues with the players who are present."""
        self._around.trace.note(f"interrupts {self.id}")
        for command in (commands.Interrupt(commands.Interruption.RESTART), commands.Arrive(1), commands.Arrive(2)):
            await self._around.arbiter.matches.answer(self.id, command)

    async def end(self) -> None:
        """End the match, whatever its state is."""
        if self.auto is not None:
            self.auto.cancel()
        if not self.over:
            command = commands.Abort(ORGANISER, self._around.new_id(), "the situation is over")
            await self._around.arbiter.matches.answer(self.id, command)
