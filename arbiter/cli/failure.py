"""How a command fails: with one clear line and an exit code."""

from __future__ import annotations

from typing import Final

FAILED: Final = 1  #: the command could not be executed
USAGE: Final = 2  #: the command, its options or its configuration are wrong
INTERRUPTED: Final = 130  #: Ctrl-C


class Failure(Exception):
    """A command cannot be executed; the text is a sentence for the terminal that says why and what to do."""
