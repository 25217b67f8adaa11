"""Go engines that speak the Go Text Protocol (GTP), version 2, as Gunnar Farnebäck's draft of 2002 describes it.

What a bridge needs of it: `name`, `version`, `boardsize`, `komi`, `clear_board`, `play`, `time_settings`, `time_left`,
`genmove`, `final_status_list`, `quit`. An engine gets all moves of the match with each turn, so one that was started
again knows the line. Not there: handicap stones, and scores of moves, which the protocol does not have.

In `go(scoring=agreed)` an engine is asked after two passes which stones are dead. It marks what its opponent has left
out, and agrees if then the same stones are marked; if others are, or the opponent took its marks back, it disputes. An
engine that does not know `final_status_list` agrees only to no marks.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Final

from arbiter_client.bot import Choice, Move, Resign
from arbiter_client.bridge.language import AnswerMalformed, Introduction, Language, NotUnderstood, Question
from arbiter_client.values.play import LiveMatch

GAME: Final = "go"
SIZE, KOMI = "9", "7.5"  #: of the game without parameters
COLOURS: Final = ("b", "w")  #: of the seats
#: ids of requests; the requests that put up a position have none
NAME, VERSION, GENMOVE, DEAD, BOARD = 1, 2, 3, 4, 5
COLUMNS: Final = "abcdefghjklmnopqrst"  #: there is no `i`
UNTIMED_S: Final = 10  #: of a move without a clock
MARKED: Final = "Xx"  #: stones that are marked as dead, in a position

_ANSWER: Final = re.compile(r"([=?])(\d*)\s*(.*)", re.DOTALL)
_PARAMETER: Final = re.compile(r"(\w+)=([^,)\s]+)")


class Gtp(Language):
    """The language of Go engines. The language of one engine remembers what was asked until it is answered."""

    prepares = True

    def __init__(self) -> None:
        self._asked: Question | None = None
        self._dead: list[str] | None = None  # the stones of the answer that the engine is giving

    def of_program(self) -> Gtp:
        """Return the language of one more engine."""
        return Gtp()

    def greeting(self) -> list[str]:
        """Return the first lines, which the engine answers with its name and version."""
        return [f"{NAME} name", f"{VERSION} version"]

    def introduction(self, line: str, so_far: Introduction) -> tuple[Introduction, bool]:
        """Take the answers to `name` and `version`."""
        answer = _ANSWER.fullmatch(line.strip())
        if answer is None or answer[2] != str(VERSION):
            return so_far, False
        version = re.sub(r"[^\w.+-]", "", answer[3])[:40] if answer[1] == "=" else ""
        return replace(so_far, version=version or "1", games=(GAME,)), True

    def match(self, match: LiveMatch) -> list[str]:
        """Return the lines that put up the empty board; each turn puts up its position."""
        *first, last = _board(match)
        return [*first, f"{BOARD} {last}"]

    def prepared(self, line: str) -> bool:
        """Return whether a line answers the last one of `match`."""
        answer = _ANSWER.fullmatch(line.strip())
        return answer is not None and answer[2] == str(BOARD)

    def question(self, question: Question) -> list[str]:
        """Return the lines that put up the match's moves, tell the time, and ask for a move, or for the dead stones."""
        self._asked, self._dead = question, None
        turn = question.turn
        colour = COLOURS[turn.seat - 1]
        lines = [*_board(turn.match), *_plays(turn.match)]
        if _agreeing(turn.position):
            return [*lines, f"{DEAD} final_status_list dead"]
        if question.left_ms is None:
            lines.append(f"time_settings 0 {UNTIMED_S} 1")
        else:
            left = (question.move_ms or question.left_ms) // 1_000
            stones = question.moves_left or int(question.move_ms is not None)
            settings = f"0 {left} {stones}" if stones else f"{left} 0 0"
            lines += [f"time_settings {settings}", f"time_left {colour} {left} {stones}"]
        return [*lines, f"{GENMOVE} genmove {colour}"]

    def choice(self, line: str) -> Choice | None:
        """Read the answer to `genmove`, or to `final_status_list`, which ends with an empty line.

        Other answers are remarks; an error among them is skipped with a warning.
        """
        answer = _ANSWER.fullmatch(line.strip())
        if answer is None:
            return self._more_dead(line.split())
        kind, number, text = answer.groups()
        if number == str(DEAD):
            self._dead = text.split() if kind == "=" else []
            return None
        if number != str(GENMOVE):
            if kind == "?":
                raise NotUnderstood(line, "an engine that takes this request")
            return None
        vertex = text.strip().lower()
        if kind == "?" or not vertex:
            raise AnswerMalformed(line, "a move, pass or resign")
        return Resign() if vertex == "resign" else Move(vertex)

    def _more_dead(self, vertices: list[str]) -> Choice | None:
        """Read a further line of the dead stones; an empty one is their end."""
        if self._asked is None or self._dead is None:
            return None
        self._dead += vertices
        if vertices:
            return None
        dead, self._dead = {vertex.lower() for vertex in self._dead}, None
        return Move(_answer(self._asked, dead))

    def end(self, outcome: str, reason: str) -> list[str]:
        """Return nothing: an engine is not told of the end of a game."""
        return []

    def goodbye(self) -> list[str]:
        """Return the line that asks an engine to end."""
        return ["quit"]


