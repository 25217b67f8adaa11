"""A human player at the terminal: sees the board and types moves. An illegal move is not sent, so it costs nothing."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from difflib import get_close_matches
from typing import Final

import arbiter_client as arb
from arbiter_client.bots.greedy import best_move
from arbiter_client.engines import Standing, standing

from arbiter.cli import words
from arbiter.cli.games import print_rules
from arbiter.cli.person_input import Typing
from arbiter.cli.terminal import clock_text, on_terminal, say, say_lines, write_drawing
from arbiter.drawing.text_drawing import draw
from arbiter.errors import Refusal
from arbiter.games import registry
from arbiter.games.line import follow, listed, written
from arbiter.games.rule_sheet import described
from arbiter.matches.evolution import MOST_OPENING_MOVES

UNKNOWN: Final = "The rules on this machine do not know this game."
MOST_COMPARED: Final = 5_000  #: legal moves that a mistyped one is compared with
SHOWN_MOVES: Final = 200  #: longer lists are cut; the person can narrow them down

HINT_S: Final = 1.0  #: how long a hint is thought about

HELP: Final = """\
  MOVE          play a move, in the notation of the game: in chess `Nf3`, or `g1f3`
  moves, ?      the legal moves; `moves e` those that begin with e
  hint          a move to consider
  board         the board again
  rules         the rules of the game, with examples of moves
  undo          take your last move back, with what was answered; in a game on your own machine without clocks
  draw          claim a draw where the rules grant one, or offer one with your next move where the game has offers
  accept        accept the opponent's draw offer; playing on declines it
  resign, quit  give the match up
  help          this"""

WORDS: Final = ("moves", "hint", "board", "rules", "undo", "draw", "accept", "resign", "quit", "help")

TakeBack = Callable[[arb.Turn, tuple[str, ...], Callable[[str], None]], Awaitable[None]]
"""Begins the match of a turn again after some of its moves, says the new match's id, and ends the old one."""


