"""A bot that passes its turns to a program: one process for each match that is under way."""

from __future__ import annotations

import asyncio
import itertools
import logging
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from types import TracebackType
from typing import Final, Self

from arbiter_client.backoff import Backoff
from arbiter_client.bot import Bot, Choice, Extras, Resign, with_thought
from arbiter_client.bridge.child import Start, starting
from arbiter_client.bridge.language import Introduction, Language, Question, outcome_of
from arbiter_client.bridge.program import Program, ProgramFailed
from arbiter_client.bridge.words import Words
from arbiter_client.channel import Tls
from arbiter_client.errors import ArbiterError, BotFailed
from arbiter_client.playing import play, run_until_told
from arbiter_client.values.game import MatchPly
from arbiter_client.values.play import DrawOffer, FinishedMatch, LiveMatch, Turn

logger = logging.getLogger("arbiter_client")

MARGIN_MS: Final = 20
"""Time that is subtracted from the time that a program may use, for the way of its answer to the arbiter."""

STARTS_A_TURN: Final = 10
"""After this many failures in a turn, with growing pauses, a bot resigns the match: it may have no clock to end it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits for a program.

    start_s: for its introduction. move_s: for an answer, besides its clock; None: no limit. restarts: in how many turns
    of a match it may fail (a crash, a missing answer or a malformed one) and is started again; in one more turn the bot
    resigns the match. In one turn it is started at most `STARTS_A_TURN` times. idle: how many programs are kept for the
    next match.
    """

    start_s: float = 10.0
    move_s: float | None = None
    restarts: int = 3
    idle: int = 2


@dataclass(slots=True, eq=False)
class _Seat:
    """A seat of a match: its program, and the plies of the turns in which a program of it failed."""

    match: LiveMatch
    program: Program | None = None
    failed: set[int] = field(default_factory=set)


class ProgramBot(Bot):
    """A bot that asks programs. Use it as an asynchronous context manager, which ends them all at its end."""

    def __init__(
        self,
        command: Sequence[str],
        introduction: Introduction,
        language: Language | None = None,
        limits: Limits | None = None,
        called: str = "",
        start: Start | None = None,
        dialogue: bool = False,
    ) -> None:
        """Take a program. `called`: its name in messages, if its command is that of a wrapper around it.

        start: starts it, if it is not to be a child of this process. dialogue: whether each line that it reads and
        writes is logged.
        """
        self._dialogue = dialogue
        self._start = start or starting(command)
        self._called = called or shlex.join(command)
        self._language = language or Words()
        self._limits = limits or Limits()
        self._draws = introduction.draws
        self._most_moves = introduction.moves
        self._seats: dict[str, dict[int, _Seat]] = {}
        self._idle: list[Program] = []
        self._all: set[Program] = set()
        self.name = introduction.name or PurePath(shlex.split(self._called)[0]).name
        self.version = introduction.version
        self.games = introduction.games
        self.extras = Extras(legal_moves_up_to=introduction.moves)

    async def __aenter__(self) -> Self:
        """Return the bot."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all programs."""
        await asyncio.gather(*(program.close() for program in self._all))

    async def started(self, match: LiveMatch) -> None:
        """Start the program of a seat, so that no turn waits for it; if it fails, the first turn starts it again."""
        seat = self._seat(match)
        try:
            await self._program(seat)
        except ProgramFailed as failure:
            await self._drop(seat)
            logger.warning("%s before match %s: %s", self._called, match.match_id, failure)

    async def choose(self, turn: Turn) -> Choice:
        """Ask the program of the turn's seat; start it again if it fails."""
        seat = self._seat(turn.match)
        # Starts, failures and refused moves in the turn are the program's own time.
        first = turn.refused is None and seat.program is not None and seat.program.running
        backoff = Backoff()
        for starts in itertools.count(1):
            try:
                program = await self._program(seat)
                question = await self._question(turn)
                choice = await program.ask(question, self._patience_s(turn))
                await program.think_ahead(question, choice, round(1_000 * program.thought_s))
                return with_thought(choice, program.thought_s) if first and starts == 1 else choice
            except asyncio.CancelledError:
                await self._drop(seat)  # its next line may be the answer to an earlier turn
                raise
            except ProgramFailed as failure:
                await self._drop(seat)
                seat.failed.add(turn.ply)
                last = len(seat.failed) > self._limits.restarts or starts == STARTS_A_TURN
                what = "the match is resigned" if last else "it is started again"
                where = f"match {turn.match.match_id} at ply {turn.ply}"
                logger.error("%s in %s: %s; %s", self._called, where, failure, what)
                if last:
                    break
            await asyncio.sleep(backoff.next_s())
        return Resign()

    async def refused(self, turn: Turn, refusal: ArbiterError) -> Choice | None:
        """Ask the program once more, with the reason of the refusal in the question."""
        return None

    async def ended(self, finished: FinishedMatch) -> None:
        """Tell the programs of a match its result, and keep some of them for the next match."""
        for number, seat in self._seats.pop(finished.match_id, {}).items():
            program = seat.program
            if program is None:
                continue
            try:
                await program.end(outcome_of(finished.result, number), finished.result.reason)
            except ProgramFailed as failure:
                logger.warning("%s at the end of match %s: %s", self._called, finished.match_id, failure)
            if program.running and len(self._idle) < self._limits.idle:
                self._idle.append(program)
            else:
                await program.close()
                self._all.discard(program)

    async def draw_offered(self, offer: DrawOffer) -> bool:
        """Accept a draw offer if the program's introduction says so, or it agrees by the scores of its moves."""
        seat = self._seats.get(offer.match.match_id, {}).get(offer.match.seat)
        return self._draws or (seat is not None and seat.program is not None and seat.program.agrees_to_draw)

    def _seat(self, match: LiveMatch) -> _Seat:
        seats = self._seats.setdefault(match.match_id, {})
        if match.seat not in seats:
            seats[match.seat] = _Seat(match)
        return seats[match.seat]

    async def _program(self, seat: _Seat) -> Program:
        """Return the program of a seat, after telling it of the match. Raises ProgramFailed."""
        if seat.program is not None and seat.program.running:
            return seat.program
        await self._drop(seat)
        program = None
        while self._idle and program is None:
            program = self._idle.pop()
            if not program.running:
                self._all.discard(program)
                program = None
        if program is None:
            limit_s = self._limits.start_s
            program = await Program.start(self._start, self._language, limit_s, self._called, self._dialogue)
            self._all.add(program)
        seat.program = program
        await program.begin(seat.match, self._limits.start_s)
        return program

    async def _question(self, turn: Turn) -> Question:
        moves: tuple[str, ...] | None = None
        if self._most_moves:
            legal = turn.legal_moves or await self.client.legal_moves(MatchPly(turn.match.match_id, turn.ply))
            moves = tuple(move.text for move in legal) if len(legal) <= self._most_moves else None
        left = turn.time_left_ms
        refused = (turn.refused.reason.value, turn.refused.message) if turn.refused is not None else None
        return Question(turn, moves, None if left is None else max(0, int(left) - MARGIN_MS), refused)

    def _patience_s(self, turn: Turn) -> float | None:
        """Return the time limit for an answer: after that it would be too late.

        That is the whole time of the turn, since what was needed until the program was asked may not be charged.
        """
        limits = [limit for limit in (self._limits.move_s, _seconds(turn.available_ms or None)) if limit is not None]
        return min(limits, default=None)

    async def _drop(self, seat: _Seat) -> None:
        program, seat.program = seat.program, None
        if program is not None:
            self._all.discard(program)
            await program.kill()


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