def _board(match: LiveMatch) -> list[str]:
    """Return the lines that put up the empty board of a match."""
    return [f"boardsize {_parameter(match, 'size', SIZE)}", f"komi {_parameter(match, 'komi', KOMI)}", "clear_board"]


def _parameter(match: LiveMatch, name: str, otherwise: str) -> str:
    given: dict[str, str] = dict(_PARAMETER.findall(match.game))
    return given.get(name, otherwise)


def _plays(match: LiveMatch) -> list[str]:
    """Return the lines that put up the moves of a match.

    Up to the last move that took its own stones off the board, the stones that were left are put up in place of the
    moves: most engines refuse such a move.
    """
    size = int(_parameter(match, "size", SIZE))
    first, stones = _start(match.start_position)
    board = {vertex: seat for seat, vertex in stones}
    moves = [move for move in match.moves if not _answers(move)]
    done = 0
    for number, move in enumerate(moves):
        if move != "pass" and _takes_itself(board, move, (first + number) % 2, size):
            stones, done = [(seat, vertex) for vertex, seat in board.items()], number + 1
    played = [((first + number) % 2, move) for number, move in enumerate(moves) if number >= done]
    return [f"play {COLOURS[seat]} {vertex}" for seat, vertex in (*stones, *played)]


def _takes_itself(board: dict[str, int], vertex: str, seat: int, size: int) -> bool:
    """Place a stone on a board of stones by vertex, take what it takes, and return whether it took its own chain."""
    board[vertex] = seat
    for near in _beside(vertex, size):
        if board.get(near, seat) != seat:
            _take(board, near, size)
    return _take(board, vertex, size)


def _take(board: dict[str, int], vertex: str, size: int) -> bool:
    """Take a chain off a board if it has no liberty; return whether it was taken."""
    chain, left = {vertex}, [vertex]
    while left:
        for near in _beside(left.pop(), size):
            if near not in board:
                return False
            if board[near] == board[vertex] and near not in chain:
                chain.add(near)
                left.append(near)
    for each in chain:
        del board[each]
    return True


@cache
def _beside(vertex: str, size: int) -> tuple[str, ...]:
    """Return the vertices beside one."""
    column, rank = COLUMNS.index(vertex[0]), int(vertex[1:])
    near = ((column - 1, rank), (column + 1, rank), (column, rank - 1), (column, rank + 1))
    return tuple(f"{COLUMNS[file]}{row}" for file, row in near if 0 <= file < size and 1 <= row <= size)


def _answers(move: str) -> bool:
    """Return whether a move is part of an agreement on dead stones."""
    return move in ("agree", "dispute") or "-" in move


def _agreeing(position: str) -> bool:
    """Return whether the players are to agree: both have passed, and the game goes on."""
    return position.count(" ") > 1 and int(position.split()[2]) >= 2


def _answer(question: Question, dead: set[str]) -> str:
    """Return the move by which an engine answers, for which these stones are dead."""
    board, *_, marks = question.turn.position.split()
    chains = _chains(board)
    marked = {name for name, (sign, _) in chains.items() if sign in MARKED}
    wanted = {name for name, (_, stones) in chains.items() if stones & dead}
    answered = [move for move in question.turn.match.moves if _answers(move)].count("agree")
    if wanted - marked and answered < 2 and int(marks) < len(board.replace("/", "")):
        return f"dead-{min(wanted - marked)}"
    return "agree" if wanted == marked else "dispute"


def _chains(board: str) -> dict[str, tuple[str, set[str]]]:
    """Return the chains of a board by their names, each with the sign of its stones, and these."""
    ranks = board.split("/")[::-1]
    signs = {(file, rank): sign for rank, row in enumerate(ranks) for file, sign in enumerate(row) if sign != "."}
    found: dict[str, tuple[str, set[str]]] = {}
    while signs:
        first = min(signs)
        sign, stones, left = signs[first], set[str](), [first]
        while left:
            file, rank = left.pop()
            if signs.get((file, rank)) == sign:
                del signs[file, rank]
                stones.add(f"{COLUMNS[file]}{rank + 1}")
                left += [(file + 1, rank), (file - 1, rank), (file, rank + 1), (file, rank - 1)]
        found[f"{COLUMNS[first[0]]}{first[1] + 1}"] = sign, stones
    return found


def _start(position: str) -> tuple[int, list[tuple[int, str]]]:
    """Return who begins from a position, 0 for Black, and its stones, each with its colour.

    The position is ranks from the top down, `S` for Black and `s` for White, then the seat to move. Its stones can be
    played one by one in any order: each group has as many liberties meanwhile as in the end, or more.
    """
    if not position:
        return 0, []
    board, turn, *_ = position.split()
    ranks = board.split("/")
    stones = [
        ("Ss".index(stone), f"{COLUMNS[column]}{len(ranks) - row}")
        for row, rank in enumerate(ranks)
        for column, stone in enumerate(rank)
        if stone in "Ss"
    ]
    return int(turn) - 1, stones
