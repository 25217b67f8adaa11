"""Which modules run compiled: exactly where this was asked for."""

from __future__ import annotations

from pathlib import Path

import arbiter
from arbiter.bench import bare, bare_path
from arbiter.runtime.build import is_compiled

SOURCES = Path(__file__).parents[2] / "arbiter"


def test_the_working_folder_is_interpreted_and_what_make_native_built_is_compiled() -> None:
    assert is_compiled() is not (Path(arbiter.__file__).parent == SOURCES)


def test_the_bare_path_exists_compiled_and_interpreted() -> None:
    """The cost of a move is compared with the interpreted bare path, in whatever form the server runs."""
    assert str(bare_path.__file__).endswith(".py") is not is_compiled()
    assert bare.interpreted().__file__ == str(Path(bare.__file__).with_name("bare_path.py"))
