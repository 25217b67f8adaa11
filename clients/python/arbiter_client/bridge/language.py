"""The messages between the bridge and a program, independent of their language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from arbiter_client.bot import Choice
from arbiter_client.think_time import each_move_ms
from arbiter_client.values.match import Result, ResultKind
from arbiter_client.values.play import LiveMatch, Turn

VERSION: Final = 1
"""The version of both languages. A program ignores what a newer version has added."""


PART: Final = 40  #: of the main time or the bank that one move takes, where each move has time of its own
QUOTED: Final = 80  #: characters of a line that a message quotes


class NotUnderstood(Exception):
    """A program has written a line that is not of its language; the text quotes it, and says what was expected.

    `readable` is the choice in the part of the line that can be read, None if there is none.
    """

    def __init__(self, line: str, expected: str, readable: Choice | None = None) -> None:
        """Take the line, and a noun for what was expected."""
        super().__init__(f"{quoted(line)}: expected {expected}")
        self.readable = readable


class AnswerMalformed(NotUnderstood):
    """The line is meant as an answer, and no choice can be read in it: the program will write no other one."""


def quoted(line: str) -> str:
    """Return a line, or its beginning, in quotes and on one line, for a message."""
    return repr(line if len(line) <= QUOTED else line[:QUOTED] + "…")


@dataclass(frozen=True, slots=True)
class Introduction:
    """The answer of a program about itself. `moves`: turns list the legal moves if there are at most this many.

    `draws`: it accepts draw offers. `options`: those that an engine has.
    """

    name: str = ""
    version: str = "1"
    games: tuple[str, ...] = ()
    moves: int = 0
    draws: bool = False
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a program: a turn.

    moves: the legal moves; None if it did not ask for them, or if there are more. left_ms: the time that it may use;
    None without a limit. refused: reason and message, if its last answer was refused.
    """

    turn: Turn
    moves: tuple[str, ...] | None
    left_ms: int | None
    refused: tuple[str, str] | None

    @property
    def clocks_ms(self) -> tuple[int, int] | None:
        """The time left on the clocks, the program's own first; None without a time control."""
        if len(self.turn.clocks) != 2:
            return None
        mine, theirs = self.turn.seat - 1, 2 - self.turn.seat
        return self.turn.clocks[mine].remaining_ms, self.turn.clocks[theirs].remaining_ms

    @property
    def increments_ms(self) -> tuple[int, int] | None:
        """The time that is added for every move, as of `each_move_ms`, by the same order; None without clocks."""
        if self.clocks_ms is None:
            return None
        by_seat = self.turn.match.match_time_control.split(":")
        theirs = by_seat[2 - self.turn.seat] if len(by_seat) == 2 else by_seat[0]
        return each_move_ms(self.turn.match.time_control), each_move_ms(theirs)

    @property
    def move_ms(self) -> int | None:
        """The time for this move where each move has time of its own: that, and a part of the rest; None elsewhere."""
        turn, control = self.turn, self.turn.match.time_control
        if self.left_ms is None or not turn.clocks or not ("/move" in control or "x" in control):
            return None
        return max(1, min(self.left_ms, each_move_ms(control) + turn.clocks[turn.seat - 1].remaining_ms // PART))

    @property
    def moves_left(self) -> int:
        """The moves that the program has until its time control adds time; 0 if it never does after some moves."""
        turn = self.turn
        return turn.clocks[turn.seat - 1].moves_left if len(turn.clocks) == 2 else 0


class Language(Protocol):
    """A language: it writes messages as lines, and reads them. Lines have no line feed at their end.

    agrees: whether its program accepts a draw now, besides what its introduction says. prepares: whether its program
    answers the lines of `match` when it is prepared.
    """

    agrees: bool = False
    prepares: bool = False

    def of_program(self) -> Language:
        """Return the language for one more program: this one, unless it remembers what its program has written."""

    def greeting(self) -> list[str]:
        """Return the first lines for a program. It answers with its introduction."""

    def introduction(self, line: str, so_far: Introduction) -> tuple[Introduction, bool]:
        """Return the introduction after another line of it, and whether it is complete. Raises NotUnderstood."""

    def match(self, match: LiveMatch) -> list[str]:
        """Return the line that announces a match, which begins or continues."""

    def prepared(self, line: str) -> bool:
        """Return whether a line says that a program is prepared for its match."""
        return False

    def question(self, question: Question) -> list[str]:
        """Return the lines of a question."""

    def choice(self, line: str) -> Choice | None:
        """Return the choice in a line of a program; None for a line that is only a remark.

        Raises NotUnderstood for a line to skip, and AnswerMalformed.
        """

    def ahead(self, question: Question, choice: Choice, spent_ms: int) -> list[str]:
        """Return the lines that let a program think on after its choice, in its opponent's time; none if it does not.

        spent_ms: how long it has thought about its choice.
        """
        return []

    def end(self, outcome: str, reason: str) -> list[str]:
        """Return the line that announces the end of a match; `outcome` is as of `outcome_of`."""

    def goodbye(self) -> list[str]:
        """Return the line that asks a program to end."""


def outcome_of(result: Result, seat: int) -> str:
    """Return how a match ended for a seat: won, lost, drawn or void."""
    if result.winner:
        return "won" if result.winner == seat else "lost"
    return "drawn" if result.kind == ResultKind.DRAW else "void"
