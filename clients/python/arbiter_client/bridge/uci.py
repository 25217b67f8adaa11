"""Chess engines that speak the Universal Chess Interface (UCI), as Stefan Meyer-Kahlen published it in 2000.

What a bridge needs of it: `uci`, `setoption`, `isready`, `ucinewgame`, `position`, `go`, `info` with score and line,
`bestmove`, `go ponder`, `ponderhit`, `stop`, `quit`. An engine gets all moves of the match with each turn, so one that
was started again knows the line. One that has the option `UCI_Chess960` plays Chess960 too, in which castling is the
king's move onto its rook. Not there: analysis of several lines, registration.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from arbiter_client.bot import Choice, Move, OfferDraw, Resign
from arbiter_client.bridge import chess960
from arbiter_client.bridge.language import AnswerMalformed, Introduction, Language, Question, quoted
from arbiter_client.think_time import each_move_ms
from arbiter_client.values.match import Searched
from arbiter_client.values.play import LiveMatch

GAME: Final = "chess"
CHESS960: Final = "UCI_Chess960"
PONDER: Final = "Ponder"
WHITE: Final = 1  #: the seat that moves first
SCALE: Final = 400.0  #: centipawns for a score of 10 to 1, as in the Elo formula: a pawn is worth about 100 Elo
MOST: Final = 10_000  #: centipawns; no score counts for more
FEN_BLANKS: Final = 5  #: in a position
RANKS: Final = 8
UNTIMED_MS: Final = 1_000  #: of a move without a clock and without a limit of its own

_SCORE: Final = re.compile(r"\bscore (cp|mate) (-?\d{1,9})\b")
_FIRST: Final = re.compile(r"multipv 1(?= |$)")
_BOUND: Final = re.compile(r"\b(?:lowerbound|upperbound)\b")
_NUMBER: Final = re.compile(r"\b(depth|nodes|time) (\d{1,15})\b")
_OPTION: Final = re.compile(r"option name (.+?) type (\w+)(.*)")
_LIMIT: Final = re.compile(r"\b(min|max) (-?[0-9]+)")
_MOVE: Final = re.compile(r"[a-h][1-8][a-h][1-8]")


@dataclass(frozen=True, slots=True)
class Search:
    """How an engine searches beside its clock: at most this many nodes, plies or milliseconds; 0: as the clock says."""

    nodes: int = 0
    depth: int = 0
    movetime_ms: int = 0


@dataclass(frozen=True, slots=True)
class Concessions:
    """When an engine resigns, and when it offers and accepts a draw: by its own scores, in centipawns.

    It resigns once its score was at most -`resign_score` in `resign_moves` successive moves of its own. From move
    `draw_from` on, a draw is all right once its score was within `draw_score` of 0 in `draw_moves` successive moves of
    its own; a capture or a pawn's move begins a new count, with itself. A number of moves of 0: never.
    """

    resign_moves: int = 0
    resign_score: int = 0
    draw_moves: int = 0
    draw_score: int = 0
    draw_from: int = 0


class Uci(Language):
    """The language of one engine; it remembers the engine's last score and line until its move.

    agrees: whether a draw is all right for the engine, by its concessions.
    """

    prepares = True

    def __init__(
        self,
        options: Mapping[str, str] | None = None,
        search: Search | None = None,
        concessions: Concessions | None = None,
        ponder: bool = False,
    ) -> None:
        """Take the options to set, by their names without regard to case, and the limits of each search.

        ponder: whether the engine thinks in its opponent's time, about the answer that it expects to its move.
        """
        self._options = {**(options or {}), **({PONDER: "true"} if ponder else {})}
        self._ponders = ponder
        self._reply = ""  # the answer that it expects to its last move
        self._guess: tuple[str, ...] | None = None  # the moves of the position that it ponders about
        self._to_skip = 0  # moves to come from searches that were stopped
        self._search = search or Search()
        self._concessions = concessions or Concessions()
        self._info = ""  # its last line with a score
        self._knows_960 = False
        self._board = ""  # of its position, as in FEN
        self._late = False  # draws are all right by the number of the move
        self._lost = self._level = 0  # successive moves with such a score

    def of_program(self) -> Uci:
        """Return the language of one more engine."""
        return Uci(self._options, self._search, self._concessions, self._ponders)

    def greeting(self) -> list[str]:
        """Return the first lines; the engine answers `uciok` to the first and `readyok` to the last."""
        return ["uci", *(f"setoption name {name} value {value}" for name, value in self._options.items()), "isready"]

    def introduction(self, line: str, so_far: Introduction) -> tuple[Introduction, bool]:
        """Take `id`, `option`, `uciok` and `readyok`. Raises AnswerMalformed if the engine lacks an option."""
        words = line.split()
        if words[:2] == ["id", "name"]:
            return replace(so_far, version=_version(words[2:])), False
        if (offered := _OPTION.match(line)) is not None:
            name, kind, more = offered.groups()
            for value in (value for wanted, value in self._options.items() if wanted.casefold() == name.casefold()):
                if takes := _others(value, kind, more):
                    raise AnswerMalformed(line, f"{takes} in place of {quoted(value)}")
            return replace(so_far, options=(*so_far.options, name)), False
        if words == ["uciok"]:
            known = {name.casefold() for name in so_far.options}
            for name in self._options:
                if name.casefold() not in known:
                    has = ", ".join(so_far.options) or "none"
                    raise AnswerMalformed(line, f"an engine with the option {quoted(name)}; it has {has}")
            self._knows_960 = CHESS960.casefold() in known
        games = (GAME, chess960.GAME) if self._knows_960 else (GAME,)
        return replace(so_far, games=games), words == ["readyok"]

    def match(self, match: LiveMatch) -> list[str]:
        """Return the lines that announce a game: an engine may have played another one before."""
        self._lost = self._level = 0
        self.agrees = False
        says = "true" if _is_960(match) else "false"
        return [f"setoption name {CHESS960} value {says}"] * self._knows_960 + ["ucinewgame", "isready"]

    def prepared(self, line: str) -> bool:
        """Return whether a line answers `isready`; with it, all that was asked before is answered."""
        if line.split() != ["readyok"]:
            return False
        self._to_skip = 0
        return True

    def question(self, question: Question) -> list[str]:
        """Return the lines that ask for a move: all moves of the match, and the clocks or limits.

        An engine that ponders about this position only learns that it is its turn.
        """
        self._look(question.turn.position)
        moves, guess, self._guess = question.turn.match.moves, self._guess, None
        if guess == moves:
            return ["ponderhit"]
        self._to_skip += guess is not None
        self._forget()
        stop = ["stop"] if guess is not None else []
        return [*stop, self._position(question.turn.match, moves), f"go {self._go(question)}"]

    def ahead(self, question: Question, choice: Choice, spent_ms: int) -> list[str]:
        """Return the lines that let the engine ponder about the answer that it expects to its move."""
        move = choice.move if isinstance(choice, OfferDraw) else choice
        if not self._ponders or not self._reply or not isinstance(move, Move):
            return []
        turn, left, each = question.turn, question.left_ms, each_move_ms(question.turn.match.time_control)
        if left is not None and turn.clocks:
            grows = not turn.match.time_control.endswith(("d", "b", "/move")) and "x" not in turn.match.time_control
            left = max(1, left - spent_ms + each if grows else left - max(0, spent_ms - each))
            mine = turn.clocks[turn.seat - 1]
            mine = replace(mine, moves_left=max(0, mine.moves_left - 1))
            clocks = (mine, *turn.clocks[1:]) if turn.seat == WHITE else (*turn.clocks[:1], mine)
            turn = replace(turn, clocks=clocks)
        self._guess = (*turn.match.moves, move.text, self._reply)
        self._forget()
        go = self._go(replace(question, turn=turn, left_ms=left))
        return [self._position(turn.match, self._guess), f"go ponder {go}"]

    def _forget(self) -> None:
        """Forget what the engine has said of another position."""
        self._info = self._reply = ""

    def _position(self, match: LiveMatch, moves: tuple[str, ...]) -> str:
        """Return the line that puts up a position of a match."""
        fen = match.start_position or (chess960.start_fen(match.game) if _is_960(match) else "")
        start = f"fen {fen}" if fen else "startpos"
        return " ".join(("position", start, *(("moves", *moves) if moves else ())))

    def _go(self, question: Question) -> str:
        fixed = [
            f"{word} {number}"
            for word, number in (
                ("nodes", self._search.nodes),
                ("depth", self._search.depth),
                ("movetime", self._search.movetime_ms),
            )
            if number
        ]
        turn, left = question.turn, question.left_ms
        if fixed:
            return " ".join(fixed)
        if left is None or len(turn.clocks) != 2:
            return f"movetime {UNTIMED_MS}"
        controls = (turn.match.match_time_control or turn.match.time_control).split(":")
        mine, theirs = turn.clocks[turn.seat - 1], turn.clocks[2 - turn.seat]
        if (move_ms := question.move_ms) is not None:
            return f"movetime {move_ms}"
        white, black = (left, theirs.remaining_ms) if turn.seat == WHITE else (theirs.remaining_ms, left)
        more = f"winc {_increment_ms(controls[0])} binc {_increment_ms(controls[-1])}"
        clocks = f"wtime {max(1, white)} btime {max(1, black)} {more}"
        return f"{clocks} movestogo {mine.moves_left}" if mine.moves_left else clocks

    def choice(self, line: str) -> Choice | None:
        """Read `bestmove`, with the score and the line of the last `info`; every other line is a remark."""
        first = line.split(None, 2)[:2]
        if first[:1] == ["info"]:
            if first[1:] == ["string"]:
                return None
            bound = "bound" in line and _BOUND.search(line)  # most lines have none
            if _SCORE.search(line) and not bound and ("multipv" not in line or _FIRST.search(line)):
                self._info = line
            return None
        words = line.split()
        if words[:1] != ["bestmove"]:
            return None
        if self._to_skip or self._guess is not None:  # it was stopped; or it ends by itself, and is asked in its turn
            self._to_skip = max(0, self._to_skip - 1)
            self._guess = None
            return None
        match words[1:]:
            case ["(none)" | "0000" | "NULL", *_]:
                return Resign()
            case [move, *more]:
                self._reply = more[1] if len(more) > 1 and more[0] == "ponder" else ""
                evaluation, expected, searched, score = _read(self._info)
                expected = expected if expected[:1] == (move,) else ()
                return self._conceded(Move(move, evaluation, expected, searched), score)
        raise AnswerMalformed(line, "bestmove MOVE")

    def _look(self, position: str) -> None:
        """Read in a FEN whether the last move captured a piece or moved a pawn, and the number of the move."""
        self._board, *_, quiet, number = position.split() if position.count(" ") == FEN_BLANKS else ("", "0", "0")
        if quiet == "0":
            self._level = 0
        self._late = number.isdecimal() and int(number) >= self._concessions.draw_from

    def _conceded(self, move: Move, score: int | None) -> Choice:
        """Count a score in centipawns; return the move, with an offer of a draw if one is all right; or resign."""
        says = self._concessions
        self._lost = self._lost + 1 if score is not None and score <= -says.resign_score else 0
        if says.draw_moves and _is_loud(move.text, self._board):
            self._level = 0
        self._level = self._level + 1 if score is not None and abs(score) <= says.draw_score else 0
        self.agrees = bool(says.draw_moves) and self._late and self._level >= says.draw_moves
        if says.resign_moves and self._lost >= says.resign_moves:
            return Resign()
        return OfferDraw(move) if self.agrees else move

    def end(self, outcome: str, reason: str) -> list[str]:
        """Return the line that stops an engine that ponders; it is not told of the end of a game."""
        pondered, self._guess = self._guess is not None, None
        self._to_skip += pondered
        return ["stop"] * pondered

    def goodbye(self) -> list[str]:
        """Return the line that asks an engine to end."""
        return ["quit"]


def _is_960(match: LiveMatch) -> bool:
    return match.game.partition("(")[0] == chess960.GAME


def _others(value: str, kind: str, more: str) -> str:
    """Return what an option of a kind takes, if it does not take a value; '' if it does. more: its line's end."""
    if kind == "spin":
        limits = dict(_LIMIT.findall(more))
        try:
            fits = float(limits.get("min", value)) <= float(value) <= float(limits.get("max", value))
        except ValueError:
            fits = False
        return "" if fits else f"from {limits['min']} to {limits['max']}" if len(limits) > 1 else "a number"
    words = {"check": ["true", "false"], "button": ["true"], "combo": more.split(" var ")[1:]}.get(kind, [])
    return "" if not words or value.casefold() in map(str.casefold, words) else " or ".join(words)


