"""`make soak` goes on where it was stopped: what has passed on the same code with the same numbers is left out."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYTEST = '#!/bin/sh\necho "$@" >> asked\n[ -e mended ] || case "$*" in *seeds*) exit 1;; esac\n'


def soaked(folder: Path, *more: str) -> tuple[int, list[str]]:
    """Run two parts of the long tests; return make's exit code, and the numbers with which pytest was asked."""
    asked = folder / "asked"
    asked.write_text("")
    parts = ["make", "--keep-going", "BIN=.", "soak-seeds", "soak-kills", *more]
    done = subprocess.run(parts, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, [" ".join(line.split("--")[2].split()[:2]) for line in asked.read_text().splitlines()]


@pytest.mark.long
def test_a_part_that_has_passed_is_run_again_only_for_other_code_or_numbers(tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=b"]
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "pytest").write_text(PYTEST)
    (tmp_path / "pytest").chmod(0o755)
    for command in (["init", "-q"], ["add", "Makefile"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    assert soaked(tmp_path) == (2, ["seeds 2000", "kills 1000"])
    assert soaked(tmp_path) == (2, ["seeds 2000"])
    (tmp_path / "mended").touch()
    assert soaked(tmp_path) == (0, ["seeds 2000"])
    assert soaked(tmp_path) == (0, [])
    assert soaked(tmp_path, "KILLS=7") == (0, ["seeds 2000", "kills 7"])
    with (tmp_path / "Makefile").open("a") as file:
        file.write("# changed\n")
    assert soaked(tmp_path, "KILLS=7") == (0, ["seeds 2000", "kills 7"])
    noted = (tmp_path / "build" / "minutes").read_text()
    assert [line.split()[0] for line in noted.splitlines()][:3] == ["soak-seeds", "soak-kills", "soak-seeds"]
