"""The Python client from an archive, and its bot in the kit; the client's own tests are in clients/python/tests."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.clients.packages import TREE, block, meet, shell, unpack
from tests.clients.table import PAGE, check, columns_of, everything
from tests.clients.toolchains import CLIENTS, require

UV = Path(sys.executable).with_name("uv")


@pytest.mark.timeout(3_600)
def test_another_environment_installs_it_from_an_archive_as_its_readme_says(tmp_path: Path) -> None:
    require("git", why="the Python client is installed from an archive of the tree")
    unpack(tmp_path, "clients/python", "protos")
    programs = tmp_path / "environment" / "bin"
    shell(f"{UV} venv --quiet --python {sys.executable} {programs.parent}", tmp_path)
    pip = programs / "pip"  # uv keeps its downloads, unlike pip. Like pip, it does not see our workspace
    python = programs / "python"
    pip.write_text(f'#!/bin/bash\nexec {UV} pip "$1" --quiet --no-sources --python {python} "${{@:2}}"\n')
    pip.chmod(0o755)
    shell(block("python", "sh", "pip install"), tmp_path, {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"})
    shutil.rmtree(tmp_path / TREE)  # the installed client needs no file of the tree
    folder = tmp_path / "my-bot"
    (folder / "my_bot.py").write_text(block("python", "python", "class FirstMove"))
    (folder / "watch.py").write_text(block("python", "python", "BlockingClient"))
    meet(block("python", "sh", "arbiter serve"), folder, block("python", "sh", "MATCH"), programs=programs)


def test_its_readme_shows_the_sample() -> None:
    sample = (CLIENTS / "python" / "samples" / "first_move.py").read_text()
    assert len(sample.splitlines()) <= 40
    assert block("python", "python", "class FirstMove").partition("import ")[2] == sample.partition("import ")[2]


@pytest.mark.timeout(3_600)
def test_its_bot_passes_its_part_of_the_clauses() -> None:
    check("python", whole=False)


@pytest.mark.soak
def test_its_bot_passes_every_clause_and_the_table_says_so() -> None:
    check("python", whole=True)


def test_the_table_has_every_language_and_each_has_its_module() -> None:
    names = sorted(everything())
    assert sorted(columns_of(PAGE.read_text(encoding="utf-8"))) == names
    assert all((Path(__file__).parent / f"test_{name}.py").exists() for name in names)
