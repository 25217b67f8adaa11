"""The moves up to a turn: computed from the moves that a client knows and the last moves that the turn carries."""

from __future__ import annotations

from typing import Any, Final, NamedTuple


class Case(NamedTuple):
    """What a client knows, what a turn says, and the result: the moves, or None if the client has to ask the server.

    Moves are letters here; `recent` are the turn's last moves as pairs of ply and move.
    """

    name: str
    known: str
    ply: int
    recent: tuple[tuple[int, str], ...]
    expected: str | None


CASES: Final = (
    Case("the first turn of a match", "", 0, (), ""),
    Case("the opponent's first move", "", 1, ((0, "a"),), "a"),
    Case("the opponent's answer", "a", 2, ((1, "b"),), "ab"),
    Case("the bot's own move is told too", "a", 3, ((1, "b"), (2, "c")), "abc"),
    Case("the own move is known from its receipt", "ab", 3, ((1, "b"), (2, "c")), "abc"),
    Case("all of it is known", "abc", 3, ((1, "b"), (2, "c")), "abc"),
    Case("all of it is known, and nothing is told", "abc", 3, (), "abc"),
    Case("an opening", "", 4, ((0, "a"), (1, "b"), (2, "c"), (3, "d")), "abcd"),
    Case("the same seat moves again", "abc", 4, ((3, "d"),), "abcd"),
    Case("a turn of long ago: what is known goes further", "abcde", 3, ((1, "b"), (2, "c")), "abc"),
    Case("a turn of long ago, with its whole line", "abcde", 2, ((0, "a"), (1, "b")), "ab"),
    Case("a match taken up in its middle", "", 6, ((4, "e"), (5, "f")), None),
    Case("away for several plies", "ab", 6, ((4, "e"), (5, "f")), None),
    Case("one ply is missing", "abc", 5, ((4, "e"),), None),
    Case("nothing is told of the last move", "abc", 4, (), None),
    Case("a hole in what is told", "a", 5, ((1, "b"), (3, "d"), (4, "e")), None),
    Case("too little is told", "a", 4, ((1, "b"), (2, "c")), None),
    Case("what is told contradicts what is known", "abx", 4, ((2, "c"), (3, "d")), None),
    Case("it contradicts before the end of what is known", "axcd", 4, ((1, "b"), (2, "c"), (3, "d")), None),
    Case("a contradiction beyond the turn does not matter", "abx", 2, ((0, "a"), (1, "b")), "ab"),
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
