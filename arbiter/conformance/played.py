"""The matches that a bot under test plays, and its opponent in them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from arbiter.games.contract import Seat
from arbiter.matches import commands
from arbiter.matches.match import Match, Phase

if TYPE_CHECKING:
    from arbiter.conformance.stage import Stage

OPPONENT: Final = "referee"
ORGANISER: Final = "organiser"


class Played:
    """A match of the bot's. seat: the bot's; of a match against itself 1."""

    def __init__(self, stage: Stage, match: Match, seat: Seat) -> None:
        self._stage = stage
        self._dice = random.Random(match.created.game)
        self.id = match.id
        self.seat = seat
        self.auto: asyncio.Task[None] | None = None

    @property
    def now(self) -> Match:
        """The match as it stands."""
        return self._stage.matches[self.id]

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.now.phase is Phase.ENDED

    @property
    def opponents_turn(self) -> bool:
        """Whether the referee's player is to move."""
        return self.now.phase is Phase.ACTIVE and self.now.players[self.now.turn - 1] != self._stage.player

    async def reply(self) -> None:
        """Play a move of the opponent's, drawn by chance, the same ones in every run. Waits for its turn."""
        await self._stage.until(lambda: self.opponents_turn or self.over, "the bot's move to be played")
        if not self.over:
            now = self.now
            move = self._dice.choice(sorted(now.game.moves(now.position)))
            await self.play_as(OPPONENT, now.ply, move)

    async def play_as(self, player: str, ply: int, move: str) -> None:
        """Play a move for a player, as if it had come from elsewhere."""
        now_ms, request = self._stage.clock.now_ms, self._stage.new_id()
        await self._stage.arbiter.matches.request(
            player, self.id, lambda seat: commands.Play(seat, request, ply, move, now_ms())
        )

    def go_on(self) -> None:
        """Let the opponent reply by itself from now on."""
        self.auto = asyncio.create_task(self._replies())

    async def _replies(self) -> None:
        while not self.over:
            await self._stage.waiting(lambda: self.opponents_turn or self.over)
            await self.reply()

    async def request(self, make: Callable[[Seat], commands.SeatRequest], player: str = OPPONENT) -> Any:
        """Let the opponent, or another player, ask something of the match; return the answer."""
        return await self._stage.arbiter.matches.request(player, self.id, make)

    async def arrive(self) -> None:
        """Be there as the opponent: a match that came of a challenge waits for both players."""
        await self._stage.arbiter.matches.answer(self.id, commands.Arrive(2 if self.seat == 1 else 1))

    async def interrupt(self) -> None:
        """Interrupt the match as an outage of the arbiter does; it goes on with whoever is there."""
        self._stage.trace.note(f"interrupts {self.id}")
        for command in (commands.Interrupt(commands.Interruption.RESTART), commands.Arrive(1), commands.Arrive(2)):
            await self._stage.arbiter.matches.answer(self.id, command)

    async def end(self) -> None:
        """End the match, whatever is the case in it."""
        if self.auto is not None:
            self.auto.cancel()
        if not self.over:
            command = commands.Abort(ORGANISER, self._stage.new_id(), "the situation is over")
            await self._stage.arbiter.matches.answer(self.id, command)
