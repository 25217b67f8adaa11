"""Which modules run compiled: exactly where this was asked for."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import arbiter
from arbiter.bench import bare, bare_path
from arbiter.runtime.build import is_compiled

COMMIT_THREAD = "arbiter.store._commit_thread"
SOURCES = Path(__file__).parents[2] / "arbiter"


def test_the_working_folder_is_interpreted_and_what_make_native_built_is_compiled() -> None:
    assert is_compiled() is not (Path(arbiter.__file__).parent == SOURCES)


def test_the_bare_path_exists_compiled_and_interpreted() -> None:
    """The cost of a move is compared with the interpreted bare path, in whatever form the server runs."""
    assert str(bare_path.__file__).endswith(".py") is not is_compiled()
    assert bare.interpreted().__file__ == str(Path(bare.__file__).with_name("bare_path.py"))


def test_the_thread_that_commits_without_the_lock_is_there_where_modules_are_compiled() -> None:
    """Without it everything works, only slower: nobody would see that it is missing."""
    assert (find_spec(COMMIT_THREAD) is not None) is (is_compiled() and sys.platform == "linux")
    if is_compiled() and sys.platform == "linux":
        assert hasattr(import_module(COMMIT_THREAD), "CommitThread")
