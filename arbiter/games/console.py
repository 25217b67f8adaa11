"""The console of a game: one line of answer for each line of command. Any program can query the rules through it.

    new             the initial position; answers its text
    set TEXT        a position from its text, without history; answers its text
    play MOVE…      one or more moves, all or none of them; answers the text of the position after the last
    moves           the legal moves, sorted bytewise, separated by spaces; an empty line if there are none
    outcome         `none`, or winner and reason: `1 territory`, `draw repetition`
    perft N         the number of sequences of N moves

Unknown commands, and commands that the rules refuse, are answered by `error: REASON …` and change nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from arbiter.errors import Refusal, argument_invalid
from arbiter.games.contract import AnyGame
from arbiter.games.line import follow
from arbiter.games.perft import perft
from arbiter.plain_text import plain

LONGEST_LINE = 65_536  #: maximum characters of a command; whole games of every kind fit
DEEPEST_PERFT = 12  #: maximum depth in moves; it protects the stack, and is far more than can finish on most boards

_DEPTH = re.compile(r"[0-9]{1,9}", re.ASCII)


class Console:
    """One game and its current position. Rules that depend on history use the positions since `new` or `set`."""

    def __init__(self, game: AnyGame) -> None:
        self._game = game
        self._position: Any = game.initial()

    def answer(self, line: str) -> str:
        """Return the answer to a command: always exactly one line, without its end."""
        line = line.removesuffix("\n").removesuffix("\r")
        try:
            if len(line) > LONGEST_LINE:
                raise argument_invalid(
                    f"a line of {len(line)} characters", "the command", f"at most {LONGEST_LINE} characters"
                )
            return self._execute(line)
        except Refusal as refusal:
            return f"error: {plain(str(refusal))}"

    def _execute(self, line: str) -> str:
        command, _, rest = line.partition(" ")
        if command == "set":
            self._position = self._game.parse(rest)
            return self._game.text(self._position)
        words = [word for word in rest.split(" ") if word]
        if command == "play":
            return self._play(words)
        if command == "perft":
            return self._perft(words)
        if command not in ("new", "moves", "outcome"):
            raise argument_invalid(command, "the command", "new, set TEXT, play MOVE…, moves, outcome or perft N")
        if words:
            raise argument_invalid(rest, f"the command {command}", "nothing after it")
        if command == "new":
            self._position = self._game.initial()
            return self._game.text(self._position)
        if command == "moves":
            return " ".join(sorted(self._game.moves(self._position)))
        return str(self._position.outcome or "none")

    def _play(self, moves: list[str]) -> str:
        if not moves:
            raise argument_invalid("no move", "the command play", "one or more moves")
        self._position = follow(self._game, self._position, moves).final
        return self._game.text(self._position)

    def _perft(self, words: list[str]) -> str:
        if len(words) != 1 or not _DEPTH.fullmatch(words[0]) or int(words[0]) > DEEPEST_PERFT:
            raise argument_invalid(" ".join(words), "the command perft", f"one number from 0 to {DEEPEST_PERFT}")
        return str(perft(self._game, self._position, int(words[0])))


def run(game: AnyGame, read: Iterable[str], write: Callable[[str], object]) -> None:
    """Answer every line of `read` with one call of `write`, including the line end; the caller flushes."""
    console = Console(game)
    for line in read:
        write(console.answer(line) + "\n")
