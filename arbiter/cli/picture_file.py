"""Files that drawings are written to: what their names say about their content."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from arbiter.cli.failure import Failure

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
