"""Go engines that speak the Go Text Protocol (GTP), version 2, as Gunnar Farnebäck's draft of 2002 describes it.

What a bridge needs of it: `name`, `version`, `boardsize`, `komi`, `clear_board`, `play`, `time_settings`, `time_left`,
`genmove`, `quit`. An engine gets all moves of the match with each turn, so one that was started again knows the line.
Not there: handicap stones, the final status of stones (the game's rules count all stones on the board as alive), and
scores of moves, which the protocol does not have.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from arbiter_client.bot import Choice, Move, Resign
from arbiter_client.bridge.language import AnswerMalformed, Introduction, NotUnderstood, Question
from arbiter_client.values.play import LiveMatch

GAME: Final = "go"
SIZE, KOMI = "9", "7.5"  #: of the game without parameters
COLOURS: Final = ("b", "w")  #: of the seats
NAME, VERSION, GENMOVE = 1, 2, 3  #: ids of requests; the requests that put up a position have none
COLUMNS: Final = "abcdefghjklmnopqrst"  #: there is no `i`
UNTIMED_S: Final = 10  #: of a move without a clock

_ANSWER: Final = re.compile(r"([=?])(\d*)\s*(.*)", re.DOTALL)
_PARAMETER: Final = re.compile(r"(\w+)=([^,)\s]+)")


class Gtp:
    """The language of Go engines; it remembers nothing."""

    agrees = False

    def of_program(self) -> Gtp:
        """Return itself."""
        return self

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
        """Return nothing: each turn puts up its position."""
        return []

    def question(self, question: Question) -> list[str]:
        """Return the lines that put up the match's moves, tell the time, and ask for a move."""
        turn = question.turn
        given = dict(_PARAMETER.findall(turn.game))
        colour = COLOURS[turn.seat - 1]
        first, stones = _start(turn.match.start_position)
        lines = [f"boardsize {given.get('size', SIZE)}", f"komi {given.get('komi', KOMI)}", "clear_board"]
        lines += [f"play {COLOURS[seat]} {vertex}" for seat, vertex in stones]
        lines += [f"play {COLOURS[(first + ply) % 2]} {move}" for ply, move in enumerate(turn.match.moves)]
        if question.left_ms is None:
            lines.append(f"time_settings 0 {UNTIMED_S} 1")
        else:
            left = question.left_ms // 1_000
            lines += [f"time_settings {left} 0 0", f"time_left {colour} {left} 0"]
        return [*lines, f"{GENMOVE} genmove {colour}"]

    def choice(self, line: str) -> Choice | None:
        """Read the answer to `genmove`. Other answers are remarks; an error among them is skipped with a warning."""
        answer = _ANSWER.fullmatch(line.strip())
        if answer is None:
            return None
        kind, number, text = answer.groups()
        if number != str(GENMOVE):
            if kind == "?":
                raise NotUnderstood(line, "an engine that takes this request")
            return None
        vertex = text.strip().lower()
        if kind == "?" or not vertex:
            raise AnswerMalformed(line, "a move, pass or resign")
        return Resign() if vertex == "resign" else Move(vertex)

    def end(self, outcome: str, reason: str) -> list[str]:
        """Return nothing: an engine is not told of the end of a game."""
        return []

    def goodbye(self) -> list[str]:
        """Return the line that asks an engine to end."""
        return ["quit"]


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
