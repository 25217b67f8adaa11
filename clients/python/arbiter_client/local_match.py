"""A match of two bots in one process, without a server: for experiments, and for tests of a bot.

Needs the extra `game-arbiter-client[engines]`. The rules are the arbiter's; the policy is that of a server where it
says nothing else: a choice that is refused is made once more, and a second refusal resigns.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from arbiter.errors import Refusal
from arbiter.games import registry
from arbiter.games.contract import AnyGame
from arbiter.matches import clock as clocks
from arbiter.matches.creation import start_text
from arbiter.matches.events import MatchEndReason
from arbiter.matches.time_control import parse_pair
from arbiter_client.bot import SEATS, Bot, Choice, ClaimDraw, Move, OfferDraw, Resign
from arbiter_client.calling import Caller
from arbiter_client.errors import ArbiterError, Reason
from arbiter_client.values.game import CellContent, LegalMove
from arbiter_client.values.match import Cause, Clock, Party, Result, ResultKind
from arbiter_client.values.play import DrawOffer, FinishedMatch, LiveMatch, RecentMove, Turn


def local_match(
    first: Bot, second: Bot, game: str, *, time_control: str = "none", opening: Sequence[str] = (), position: str = ""
) -> FinishedMatch:
    """Play a match, and return its end as the bot of seat 1 sees it; `match.moves` has the moves.

    time_control: as on a server, two with a colon for time odds; the bots' clocks are real. opening: the first moves,
    which nobody plays. position: the start position, '' for the game's initial one. The bots are called seat-1 and
    seat-2. Errors of a bot are raised. Raises arbiter.errors.Refusal for an unknown game, a wrong time control or
    position, or an illegal opening. In a program with an event loop, `await play_local_match(…)`.
    """
    return asyncio.run(
        play_local_match(first, second, game, time_control=time_control, opening=opening, position=position)
    )


async def play_local_match(
    first: Bot, second: Bot, game: str, *, time_control: str = "none", opening: Sequence[str] = (), position: str = ""
) -> FinishedMatch:
    """Do the same in the running event loop."""
    table = _Table((first, second), registry.game(game), time_control, opening, position)
    try:
        return await table.play()
    finally:
        table.close()


class _Over(Exception):
    """A match has ended otherwise than by the rules of its game: with a winner, by the fault of a loser, or drawn."""

    def __init__(self, reason: str, cause: Cause, winner: int = 0, *, loser: int = 0) -> None:
        self.result = Result(
            kind=ResultKind.WIN if winner or loser else ResultKind.DRAW,
            winner=winner or (SEATS + 1 - loser if loser else 0),
            reason=reason,
            cause=cause,
            party=Party.PLAYER if loser else Party.PLAYERS,
            responsible_seat=loser,
            note="",
        )


class _Table:
    """The state of a match: the position, both clocks, and what each bot knows of it."""

    def __init__(
        self, bots: tuple[Bot, Bot], game: AnyGame, time_control: str, opening: Sequence[str], position: str
    ) -> None:
        self._game = game
        self._callers = [Caller(bot, "raise") for bot in bots]
        self._controls = parse_pair(time_control)
        self._clocks = [clocks.start(control) for control in self._controls]
        self._position: Any = game.start(position)
        self._moves: list[str] = []
        self._movers: list[int] = []
        for move in opening:
            self._play(move)
        both = str(self._controls[0])
        if self._controls[0] != self._controls[1]:
            both += f":{self._controls[1]}"
        self._matches = [
            LiveMatch("local", game.variant, seat, f"seat-{SEATS + 1 - seat}", str(self._controls[seat - 1]), both)
            for seat in (1, 2)
        ]
        for match in self._matches:
            match.opening_plies = len(opening)
            match.start_position = start_text(game, position)

    async def play(self) -> FinishedMatch:
        """Play to the end, and return it as seat 1 sees it."""
        for caller, match in zip(self._callers, self._matches, strict=True):
            await caller.call(caller.bot.started, match)
        try:
            while self._position.outcome is None:
                await self._turn(self._position.turn)
            outcome = self._position.outcome
            result = _Over(outcome.reason, Cause.RULES, outcome.winner).result
        except _Over as over:
            result = over.result
        ends = []
        for caller, match in zip(self._callers, self._matches, strict=True):
            match.over = True
            match.moves = tuple(self._moves)
            text = self._game.text(self._position)
            ends.append(FinishedMatch("local", match.game, match.seat, match.opponent, result, text, match))
            await caller.call(caller.bot.ended, ends[-1])
        return ends[0]

    def close(self) -> None:
        """End what the bots' methods have started."""
        for caller in self._callers:
            caller.close()

    async def _turn(self, seat: int) -> None:
        """Have a seat choose and move. Raises _Over if the match ends otherwise than by the rules of its game."""
        turn = self._turn_of(seat)
        caller = self._callers[seat - 1]
        began_s = time.monotonic()
        choice: Choice = await caller.call(caller.bot.choose, turn)
        while True:
            spent_ms = round((time.monotonic() - began_s) * 1000)
            control = self._controls[seat - 1]
            after = clocks.after_move(control, self._clocks[seat - 1], spent_ms)
            if after is None:
                raise _Over(MatchEndReason.TIME, Cause.TIME, loser=seat)
            try:
                await self._act(seat, choice)
            except ArbiterError as refused:
                choice = await self._again(turn, refused)
                turn = replace(turn, refused=refused)
                continue
            self._clocks[seat - 1] = after
            return

    async def _again(self, turn: Turn, error: ArbiterError) -> Choice:
        """Return another choice after a refusal; a second refusal of a turn resigns."""
        if turn.refused is not None:
            return Resign()
        caller = self._callers[turn.seat - 1]
        choice: Choice | None = await caller.call(caller.bot.refused, turn, error)
        if choice is None:
            choice = await caller.call(caller.bot.choose, replace(turn, refused=error))
        return choice

    async def _act(self, seat: int, choice: Choice) -> None:
        """Carry out a choice. Raises ArbiterError for a move that is none, _Over."""
        if isinstance(choice, Resign):
            raise _Over(MatchEndReason.RESIGNATION, Cause.RESIGNATION, loser=seat)
        if isinstance(choice, ClaimDraw):
            claim = self._game.claim(self._position)
            if claim is None:
                message = "this position has no draw to claim: play a move"
                raise ArbiterError(Reason.DRAW_NOT_AVAILABLE, message, "FAILED_PRECONDITION")
            raise _Over(claim, Cause.RULES)
        offers = isinstance(choice, OfferDraw)
        move = choice.move if isinstance(choice, OfferDraw) else choice
        text = move.text if isinstance(move, Move) else move
        try:
            self._play(text)
        except Refusal as refusal:
            reason = Reason(refusal.reason.value)
            raise ArbiterError(reason, refusal.message, "FAILED_PRECONDITION", refusal.facts) from refusal
        other = self._callers[SEATS - seat]
        if not (offers and self._game.facts.draw_offers):  # else a server refuses the offer, and plays the move
            return
        if await other.call(other.bot.draw_offered, DrawOffer(self._matches[SEATS - seat])):
            raise _Over(MatchEndReason.DRAW_AGREED, Cause.AGREEMENT)

    def _play(self, move: str) -> None:
        mover = self._position.turn
        self._position = self._game.play(self._position, move)
        self._moves.append(move)
        self._movers.append(mover)

    def _turn_of(self, seat: int) -> Turn:
        game, position, match = self._game, self._position, self._matches[seat - 1]
        played = zip(self._movers, self._moves, strict=True)
        recent = [RecentMove(ply, mover, move) for ply, (mover, move) in enumerate(played)][len(match.moves) :]
        match.moves = tuple(self._moves)
        timed = str(self._controls[seat - 1]) != "none"
        available = [
            clocks.available(control, clock) for control, clock in zip(self._controls, self._clocks, strict=True)
        ]
        now_ms = time.time_ns() // 1_000_000
        legal = tuple(LegalMove(move, ()) for move in sorted(game.moves(position)))
        return Turn(
            game=game.variant,
            seat=seat,
            ply=len(self._moves),
            position=game.text(position),
            last_moves=tuple(recent),
            clocks=tuple(
                Clock(clock.remaining_ms, left, clock.periods, clock.moves_left)
                for clock, left in zip(self._clocks, available, strict=True)
            )
            if timed
            else (),
            started_ms=now_ms,
            now_ms=now_ms,
            draw_claim=game.claim(position) or "",
            draw_offered=False,
            opponent=match.opponent,
            board=_board(game, position),
            legal_move_count=len(legal),
            legal_moves=legal,
            available_ms=available[seat - 1] if timed else 0,
            revision=0,
            match=match,
        )


def _board(game: AnyGame, position: Any) -> tuple[CellContent, ...]:
    """Return the cells with a content, as a server does."""
    pieces = zip(game.board.names, game.pieces(position), strict=True)
    return tuple(
        CellContent(
            cell=name,
            owner=piece.owner,
            piece=piece.letter,
            facing=piece.facing if piece.facing >= 0 else None,
            height=piece.height if piece.height >= 0 else None,
            mark=piece.mark,
        )
        for name, piece in pieces
        if piece.letter or piece.mark or piece.height >= 0
    )
