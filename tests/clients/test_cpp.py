"""The C++ client, by its own tests: format, no warnings, and its tests on scripted servers and a real arbiter."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.clients.languages import built, languages
from tests.clients.table import check
from tests.clients.toolchains import CLIENTS, kept, require, run

FOLDER = CLIENTS / "cpp"


@pytest.mark.timeout(3_600)
def test_the_cpp_client() -> None:
    require("g++", "cmake", "ninja", "protoc", "grpc_cpp_plugin", "openssl", why="the C++ client is built and tested")
    said = run("cpp", ["cmake", "-P", "cmake/alone.cmake", "default"])
    passed = re.search(r"\[  PASSED  \] (\d+) tests", said)
    assert passed is not None, said
    assert int(passed[1]) > 0, said
    print(f"{passed[1]} tests ran")


def cmake(folder: Path, *words: str) -> str:
    """Run a command in a folder; return what it said. The test fails where the command does."""
    ran = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, check=False, timeout=1_500, env=kept(folder)
    )
    if ran.returncode != 0:
        pytest.fail(
            f"{' '.join(words)} ended with {ran.returncode}:\n{ran.stdout[-4_000:]}\n{ran.stderr}", pytrace=False
        )
    return ran.stdout


def recipe(package: str) -> str:
    """Return the CMakeLists.txt of a bot that the README shows, with the line that brings the client."""
    shown = re.findall(r"```cmake\n(.*?)```", (FOLDER / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    (found,) = [text for text in shown if package in text]
    return str(found)


@pytest.mark.timeout(3_600)
def test_a_project_elsewhere_finds_what_was_installed_and_has_no_warnings(tmp_path: Path) -> None:
    require("g++", "cmake", "ninja", "protoc", "grpc_cpp_plugin", why="a bot is built with the installed C++ client")
    (tmp_path / "CMakeLists.txt").write_text(recipe("find_package"))
    (tmp_path / "my_bot.cpp").write_text((FOLDER / "samples" / "first_move.cpp").read_text(encoding="utf-8"))
    with built(languages()["cpp"]):
        cmake(FOLDER, "cmake", "--install", "build", "--prefix", str(tmp_path / "prefix"))
    flags = "-Wall -Wextra -Wshadow -Werror"
    where = f"-DCMAKE_PREFIX_PATH={tmp_path / 'prefix'}"
    cmake(tmp_path, "cmake", "-G", "Ninja", "-S", ".", "-B", "build", where, f"-DCMAKE_CXX_FLAGS={flags}")
    cmake(tmp_path, "cmake", "--build", "build")
    assert "--seek" in cmake(tmp_path, "build/my_bot", "--help")


@pytest.mark.timeout(3_600)
def test_an_archive_of_the_tree_is_enough_to_be_part_of_another_project(tmp_path: Path) -> None:
    require("g++", "cmake", "ninja", "protoc", "grpc_cpp_plugin", "git", why="the C++ client is built from an archive")
    archive = subprocess.run(
        ("git", "archive", "HEAD", "clients/cpp", "protos"), cwd=CLIENTS.parent, capture_output=True, check=True
    )
    tree = tmp_path / "path" / "to" / "arbiter"
    tree.mkdir(parents=True)
    subprocess.run(("tar", "-x"), cwd=tree, input=archive.stdout, check=True)
    (tmp_path / "CMakeLists.txt").write_text(recipe("add_subdirectory"))
    (tmp_path / "my_bot.cpp").write_text((FOLDER / "samples" / "first_move.cpp").read_text(encoding="utf-8"))
    exported = "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"
    cmake(tmp_path, "cmake", "-G", "Ninja", "-S", ".", "-B", "build", exported, "-DCMAKE_BUILD_TYPE=Debug")
    commands = json.loads((tmp_path / "build" / "compile_commands.json").read_text())
    assert any(entry["file"].endswith("my_bot.cpp") for entry in commands)
    for entry in commands:
        assert " -Werror" not in entry["command"]
        assert not re.search(r" -O\d", entry["command"])
        assert re.search(r" -std=(gnu|c)\+\+(20|2a)", entry["command"])


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
def test_its_bot_passes_its_part_of_the_clauses() -> None:
    check("cpp", whole=False)


@pytest.mark.soak
def test_its_bot_passes_every_clause_and_the_table_says_so() -> None:
    check("cpp", whole=True)
