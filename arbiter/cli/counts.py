"""Numbers with their nouns, as commands print them."""

from __future__ import annotations


def counted(number: int, one: str, several: str = "") -> str:
    """Return a number with its noun: `1 game`, `1,204 games`. several: the plural where it does not just add an s."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"
