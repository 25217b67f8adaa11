"""The C++ client's own tests: format, compiler warnings, and its tests on scripted servers and a real arbiter."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.clients.packages import block, meet, shell, unpack
from tests.clients.table import check
from tests.clients.toolchains import CLIENTS, kept, require, run

FOLDER = CLIENTS / "cpp"
TOOLS = ("g++", "cmake", "ninja", "protoc", "grpc_cpp_plugin", "git")


@pytest.mark.timeout(3_600)
def test_the_cpp_client(forked: dict[str, str]) -> None:
    require(*TOOLS, "openssl", why="the C++ client is built and tested")
    said = run("cpp", ["cmake", "-P", "cmake/alone.cmake", "default"], forked)
    passed = re.search(r"\[  PASSED  \] (\d+) tests", said)
    assert passed is not None, said
    assert int(passed[1]) > 0, said
    print(f"{passed[1]} tests ran")


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_another_project_builds_it_from_an_archive_as_its_readme_says(tmp_path: Path) -> None:
    require(*TOOLS, why="a bot is built with the C++ client from an archive of the tree")
    tree = unpack(tmp_path, "clients/cpp", "protos")
    shell(block("cpp", "sh", "ninja -C build install"), tmp_path, kept(tree))
    folder = tmp_path / "my-bot"
    (folder / "CMakeLists.txt").write_text(block("cpp", "cmake", "find_package"))
    (folder / "my_bot.cpp").write_text(block("cpp", "cpp", "run_command"))
    (folder / "watch.cpp").write_text(block("cpp", "cpp", "arbiter::Client client"))
    shell(block("cpp", "sh", "cmake --build"), folder, warned(tmp_path))
    meet(block("cpp", "sh", "arbiter serve"), folder, block("cpp", "sh", "MATCH"))


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_its_tests_pass_with_sanitizers() -> None:
    require(*TOOLS, "openssl", why="the C++ client is built and tested")
    said = run("cpp", ["cmake", "-P", "cmake/alone.cmake", "sanitize"])
    assert re.search(r"\[  PASSED  \] [1-9][0-9]* tests", said), said


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_what_threads_share_passes_the_thread_sanitizer() -> None:
    require(*TOOLS, why="the C++ client is built and tested")
    said = run("cpp", ["cmake", "-P", "cmake/alone.cmake", "threads"])
    assert re.search(r"\[  PASSED  \] [1-9][0-9]* tests", said), said


def test_who_writes_a_bot_builds_the_library_alone_and_no_warning_is_an_error(tmp_path: Path) -> None:
    require(*TOOLS, why="a build of the C++ client is configured")
    shell(f"cmake -G Ninja -S {FOLDER} -B build -DCMAKE_EXPORT_COMPILE_COMMANDS=ON", tmp_path, kept(tmp_path))
    commands = json.loads((tmp_path / "build" / "compile_commands.json").read_text())
    assert any(entry["file"].endswith("/src/bot.cpp") for entry in commands)
    # What takes long is read once: the code of all services is compiled as one file, and that of all messages.
    assert any("cmake_pch" in entry["file"] for entry in commands)
    generated = sorted(Path(entry["file"]).name for entry in commands if "arbiter_protocol.dir" in entry["command"])
    assert generated == ["unity_messages_cxx.cxx", "unity_services_cxx.cxx"]
    for entry in commands:
        assert " -Werror" not in entry["command"]
        assert not re.search(r"clients/cpp/(samples|tests)/", entry["file"])


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_another_project_includes_an_archive_of_the_tree(tmp_path: Path) -> None:
    require(*TOOLS, why="a bot is built with the C++ client from an archive of the tree")
    unpack(tmp_path, "clients/cpp", "protos")
    (tmp_path / "CMakeLists.txt").write_text(block("cpp", "cmake", "add_subdirectory"))
    (tmp_path / "my_bot.cpp").write_text(block("cpp", "cpp", "run_command"))
    configure = "cmake -G Ninja -S . -B build -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DCMAKE_BUILD_TYPE=Debug"
    shell(configure, tmp_path, kept(tmp_path))
    commands = json.loads((tmp_path / "build" / "compile_commands.json").read_text())
    assert any(entry["file"].endswith("my_bot.cpp") for entry in commands)
    for entry in commands:
        assert " -Werror" not in entry["command"]
        assert not re.search(r" -O\d", entry["command"])
        assert re.search(r" -std=(gnu|c)\+\+(20|2a)", entry["command"])
    # Other tests have built the library; here the bot has to find its headers, and they have to be free of warnings.
    shell("rm -r build && cmake -G Ninja -S . -B build", tmp_path, warned(tmp_path))
    shell("cmake --build build --target CMakeFiles/my_bot.dir/my_bot.cpp.o", tmp_path)


def warned(folder: Path) -> dict[str, str]:
    """Return an environment in which compilers give the warnings that users enable, as errors."""
    environment = kept(folder)
    flags = f"{environment.get('CXXFLAGS', '')} -Wall -Wextra -Wshadow -Werror"
    return {**environment, "CXXFLAGS": flags}


def test_code_for_one_operating_system_is_in_modules_of_its_own() -> None:
    files = [file for folder in ("include", "src") for file in sorted((FOLDER / folder).rglob("*.?pp"))]
    apart = {file for file in files if file.parent.name in ("posix", "windows")}
    of_a_system = {file for file in files if re.search(r"^#include <(sys/)?\w+\.h>", file.read_text(), re.MULTILINE)}
    names = [sorted(file.name for file in apart if file.parent.name == system) for system in ("posix", "windows")]
    assert names[0] == names[1] != [], "each has its part for every system"
    assert of_a_system <= apart


WINDOWS = ("x86_64-w64-mingw32-g++-posix",)
MACOS = ("g++", "-D__APPLE__")


@pytest.mark.soak
@pytest.mark.parametrize(("compiler", "folder"), [(WINDOWS, "windows"), (MACOS, "posix")])
def test_what_other_systems_have_of_their_own_compiles(compiler: tuple[str, ...], folder: str) -> None:
    require(compiler[0], why="code for other operating systems is compiled")
    files = sorted((FOLDER / "src" / folder).glob("*.cpp"))
    assert files
    options = ("-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-Iinclude", "-Isrc")
    run("cpp", [*compiler, *options, *map(str, files)])


def test_it_is_formatted() -> None:
    require("clang-format", why="the format of the C++ client is checked")
    folders = (FOLDER / name for name in ("include", "src", "samples", "tests"))
    files = [str(file) for folder in folders for file in sorted(folder.rglob("*.[ch]pp"))]
    assert files
    run("cpp", ["clang-format", "--dry-run", "--Werror", *files])


def test_its_readme_shows_the_sample() -> None:
    sample = (FOLDER / "samples" / "first_move.cpp").read_text(encoding="utf-8")
    assert len(sample.splitlines()) <= 40
    assert block("cpp", "cpp", "run_command") == sample


@pytest.mark.timeout(3_600)
def test_its_bot_passes_its_part_of_the_clauses() -> None:
    check("cpp", whole=False)


@pytest.mark.soak
def test_its_bot_passes_every_clause_and_the_table_says_so() -> None:
    check("cpp", whole=True)