class Person(arb.Bot):
    """Plays the moves that are typed. `over` is set when the awaited challenge is declined or its match has ended."""

    name = "a person"

    def __init__(self, lines: Typing, take_back: TakeBack | None = None) -> None:
        self.over = asyncio.Event()
        self.declined = ""  #: the reason why there is no match
        self._lines = lines
        self._take_back = take_back
        self._taking_back: asyncio.Task[None] | None = None
        self._taken_back: set[str] = set()  # matches that were begun again after some of their moves
        self._awaited = ""  # the challenge that was sent
        self._match_of: dict[str, str] = {}  # challenge to match
        self._ended: set[str] = set()
        self._seen: dict[str, int] = {}  # by match: the ply up to which moves have been shown
        self._offer: asyncio.Future[bool] | None = None
        self._offers_draw = False

    def wait_for(self, challenge_id: str) -> None:
        """Set `over` at the end of the match that results from this challenge."""
        self._awaited = challenge_id
        self._check_over()

    # ---- events from the server --------------------------------------------------------------------------------

    async def challenged(self, challenge: arb.Challenge) -> bool | str:
        """Decline: the person already has a match."""
        return "a person plays here, and is busy"

    async def challenge_closed(self, closed: arb.ChallengeClosed) -> None:
        """Note the match that results from the challenge, or that there is none."""
        if closed.match_id:
            self._match_of[closed.challenge_id] = closed.match_id
        elif closed.challenge_id == self._awaited:
            self.declined = closed.reason or "no reason given"
            self.over.set()
        self._check_over()

    async def started(self, match: arb.LiveMatch) -> None:
        """Print that the match begins."""
        if self._taking_back is not None:
            return
        seat = f"you are {words.seat_name(match.game, match.seat)}"
        time = "without clocks" if match.time_control == "none" else match.time_control
        say(f"{match.game} against {match.opponent}, {time}; {seat}. `help` says what you can type.")

    async def draw_offered(self, offer: arb.DrawOffer) -> bool:
        """Wait for `accept`; a move in its place declines."""
        say(f"{offer.match.opponent} offers a draw: type `accept`, or play on.", "bold")
        self._offer = asyncio.get_running_loop().create_future()
        return await self._offer

    async def ended(self, finished: arb.FinishedMatch) -> None:
        """Show the last board and the result."""
        if finished.match_id in self._taken_back:
            return
        if finished.match is not None:
            await self._show_end(finished)
        self._ended.add(finished.match_id)
        self._check_over()

    async def _show_end(self, finished: arb.FinishedMatch) -> None:
        players = ("you", finished.opponent) if finished.seat == 1 else (finished.opponent, "you")
        match = await self.client.get_match(finished.match_id, with_moves=True)
        for ply in range(self._seen.get(finished.match_id, 0), len(match.moves)):
            say(_named(match.game, match.start_position, match.moves, ply))
        _show(
            match.game,
            match.start_position,
            match.moves,
            match.position,
            words.result(finished.result, players, match.game),
        )
        ended = words.result(finished.result, players, match.game)
        say(f"Y{ended[1:].replace(' wins:', ' win:', 1)}" if ended.startswith("you ") else ended, "bold")

    def _check_over(self) -> None:
        if self._match_of.get(self._awaited, "") in self._ended:
            self.over.set()

    # ---- the person's turn -------------------------------------------------------------------------------------

    async def choose(self, turn: arb.Turn) -> arb.Choice:
        """Show the board and return what the person types, once it is valid."""
        if turn.refused is None:
            seen = self._seen.get(turn.match.match_id, 0)
            for move in turn.last_moves:
                named = _named(turn.game, turn.match.start_position, turn.match.moves, move.ply)
                if seen <= move.ply < turn.match.opening_plies:
                    say(f"{named}, the opening")
                elif move.ply >= seen and move.seat != turn.seat:
                    number, _, played = named.partition(" ")
                    say(f"{number} {turn.opponent} plays {played}")
            self._show_turn(turn)
            self._print_clocks(turn)
        choice = await self._ask(turn)
        self._seen[turn.match.match_id] = turn.ply + 1
        if self._offer is not None and not self._offer.done():
            self._offer.set_result(False)
        return choice

    async def refused(self, turn: arb.Turn, refusal: arb.ArbiterError) -> arb.Choice | None:
        """Print why the arbiter refused, and ask again."""
        say(f"Refused: {refusal.message}. {_example(_position_of(turn), '')}", "red")
        return await self._ask(turn)

    async def _ask(self, turn: arb.Turn) -> arb.Choice:
        known = _position_of(turn)
        legal = () if known is None else _legal(known)
        while True:
            line = await self._lines.next("your move> ", (*WORDS, *legal))
            if line is None:
                say("The input has ended: you resign.")
                return arb.Resign()
            if line.strip() == "undo":
                await self._undo(turn, known)
                continue
            if line.strip() == "hint":
                await _hint(turn, known)
                continue
            choice = self._parse_choice(line.strip(), turn, known)
            if choice is not None:
                return choice

    async def _undo(self, turn: arb.Turn, known: Standing | None) -> None:
        """Begin the match again before the person's last move; does not return then, since this match ends."""
        moves = turn.match.moves
        if self._take_back is None or turn.clocks or known is None:
            say("Moves can be taken back only in a game on your own machine and without clocks.")
            return
        line = follow(known.game, known.game.start(turn.match.start_position), moves)
        own = [ply for ply in range(turn.match.opening_plies, len(moves)) if line.positions[ply].turn == turn.seat]
        if not own:
            say("There is no move of yours to take back.")
            return
        if own[-1] > MOST_OPENING_MOVES:
            say(f"Only one of the first {MOST_OPENING_MOVES} moves can be taken back.")
            return
        say(f"Taken back: {listed(line, own[-1], len(moves))}.")
        self._taking_back = asyncio.create_task(self._begin_again(turn, moves[: own[-1]]))
        await asyncio.Event().wait()  # the end of this match cancels the thought about it

    async def _begin_again(self, turn: arb.Turn, moves: tuple[str, ...]) -> None:
        assert self._take_back is not None
        self._taken_back.add(turn.match.match_id)

        def begun(match_id: str) -> None:
            self._match_of[self._awaited] = match_id
            self._seen[match_id] = len(moves)

        await self._take_back(turn, moves, begun)
        self._taking_back = None

    def _parse_choice(self, line: str, turn: arb.Turn, known: Standing | None) -> arb.Choice | None:
        """Return the choice that a line means; if it means none, print an answer and return None."""
        word, _, rest = line.partition(" ")
        answers = {
            "help": lambda: say_lines(HELP),
            "?": lambda: _list_moves(known, rest),
            "moves": lambda: _list_moves(known, rest),
            "board": lambda: self._show_turn(turn),
            "rules": lambda: _print_rules(known),
            "accept": self._accept,
        }
        if not line:
            return None
        if word in answers:
            answers[word]()
            return None
        if line in ("resign", "quit"):
            return arb.Resign()
        if line == "draw":
            return self._draw(turn, known)
        return self._move(line, known)

    def _move(self, line: str, known: Standing | None) -> arb.Choice | None:
        if known is not None:
            try:
                line = known.game.from_notation(known.position, line)
                known.game.play(known.position, line)
            except Refusal as refusal:
                say(f"{refusal.message}. {_example(known, line)}", "red")
                return None
        if self._offers_draw:
            self._offers_draw = False
            return arb.OfferDraw(line)
        return line

    def _draw(self, turn: arb.Turn, known: Standing | None) -> arb.Choice | None:
        if turn.draw_claim:
            return arb.ClaimDraw()
        self._offers_draw = known is None or known.game.facts.draw_offers
        if self._offers_draw:
            say("The offer is sent with your next move.")
        else:
            say("There is no draw to claim now, and this game has no draw offers.")
        return None

    def _accept(self) -> None:
        if self._offer is None or self._offer.done():
            say("There is no draw offer to accept.")
        else:
            self._offer.set_result(True)

    @staticmethod
    def _show_turn(turn: arb.Turn) -> None:
        _show(turn.game, turn.match.start_position, turn.match.moves, turn.position)
        cases = ("upper case, yellow", "lower case, cyan") if on_terminal() else ("upper case", "lower case")
        say(f"Your pieces: {cases[turn.seat - 1]}. Those of {turn.opponent}: {cases[2 - turn.seat]}.")

    @staticmethod
    def _print_clocks(turn: arb.Turn) -> None:
        if turn.clocks:
            left = turn.time_left_ms
            mine = clock_text(left if left is not None else turn.clocks[turn.seat - 1].available_ms)
            say(f"your clock {mine} · {turn.opponent} {clock_text(turn.clocks[2 - turn.seat].available_ms)}")


