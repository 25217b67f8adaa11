"""A file of text that a command reads."""

from __future__ import annotations

from pathlib import Path

from arbiter.cli.failure import Failure
from arbiter.text_files import text_of


def read_text(path: Path) -> str:
    """Return the text of a file, with a line feed at the end of each line. Raises Failure, which names the file."""
    try:
        return text_of(path.read_bytes())
    except OSError as error:
        raise Failure(f"can't read {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise Failure(f"{path}: {error}") from None
