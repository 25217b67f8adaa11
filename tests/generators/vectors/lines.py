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
    LineCase("the turn brings the bot's own move too", "a", 3, ((1, "b"), (2, "c")), "abc"),
    LineCase("the client knows the bot's own move from its receipt", "ab", 3, ((1, "b"), (2, "c")), "abc"),
    LineCase("the client knows every move that the turn brings", "abc", 3, ((1, "b"), (2, "c")), "abc"),
    LineCase("the client knows every move, and the turn brings none", "abc", 3, (), "abc"),
    LineCase("an opening", "", 4, ((0, "a"), (1, "b"), (2, "c"), (3, "d")), "abcd"),
    LineCase("the same seat moves again", "abc", 4, ((3, "d"),), "abcd"),
    LineCase("an old turn: the client knows later moves", "abcde", 3, ((1, "b"), (2, "c")), "abc"),
    LineCase("an old turn, with all its moves", "abcde", 2, ((0, "a"), (1, "b")), "ab"),
    LineCase("a match that the client joins in its middle", "", 6, ((4, "e"), (5, "f")), None),
    LineCase("away for several plies", "ab", 6, ((4, "e"), (5, "f")), None),
    LineCase("one ply is missing", "abc", 5, ((4, "e"),), None),
    LineCase("the last move is missing", "abc", 4, (), None),
    LineCase("a ply is missing among the moves that the turn brings", "a", 5, ((1, "b"), (3, "d"), (4, "e")), None),
    LineCase("the turn brings too few moves", "a", 4, ((1, "b"), (2, "c")), None),
    LineCase("the turn contradicts a move that the client knows", "abx", 4, ((2, "c"), (3, "d")), None),
    LineCase("the turn contradicts a move before the last known one", "axcd", 4, ((1, "b"), (2, "c"), (3, "d")), None),
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
