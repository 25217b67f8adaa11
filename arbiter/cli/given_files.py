"""Files that a command is given: texts that it reads, and drawings that it writes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

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


SVG: Final = ".svg"
TEXT: Final = ("", ".txt")


def written_as_svg(file: Path, svg: bool) -> bool:
    """Return whether a drawing is written to a file as SVG, otherwise as text.

    svg: whether the person has said so. Raises Failure for a name that promises something else, such as a PNG.
    """
    suffix = file.suffix.lower()
    if suffix == SVG or (svg and not suffix):
        return True
    if suffix in TEXT and not svg:
        return False
    raise Failure(
        f"can't write {file}: drawings are SVG (.svg) or text (.txt); a program such as rsvg-convert makes other "
        "pictures from SVG"
    )