def _increment_ms(control: str) -> int:
    """Return the increment of a time control; UCI has no words for a delay."""
    return 0 if control.endswith(("d", "b")) else each_move_ms(control)


def _is_loud(move: str, board: str) -> bool:
    """Return whether a move captures a piece or moves a pawn, by the board of a FEN and the squares of the move."""
    ranks = re.sub("[1-8]", lambda free: "." * int(free[0]), board).split("/")
    if _MOVE.match(move) is None or len(ranks) != RANKS:
        return False
    mover, taken = (ranks[RANKS - int(at[1])]["abcdefgh".index(at[0])] for at in (move[:2], move[2:4]))
    return mover in "Pp" or (taken != "." and taken.isupper() != mover.isupper())


def _version(name: list[str]) -> str:
    """Return the version in an engine's name, `15.1` of `Stockfish 15.1`: the last word with a digit, or '1'."""
    found = [word for word in name if any(map(str.isdigit, word))]
    return re.sub(r"[^\w.+-]", "", found[-1])[:40] or "1" if found else "1"


def _read(info: str) -> tuple[int | None, tuple[str, ...], Searched | None, int | None]:
    """Return what a line says of a search: evaluation in permille, the line of play, numbers, score in centipawns."""
    score = _SCORE.search(info)
    if score is None:
        return None, (), None, None
    mates, said = score[1] == "mate", int(score[2])
    value = min(max(said, -MOST), MOST)
    if mates:
        value = MOST if value > 0 else -MOST
    evaluation = (1_000 if value > 0 else 0) if mates else round(1_000 / (1 + math.pow(10, -value / SCALE)))
    about, _, line = info.partition(" pv ")
    numbers = {name: int(number) for name, number in _NUMBER.findall(about)}
    searched = Searched(
        None if mates else said, said if mates else None, *(numbers.get(name) for name in ("depth", "nodes", "time"))
    )
    return evaluation, tuple(line.split()), searched, value
