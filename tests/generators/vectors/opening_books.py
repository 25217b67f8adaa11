"""Opening books: texts, the moves that they have for a line of play, and texts that are none."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

PODS: Final = (
    "# a remark\n\npods a1 b2 c3 d4\npods a1 b2 e5\n\tpods  a1 f6  \n"
    "pods(size=5) a1 a2\npods a1 b2 c3 g7\nhop-it a2xc3\n"
)


class BookCase(NamedTuple):
    """A book, a line of play, and the moves that the book has for it; None for a text that is no book."""

    name: str
    text: str
    game: str
    played: tuple[str, ...]
    moves: tuple[str, ...] | None
    line: int = 0  #: the first one that is wrong


CASES: Final = (
    BookCase("the first move", PODS, "pods", (), ("a1",)),
    BookCase("two lines have a move of their own", PODS, "pods", ("a1",), ("b2", "f6")),
    BookCase("each move once, in the order of the book", PODS, "pods", ("a1", "b2"), ("c3", "e5")),
    BookCase("a line that goes on in two ways", PODS, "pods", ("a1", "b2", "c3"), ("d4", "g7")),
    BookCase("the end of a line", PODS, "pods", ("a1", "b2", "c3", "d4"), ()),
    BookCase("a move that is not in the book", PODS, "pods", ("b1",), ()),
    BookCase("a line that was left", PODS, "pods", ("a1", "b2", "a3"), ()),
    BookCase("another variant", PODS, "pods(size=5)", ("a1",), ("a2",)),
    BookCase("another game", PODS, "hop-it", (), ("a2xc3",)),
    BookCase("a game that is not in the book", PODS, "elevation", (), ()),
    BookCase("an empty book", "", "pods", (), ()),
    BookCase("a byte-order mark, and CRLF", "\ufeffpods a1\r\npods a2\r\n", "pods", (), ("a1", "a2")),
    BookCase("CR alone", "pods a1\rpods a2", "pods", (), ("a1", "a2")),
    BookCase("tabs between the words", "pods\ta1\tb2", "pods", ("a1",), ("b2",)),
    BookCase("a game without a move", "pods a1\n\npods\n", "pods", (), None, 3),
)


def vectors() -> list[dict[str, Any]]:
    """Return the content of opening_books.json."""
    return [case._asdict() for case in CASES]
