"""The moves up to a turn: computed from the moves that a client knows and the last moves that the turn carries."""

from __future__ import annotations

from typing import Any, Final, NamedTuple


class LineCase(NamedTuple):
    """What a client knows, what a turn says, and the result: the moves, or None if the client has to ask the server.

    Moves are letters here; `recent` are the turn's last moves as pairs of ply and move.
    """

    name: str
    known: str
    ply: int
    recent: tuple[tuple[int, str], ...]
    expected: str | None


CASES: Final = (
    LineCase("the first turn of a match", "", 0, (), ""),
    LineCase("the opponent's first move", "", 1, ((0, "a"),), "a"),
    LineCase("the opponent's answer", "a", 2, ((1, "b"),), "ab"),
    LineCase("the bot's own move is told too", "a", 3, ((1, "b"), (2, "c")), "abc"),
    LineCase("the own move is known from its receipt", "ab", 3, ((1, "b"), (2, "c")), "abc"),
    LineCase("all of it is known", "abc", 3, ((1, "b"), (2, "c")), "abc"),
    LineCase("all of it is known, and nothing is told", "abc", 3, (), "abc"),
    LineCase("an opening", "", 4, ((0, "a"), (1, "b"), (2, "c"), (3, "d")), "abcd"),
    LineCase("the same seat moves again", "abc", 4, ((3, "d"),), "abcd"),
    LineCase("a turn of long ago: what is known goes further", "abcde", 3, ((1, "b"), (2, "c")), "abc"),
    LineCase("a turn of long ago, with its whole line", "abcde", 2, ((0, "a"), (1, "b")), "ab"),
    LineCase("a match taken up in its middle", "", 6, ((4, "e"), (5, "f")), None),
    LineCase("away for several plies", "ab", 6, ((4, "e"), (5, "f")), None),
    LineCase("one ply is missing", "abc", 5, ((4, "e"),), None),
    LineCase("nothing is told of the last move", "abc", 4, (), None),
    LineCase("a hole in what is told", "a", 5, ((1, "b"), (3, "d"), (4, "e")), None),
    LineCase("too little is told", "a", 4, ((1, "b"), (2, "c")), None),
    LineCase("what is told contradicts what is known", "abx", 4, ((2, "c"), (3, "d")), None),
    LineCase("it contradicts before the end of what is known", "axcd", 4, ((1, "b"), (2, "c"), (3, "d")), None),
    LineCase("a contradiction beyond the turn does not matter", "abx", 2, ((0, "a"), (1, "b")), "ab"),
)


def vectors() -> list[dict[str, Any]]:
    """Return the content of lines.json."""
    return [
        {
            "name": case.name,
            "known": list(case.known),
            "ply": case.ply,
            "last_moves": [{"ply": ply, "seat": 1 + ply % 2, "move": move} for ply, move in case.recent],
            "gap": case.expected is None,
            "moves": list(case.expected or ""),
        }
        for case in CASES
    ]
