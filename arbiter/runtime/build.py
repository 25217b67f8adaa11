"""How this installation was built."""

from __future__ import annotations

from importlib.machinery import EXTENSION_SUFFIXES

from arbiter.matches import evolution


def is_compiled() -> bool:
    """Return whether the rules and the match logic are compiled (see `hatch_build.py`)."""
    return str(evolution.__file__).endswith(tuple(EXTENSION_SUFFIXES))
