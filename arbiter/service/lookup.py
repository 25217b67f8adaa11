"""Texts that can be keys in the store: not every database takes every text as a key."""

from __future__ import annotations

from typing import Final

LONGEST_KEY: Final = 100  #: characters of an id, a name or a label


def findable(text: str) -> bool:
    """Return whether an entry can be stored under a text. If not, it need not be looked up."""
    return len(text) <= LONGEST_KEY and "\0" not in text
