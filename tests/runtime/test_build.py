"""What runs is compiled where it was asked for, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import arbiter
from arbiter.runtime.build import is_compiled

SOURCES = Path(__file__).parents[2] / "arbiter"


def test_the_working_folder_is_interpreted_and_what_make_native_built_is_compiled() -> None:
    assert is_compiled() is not (Path(arbiter.__file__).parent == SOURCES)
