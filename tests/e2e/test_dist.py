"""The distributions are built as for a release, installed in an empty environment, and used for a match."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

import arbiter
from arbiter.games import pods
from tests.documents import block, commands

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")
OURS = ("game-arbiter", "game-arbiter-client", "game-arbiter-protos")
PLUGIN = "game-arbiter-openspiel"  #: only with the extra
CELLS = [f"{row}{column}" for row in "abcdefghi" for column in range(1, 10)]
COMPILED = Path(pods.__file__).suffix == ".so"  #: the tests run on the compiled modules: the wheel of these is there
NEWER = ("3.14", "3.13", "3.12")
OTHERS = ("ARBITER_", "PYTHON", "VIRTUAL_ENV", "MAKE")  #: settings of the user who runs this test


def ran(*command: str | Path, said: str = "", where: Path = ROOT) -> str:
    """Run a command that must succeed; return its output."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OTHERS)}
    ran = subprocess.run(command, input=said, capture_output=True, text=True, cwd=where, env=kept, check=False)
    assert ran.returncode == 0, f"{command}: {ran.stdout}{ran.stderr}"
    return ran.stdout


def newer_python() -> str:
    """Return the newest other Python on this machine, or ''."""
    find = (UV, "python", "find", "--no-python-downloads", "--system")
    for version in NEWER:
        found = subprocess.run([*find, version], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return found.stdout.strip()
    return ""


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist") / "dist"
    all_, pure, _ = commands(block("deploy/RELEASES.md", "make dist"))
    ran(*(all_ if COMPILED else pure).split(), f"DIST={folder}")
    return folder


@pytest.mark.long
def test_each_distribution_has_a_source_archive_and_a_wheel(dist: Path) -> None:
    version = arbiter.__version__
    names = {path.name for path in dist.iterdir() if path.is_file()}
    for ours in (*OURS, PLUGIN):
        stem = f"{ours.replace('-', '_')}-{version}"
        assert {f"{stem}.tar.gz", f"{stem}-py3-none-any.whl"} <= names
    compiled = [path.name for path in dist.glob("compiled/*.whl")]
    assert bool(compiled) == COMPILED
    assert all(name.startswith(f"game_arbiter-{version}-cp311-cp311-") for name in compiled)


WANTED = re.compile(
    r"""arbiter/( (\w+/)*\w+\.py | py\.typed | games/texts/[\w-]+\.md | web/(static|templates)/[\w.-]+
    | store/_commit_thread\.pyi )""",
    re.VERBOSE,
)
"""The files that a user runs or reads: code, the rules of the games, the pages."""


@pytest.mark.long
def test_a_user_gets_no_file_that_only_this_repository_needs(dist: Path) -> None:
    """No generators, studies or tests; none of the tools that `make gen` installs beside the script of the pages."""
    with ZipFile(next(dist.glob("game_arbiter-*-none-any.whl"))) as wheel:
        names = [name for name in wheel.namelist() if ".dist-info/" not in name]
    assert [name for name in names if not WANTED.fullmatch(name)] == []
    with tarfile.open(next(dist.glob("game_arbiter-[0-9]*.tar.gz"))) as archive:
        assert [name for name in archive.getnames() if "node_modules" in name] == []


@pytest.mark.long
@pytest.mark.parametrize("kind", ["compiled"] if COMPILED else ["pure", "newer"])
def test_a_match_is_played_with_the_installed_distributions(dist: Path, tmp_path: Path, kind: str) -> None:
    python = newer_python() if kind == "newer" else sys.executable
    if not python:
        return  # there is no newer Python here: this one tests the rest
    environment = tmp_path / "environment"
    ran(UV, "venv", "--quiet", "--no-python-downloads", "--python", python, environment)
    within = ("--python", environment / "bin" / "python")
    *install, links, ours = commands(block("deploy/RELEASES.md", "make dist"))[2].split()
    wanted = str(next(dist.glob("compiled/*.whl"))) if kind == "compiled" else ours
    assert links == "dist"
    ran(UV, *install, dist, *within, "--quiet", wanted)
    listed = ran(UV, "pip", "list", *within)
    assert [name for name in OURS if re.search(rf"^{name} +{arbiter.__version__}$", listed, re.MULTILINE)] == list(OURS)
    command = environment / "bin" / "arbiter"
    assert ran(command, "--version", where=tmp_path).strip() == arbiter.__version__
    look = "import arbiter.games.pods as module; print(module.__file__)"
    place = Path(ran(environment / "bin" / "python", "-c", look, where=tmp_path).strip())
    assert place.is_relative_to(environment)
    assert place.suffix == (".so" if kind == "compiled" else ".py")
    moves = "\n".join(CELLS * 3)
    played = ran(command, "play", "circle-of-life(target=1)", "--against", "random", said=moves, where=tmp_path)
    assert re.search(r"(You win|random wins): target eaten\n$", played)


def test_the_versions_agree() -> None:
    version: str = arbiter.__version__
    for file in (
        "pyproject.toml",
        "clients/python/pyproject.toml",
        "protos/python/pyproject.toml",
        "deploy/openspiel/pyproject.toml",
    ):
        project = tomllib.loads((ROOT / file).read_text("utf-8"))["project"]
        assert project["version"] == version, file
        major, minor = map(int, version.split(".")[:2])
        extras = project.get("optional-dependencies", {}).values()
        for wanted in [*project["dependencies"], *(each for extra in extras for each in extra)]:
            if wanted.startswith("game-arbiter"):
                assert wanted.endswith(f">={major}.{minor},<{major}.{minor + 1}"), wanted
