"""Texts that one person writes and another sees: one rule for all of them.

They are one line of printable characters, as `str.isprintable` defines them: no control characters (a terminal obeys
some), no line ends or tabs (they forge lines and columns), no marks that turn the direction of a line or have no
width, no lone surrogates. Nor have they the characters that Python prints and nobody sees, the others of Unicode's
Default_Ignorable_Code_Point (DerivedCoreProperties.txt): sentences can be hidden in them from people, and language
models read them. One variation selector after a character that is not ASCII stays, since it gives an emoji its colours.

So it is checked where such a text comes in (`check_plain`), and made safe wherever a text is shown, whoever wrote it
and when (`plain`): in tables and lines on a terminal, in pages, in drawings and in logs. Moves and positions have rules
of their own: a move that is refused is recorded as it came, and made safe where it is shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from arbiter.errors import argument_invalid

PLAYER_NAME: Final = re.compile(r"(?=.{1,40}\Z)[a-z0-9]+(?:[_.-][a-z0-9]+)*", re.ASCII)
PLAYER_NAME_RULE: Final = "1 to 40 of a-z and 0-9; between two of these may stand one '-', '_' or '.'"

_UNSEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0d\uffa0\U000e0100-\U000e01ef]"
)
_STRAY: Final = re.compile("(?<![^\0-\x7f])[\ufe0e\ufe0f]|(?<=[\ufe0e\ufe0f])[\ufe0e\ufe0f]")  # after no picture


def is_plain(text: str, most: int, least: int = 0) -> bool:
    """Return whether a text has `least` to `most` characters, all printable."""
    return least <= len(text) <= most and _is_seen(text)


def check_plain(text: str, where: str, most: int, least: int = 0) -> str:
    """Return a text of `least` to `most` characters, all printable. Raises Refusal ARGUMENT_INVALID for any other."""
    if not is_plain(text, most, least):
        raise argument_invalid(text, where, f"{least} to {most} printable characters")
    return text


def plain(text: str, keep: str = "") -> str:
    r"""Return a text with each character escaped that nobody sees and that is not in `keep`: `\x1b`, `\u200f`."""
    return text if _is_seen(text) else _escaped(text, keep, lambda char: ascii(char)[1:-1])


def plain_json(text: str) -> str:
    r"""Return a JSON text in which each character that nobody sees, except line ends, is written as `\uXXXX`."""
    return text if _is_seen(text) else _escaped(text, "\n", _in_json)


def _is_seen(text: str) -> bool:
    return text.isprintable() and (text.isascii() or not (_UNSEEN.search(text) or _STRAY.search(text)))


def _escaped(text: str, keep: str, escape: Callable[[str], str]) -> str:
    shown = "".join(char if char.isprintable() or char in keep else escape(char) for char in text)
    for hidden in (_UNSEEN, _STRAY):
        shown = hidden.sub(lambda found: escape(found[0]), shown)
    return shown


def _in_json(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
