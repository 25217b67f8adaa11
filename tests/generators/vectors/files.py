"""The files of the shared vectors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from arbiter.games import registry
from arbiter.plain_text import plain_json
from tests.generators.vectors import (
    board_arrays,
    credentials,
    filters,
    items,
    lines,
    opening_books,
    plain_texts,
    positions,
    refusals,
    think_times,
    time_controls,
    transcripts,
)
from tests.generators.vectors.layout import laid_out

KEPT = "README.md"  #: written by hand


def generated(golden: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the path below clients/vectors and the content of every file, generated with the goldens of a folder."""
    yield "refusals.json", laid_out(refusals.vectors()).encode()
    yield "items.json", laid_out(items.vectors()).encode()
    yield "lines.json", laid_out(lines.vectors()).encode()
    yield "time_controls.json", laid_out(time_controls.vectors()).encode()
    yield "time_odds.json", laid_out(time_controls.odds_vectors()).encode()
    yield "think_times.json", laid_out(think_times.vectors()).encode()
    yield "opening_books.json", laid_out(opening_books.vectors()).encode()
    yield "filters.json", laid_out(filters.vectors()).encode()
    yield "board_arrays.json", laid_out(board_arrays.vectors()).encode()
    yield "plain_texts.json", plain_json(laid_out(plain_texts.vectors())).encode()
    yield "credentials.json", laid_out(credentials.vectors()).encode()
    for game in registry.SEED:
        yield f"positions/{game}.json", laid_out(positions.vectors(game, golden)).encode()
    for name, data in transcripts.vectors():
        yield f"transcripts/{name}", data


def stale(folder: Path, names: set[str]) -> list[Path]:
    """Return the files of a folder that are no longer generated."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return [path for path in files if path.relative_to(folder).as_posix() not in {KEPT, *names}]


def regenerate(folder: Path, golden: Path) -> list[Path]:
    """Write the files that differ and remove those that are no longer generated; return the changed ones."""
    made = dict(generated(golden))
    changed = stale(folder, set(made))
    for path in changed:
        path.unlink()
    for name, data in made.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            changed.append(path)
    return changed
