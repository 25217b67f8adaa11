"""The C++ client, by its own tests: format, no warnings, and its tests on scripted servers and a real arbiter."""

from __future__ import annotations

import re

import pytest

from tests.clients.table import check
from tests.clients.toolchains import CLIENTS, require, run

FOLDER = CLIENTS / "cpp"
SEEKS = frozenset({"seeks.matches", "seeks.unknown-game", "seeks.malformed-time"})
"""What the C++ client fails until it seeks with regard to --matches, and ends where its terms are refused."""


@pytest.mark.timeout(3_600)
def test_the_cpp_client() -> None:
    require("g++", "cmake", "ninja", "protoc", "grpc_cpp_plugin", "openssl", why="the C++ client is built and tested")
    said = run("cpp", ["cmake", "-P", "cmake/alone.cmake", "default"])
    passed = re.search(r"\[  PASSED  \] (\d+) tests", said)
    assert passed is not None, said
    assert int(passed[1]) > 0, said
    print(f"{passed[1]} tests ran")


def test_it_is_formatted() -> None:
    require("clang-format", why="the format of the C++ client is checked")
    folders = (FOLDER / name for name in ("include", "src", "samples", "tests"))
    files = [str(file) for folder in folders for file in sorted(folder.rglob("*.[ch]pp"))]
    assert files
    run("cpp", ["clang-format", "--dry-run", "--Werror", *files])


def test_its_readme_shows_the_first_bot_whole() -> None:
    sample = (FOLDER / "samples" / "first_move.cpp").read_text(encoding="utf-8")
    assert len(sample.splitlines()) <= 40
    assert f"```cpp\n{sample}```" in (FOLDER / "README.md").read_text(encoding="utf-8")


@pytest.mark.timeout(3_600)
def test_its_bot_passes_every_clause_and_the_table_says_so() -> None:
    check("cpp", SEEKS)