def _position_of(turn: arb.Turn) -> Standing | None:
    """Return the turn's position by this machine's rules, or None if they do not include the game."""
    try:
        return standing(turn)
    except arb.BotFailed:
        return None


async def _hint(turn: arb.Turn, known: Standing | None) -> None:
    """Print a move that a simple search likes. In a rated match the person plays alone."""
    if turn.match.rated:
        say("There are no hints in a rated match.")
    elif known is None:
        say(UNKNOWN)
    else:
        until_s = time.monotonic() + HINT_S
        move = await asyncio.to_thread(best_move, known.game, known.position, random.Random(), until_s)
        game, position = known
        say(f"{game.notation(position, move)}: {described(game, game.steps(position, move))}.")


def _print_rules(known: Standing | None) -> None:
    if known is None:
        say(UNKNOWN)
    else:
        print_rules(known.game)


def _example(known: Standing | None, typed: str) -> str:
    """Return a sentence with a legal move, the one that is most like what was typed."""
    legal = () if known is None else _legal(known)
    if not legal:
        return "`moves` lists what is legal."
    near = get_close_matches(typed, legal[:MOST_COMPARED], n=1, cutoff=0.3) or legal
    return f"Legal is, for example, {near[0]}; `moves` lists all."


def _legal(known: Standing) -> tuple[str, ...]:
    """Return the legal moves as people write them, sorted."""
    return tuple(sorted(known.game.notation(known.position, move) for move in known.game.moves(known.position)))


def _list_moves(known: Standing | None, prefix: str) -> None:
    if known is None:
        say(UNKNOWN)
        return
    found = [move for move in _legal(known) if move.startswith(prefix.strip())]
    if not found:
        say(f"No legal move begins with {prefix.strip()}. `moves` lists all.")
        return
    more = f" … and {len(found) - SHOWN_MOVES} more: `moves e` lists those that begin with e"
    say(" ".join(found[:SHOWN_MOVES]) + (more if len(found) > SHOWN_MOVES else ""))


def _show(variant: str, start: str, moves: tuple[str, ...], text: str, ended: str = "") -> None:
    """Print the board after some moves, with the last move marked; `ended` says how the match has ended."""
    try:
        game = registry.game(variant)
        line = follow(game, game.start(start), moves)
        steps = game.steps(line.positions[-2], moves[-1]) if moves else None
    except Refusal:
        say(text)
        return
    write_drawing("\n" + draw(game, line.final, steps, on_terminal(), ended) + "\n")


def _named(variant: str, start: str, moves: Sequence[str], ply: int) -> str:
    """Return a move of a match as people write it, with its number."""
    try:
        game = registry.game(variant)
        line = follow(game, game.start(start), moves[: ply + 1])
        return written(game, line.positions[ply], ply, line.moves[ply])
    except Refusal:
        return f"{ply + 1}. {moves[ply]}"