async def introduce(
    command: Sequence[str],
    language: Language | None = None,
    limit_s: float = 10.0,
    called: str = "",
    start: Start | None = None,
) -> Introduction:
    """Start a program, return its introduction, and end it. Raises ProgramFailed.

    called: its name in messages, by default its command. start: starts it, if it is not to be a child of this process.
    """
    program = await Program.start(
        start or starting(command), language or Words(), limit_s, called or shlex.join(command)
    )
    await program.close()
    return program.introduction


def run(
    command: Sequence[str],
    server: str | None = None,
    *,
    language: Language | None = None,
    limits: Limits | None = None,
    set_up: Callable[[ProgramBot], None] | None = None,
    name: str = "",
    token: str | None = None,
    tls: Tls | None = None,
    matches: int | None = None,
    thinkers: int = 8,
    invitation: str = "",
    called: str = "",
    dialogue: bool = False,
) -> None:
    """Play a program as `arbiter_client.run` plays a bot; `set_up` may change the bot before it connects.

    called: the name of the program in messages, by default its command; for a command that is a wrapper around it.
    dialogue: whether each line that the program reads and writes is logged.
    Raises the errors of `arbiter_client.play`, and BotFailed for a program that does not introduce itself.
    """

    async def work() -> None:
        bounds = limits or Limits()
        try:
            introduction = await introduce(command, language, bounds.start_s, called)
        except ProgramFailed as failure:
            raise BotFailed(f"{called or shlex.join(command)}: {failure}") from None
        async with ProgramBot(command, introduction, language, bounds, called, dialogue=dialogue) as bot:
            if set_up is not None:
                set_up(bot)
            await play(
                bot,
                server,
                name=name,
                token=token,
                tls=tls,
                matches=matches,
                thinkers=thinkers,
                invitation=invitation,
            )

    run_until_told(work)
