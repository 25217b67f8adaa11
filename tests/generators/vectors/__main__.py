"""Write the shared vectors: `python -m tests.generators.vectors clients/vectors [tests/golden]`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.generators.vectors.files import regenerate


def main(arguments: list[str]) -> int:
    """Write the vectors into the directory given as first argument, from the goldens in the second."""
    folders = [Path(argument) for argument in arguments]
    if len(folders) == 1:
        folders.append(Path("tests/golden"))
    if len(folders) != 2 or not all(folder.is_dir() for folder in folders):
        sys.stderr.write(
            "usage: python -m tests.generators.vectors DIRECTORY [GOLDEN] (clients/vectors tests/golden)\n"
        )
        return 2
    changed = regenerate(*folders)
    sys.stdout.write("".join(f"wrote {path}\n" for path in changed) or "every vector is up to date\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
