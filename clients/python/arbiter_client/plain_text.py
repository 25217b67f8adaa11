"""Texts that other people wrote, as they are safe to show: names, notes, sentences of refusals."""

from __future__ import annotations


def plain_text(text: str) -> str:
    r"""Return a text with each character escaped that can't be printed: `\n`, `\x1b`, `\u200f`.

    A terminal obeys some of them, and others forge lines or turn their direction.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def plain_lines(text: str) -> str:
    """Do so line by line, for a text of several lines such as a traceback."""
    return "\n".join(map(plain_text, text.split("\n")))
