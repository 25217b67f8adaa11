"""Texts that one person writes and another sees: one rule for all of them.

They are one line of printable characters, as `str.isprintable` defines them: no control characters (a terminal obeys
some), no line ends or tabs (they forge lines and columns), no marks that turn the direction of a line or have no
width, no lone surrogates. So it is checked where such a text comes in (`check_plain`), and made safe wherever a text is
shown, whoever wrote it and when (`plain`): in tables and lines on a terminal, in pages, in drawings and in logs. Moves
and positions have rules of their own: a move that is refused is recorded as it came, and made safe where it is shown.
"""

from __future__ import annotations

from arbiter.errors import argument_invalid


def is_plain(text: str, most: int, least: int = 0) -> bool:
    """Return whether a text has `least` to `most` characters, all printable."""
    return least <= len(text) <= most and text.isprintable()


def check_plain(text: str, where: str, most: int, least: int = 0) -> str:
    """Return a text of `least` to `most` characters, all printable. Raises Refusal ARGUMENT_INVALID for any other."""
    if not is_plain(text, most, least):
        raise argument_invalid(text, where, f"{least} to {most} printable characters")
    return text


def plain(text: str, keep: str = "") -> str:
    r"""Return a text with each character escaped that can't be printed and is not in `keep`: `\x1b`, `\u200f`."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in keep else ascii(char)[1:-1] for char in text)


def plain_json(text: str) -> str:
    r"""Return a JSON text in which each character that can't be printed, except line ends, is written as `\uXXXX`."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else _in_json(char) for char in text)


def _in_json(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
