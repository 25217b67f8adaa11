"""The matches of a bot under test, and its opponent in them."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable
from typing import Any, Final, Protocol

from arbiter_protos.v1 import play_pb2

from arbiter.bootstrap.wiring import Arbiter
from arbiter.conformance.failures import Failed
from arbiter.conformance.trace import SentAct, Trace
from arbiter.conformance.waiting import REACT_S
from arbiter.games.contract import Seat
from arbiter.matches import commands
from arbiter.matches.match import Match, Phase
from arbiter.service.ports.environment import Clock

OPPONENT: Final = "referee"
ORGANISER: Final = "organiser"


class MatchContext(Protocol):
    """The environment of a match: the arbiter, its clock, and the bot's player name."""

    arbiter: Arbiter
    clock: Clock
    player: str
    trace: Trace

    def new_id(self) -> str:
        """Return a request id for the referee's own use."""

    async def until(self, condition: Callable[[], bool], what: str, within_s: float = REACT_S) -> None:
        """Wait until a condition holds. Raises Failed after a time limit, naming the condition."""

    async def quiet(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Give an unwanted event the time to happen, never less than asked for; return whether it happened."""

    async def lasts(self, seconds: float, condition: Callable[[], bool]) -> bool:
        """Let a state last this long, the same on every machine, or until a condition holds; return whether it does."""


class BotMatch:
    """A match of the bot. now: its current state. seat: the bot's; 1 in a match against itself."""

    def __init__(self, around: MatchContext, match: Match) -> None:
        self._around = around
        self._dice = random.Random(match.created.game)
        self.id = match.id
        self.now = match
        self.seat: Seat = 1 if match.players[0] == around.player else 2
        self.auto: asyncio.Task[None] | None = None

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
            await self._around.lasts(math.inf, lambda: self.opponents_turn or self.over)
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

    async def go_away(self) -> None:
        """Interrupt the match as a restart does: no clock runs until the bot has connected again."""
        await self.stop_clock()
        await self.arrive()

    async def stop_clock(self) -> None:
        """Interrupt the match; it waits for both players."""
        self._around.trace.note(f"interrupts {self.id} until the bot is back")
        await self._around.arbiter.matches.answer(self.id, commands.Interrupt(commands.Interruption.RESTART))

    async def charged_ms(self, ply: int) -> int:
        """Return what the bot's move at a ply was charged by its ledger, which comes with the answer."""

        def answered() -> list[int]:
            receipts = (each.item.answer.receipt for each in self._around.trace.items("answer"))
            return [one.ledger.charged_ms for one in receipts if (one.match_id, one.ply) == (self.id, ply + 1)]

        await self._around.until(lambda: bool(answered()), "the answer to the bot's move to be sent")
        return answered()[0]

    async def turn(self, ply: int | None = None) -> play_pb2.Turn:
        """Wait until the bot has been sent a turn, at the given ply or at any; return the last one."""

        def sent() -> list[play_pb2.Turn]:
            return [
                each.item.turn
                for each in self._around.trace.items("turn")
                if each.item.turn.match_id == self.id and ply in (None, each.item.turn.ply)
            ]

        await self._around.until(lambda: bool(sent()), "the bot's turn to be sent")
        return sent()[-1]

    async def thinking(self, within_s: float = 0.5) -> play_pb2.Turn:
        """Wait until the bot has been sent the current turn, and has made its call about it, if any; return it."""
        turn = await self.turn(self.now.ply)
        sent_s = next(each.at_s for each in reversed(self._around.trace.items("turn")) if each.item.turn == turn)
        await self._around.quiet(lambda: any(call.at_s >= sent_s for call in self._around.trace.called), within_s)
        return turn

    async def move(self, ply: int | None = None, within_s: float = REACT_S, after_s: float = 0.0) -> SentAct:
        """Wait for a move of the bot, for a ply if one is given; return the last one."""

        def moves() -> list[SentAct]:
            return [said for said in self._around.trace.moves(self.id, ply) if said.at_s >= after_s]

        where = "" if ply is None else f" at ply {ply}"
        await self._around.until(lambda: bool(moves()), f"the bot's move in {self.id}{where}", within_s)
        return moves()[-1]

    async def goes_on(self, moves: int = 1, within_s: float = 2 * REACT_S) -> None:
        """Check that the bot plays this many further moves, and that the arbiter accepts them.

        The opponent replies.
        """
        for _ in range(moves):
            await self._around.until(lambda: self.now.phase is Phase.ACTIVE or self.over, "a clock to run", within_s)
            if self.opponents_turn:
                await self.reply()
            if self.over:
                break
            ply = self.now.ply
            await self._around.until(
                lambda ply=ply: self.now.ply > ply or self.over,  # type: ignore[misc]
                f"a move of the bot's in {self.id} at ply {ply} that the arbiter accepts",
                within_s,
            )
        self.check_not_lost()

    def check_not_lost(self) -> None:
        """Check that the bot has lost the match by play at most. Raises Failed, or RuntimeError for the referee."""
        result = self.now.result
        if result is not None and result.cause.value in ("rule_violation", "time", "absence", "resignation"):
            if result.seat and self.now.players[result.seat - 1] != self._around.player:
                raise RuntimeError(f"the referee lost {self.id} by {result.reason}")
            raise Failed(f"match {self.id} ended by {result.reason}")

    async def end(self) -> None:
        """End the match, whatever its state is."""
        if self.auto is not None:
            self.auto.cancel()
        if not self.over:
            command = commands.Abort(ORGANISER, self._around.new_id(), "the situation is over")
            await self._around.arbiter.matches.answer(self.id, command)
