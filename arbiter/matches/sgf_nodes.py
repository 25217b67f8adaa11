"""The text of the Smart Game Format: the games of a file, each as the nodes of its main line with their properties."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from arbiter.errors import shortened
from arbiter.matches.notation import NotationError

LONGEST_GAME: Final = 10_000_000  #: characters

_SIGN: Final = re.compile(r"\\.|[\[\]()]", re.DOTALL)
_BEGINS: Final = re.compile(r"\(\s*(?:;|$)")
_PART: Final = re.compile(r"\s*(?:([();])|([A-Za-z]+)|(\[(?:[^\]\\]|\\.)*\]))", re.DOTALL)
Node = tuple[int, dict[str, list[str]]]
"""The line of a node in the file, and its properties."""


class SgfGame(NamedTuple):
    """A game as text: its number in the file and its first line, from 1, and the nodes of its main line.

    fault: what is wrong with it as SGF, or None.
    """

    number: int
    line: int
    nodes: tuple[Node, ...]
    fault: NotationError | None = None

    @property
    def heading(self) -> str:
        """Who played: `Shusaku – Gennan, 1846`."""
        names = " – ".join(self.root(name, "?") for name in ("PB", "PW"))
        event = self.root("EV", "") or self.root("DT", "")
        return f"{names}, {event}" if event else names

    def root(self, name: str, other: str = "") -> str:
        """Return a property of the first node."""
        values = self.nodes[0][1].get(name) if self.nodes else None
        return values[0] if values else other


def read(lines: Iterable[str]) -> Iterator[SgfGame]:
    """Yield the games of a collection, without playing them. `play` plays one. What is between games is left out."""
    part: list[str] = []
    number, first, depth, inside, length = 0, 1, 0, False, 0
    for at, line in enumerate(lines, 1):
        kept = 0  # where the current game begins in this line
        brackets, inside = _brackets(line, inside and depth > 0)
        for place, sign in brackets:
            if sign == "(" and depth == 0:
                if not _BEGINS.match(line, place):
                    continue
                first, kept, part, length = at, place, [], 0
            depth = max(0, depth + (1 if sign == "(" else -1))
            if sign == ")" and depth == 0 and (part or line[kept] == "("):
                number += 1
                yield _parsed(number, first, "".join([*part, line[kept : place + 1]]))
                part, kept = [], place + 1
        if depth:
            part.append(line[kept:])
            length += len(line)
            if length > LONGEST_GAME:
                raise NotationError(at, f"a game of more than {LONGEST_GAME:,} characters is no SGF")
    if depth:
        yield SgfGame(number + 1, first, (), NotationError(first, "this game is never closed"))


def _brackets(line: str, inside: bool) -> tuple[list[tuple[int, str]], bool]:
    """Return the places of ( and ) outside of values, and whether a value goes on in the next line."""
    found: list[tuple[int, str]] = []
    for each in _SIGN.finditer(line):
        sign = each[0]
        if len(sign) == 2:  # an escaped character
            continue
        if inside:
            inside = sign != "]"
        elif sign == "[":
            inside = True
        elif sign in "()":
            found.append((each.start(), sign))
    return found, inside


def _parsed(number: int, first: int, text: str) -> SgfGame:
    nodes: list[Node] = []
    line, at, name = first, 0, ""
    depth, left = 0, False  # left: the main line has ended
    while at < len(text):
        found = _PART.match(text, at)
        if found is None:
            if text[at:].strip():
                line += text.count("\n", at, at + len(text[at:]) - len(text[at:].lstrip()))
                fault = NotationError(line, f"{shortened(text[at:].strip(), 40)!r} is out of place")
                return SgfGame(number, first, tuple(nodes), fault)
            break
        line += found[0].count("\n")
        at, (sign, word, value) = found.end(), found.groups()
        if sign == "(":
            depth += 1
        elif sign == ")":
            depth, left = depth - 1, True
        elif left:
            continue
        elif sign == ";":
            nodes.append((line, {}))
        elif word:
            name = "".join(each for each in word if each.isupper())
            if not nodes:
                return SgfGame(number, first, (), NotationError(line, f"{word!r} is in no node"))
        elif not name:
            return SgfGame(number, first, tuple(nodes), NotationError(line, f"{shortened(value, 40)!r} has no name"))
        else:
            nodes[-1][1].setdefault(name, []).append(re.sub(r"\\(.)", r"\1", value[1:-1], flags=re.DOTALL))
    return SgfGame(number, first, tuple(nodes))
