"""Short tests find no program that needs a package of Debian, so `make quick` passes on a machine without them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.needs import NEEDS, path_without

PROGRAMS = [need.program for need in NEEDS if "/" not in need.program]


def test_a_short_test_finds_no_needed_program() -> None:
    assert [program for program in PROGRAMS if shutil.which(program)] == []
    assert shutil.which("sh") is not None


def test_programs_beside_needed_ones_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = [tmp_path / "first", tmp_path / "second"]
    for place in places:
        place.mkdir()
    for program in (places[0] / "promtool", places[0] / "true", places[1] / "git"):
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, [*places, tmp_path / "none"])))
    (tmp_path / "links").mkdir()
    without = path_without(tmp_path / "links")
    assert shutil.which("promtool") is not None
    assert shutil.which("promtool", path=without) is None
    assert shutil.which("true", path=without) is not None
    assert str(places[1]) in without.split(os.pathsep)
