"""The numbers that records may have. Every record that is read is looked through: the module is compiled."""

from __future__ import annotations

from typing import Any, Final

LARGEST_INTEGER: Final = 2**53 - 1
"""The largest integer that every JSON reader represents exactly (RFC 7493, section 2.2)."""


def are_integers(value: Any) -> bool:
    """Return whether every number in a decoded JSON value is an integer from −(2^53 − 1) to 2^53 − 1."""
    waiting: list[Any] = [[value]]
    while waiting:
        container = waiting.pop()
        for item in container.values() if isinstance(container, dict) else container:
            if isinstance(item, str) or item is None:
                continue
            if isinstance(item, int):
                if not -LARGEST_INTEGER <= item <= LARGEST_INTEGER:
                    return False
            elif isinstance(item, float):
                return False
            else:
                waiting.append(item)
    return True
