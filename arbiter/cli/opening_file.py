"""Files of opening lines: each line has the variant and then its moves; `#` begins a comment."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from arbiter.cli.failure import Failure
from arbiter.errors import parameter_invalid
from arbiter.text_files import text_of

FIELD: Final = "file"
SECTION: Final = "openings"


def with_lines(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Replace `openings.file` in the values of a specification by the lines of the file that it names.

    The path is relative to the specification's folder. Raises Refusal PARAMETER_INVALID if the specification also has
    lines, and Failure for a file that cannot be read or is malformed.
    """
    openings = values.get(SECTION)
    if not isinstance(openings, dict) or FIELD not in openings:
        return values
    others = {name: value for name, value in openings.items() if name != FIELD}
    where, name = f"{SECTION}.{FIELD}", openings[FIELD]
    if not isinstance(name, str) or not name or "lines" in others:
        allowed = "the path of a file, and no lines beside it"
        raise parameter_invalid(name, where, allowed, of="a tournament")
    return {**values, SECTION: {**others, "lines": read_lines(folder / name)}}


def read_lines(path: Path) -> dict[str, list[list[str]]]:
    """Return the lines of a file, by variant, each a list of moves. Raises Failure."""
    try:
        text = text_of(path.read_bytes())
    except (OSError, ValueError) as error:
        raise Failure(f"can't read the openings in {path}: {getattr(error, 'strerror', None) or error}") from None
    found: dict[str, list[list[str]]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        variant, *moves = line.partition("#")[0].split() or [""]
        if not variant:
            continue
        if not moves:
            raise Failure(
                f"{path}, line {number}: expected a variant and its moves, such as `pods a1 b2`, not {line!r}"
            )
        found.setdefault(variant, []).append(moves)
    if not found:
        raise Failure(f"{path} holds no openings: write a variant and its moves in each line, such as `pods a1 b2`")
    return found
