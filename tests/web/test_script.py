"""The script of the pages: small, correctly typed, and bundled from its present sources."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from pathlib import Path

import pytest

import arbiter
from tests.clients.toolchains import CLIENTS, require

WEB = Path(arbiter.__file__).parent / "web"
BUNDLE = WEB / "static" / "page.js"
MOST_BYTES = 60_000  #: bytes of the script, compressed


def test_the_script_is_small() -> None:
    assert len(gzip.compress(BUNDLE.read_bytes())) <= MOST_BYTES


@pytest.mark.toolchain
def test_the_script_is_checked_and_its_bundle_fresh(tmp_path: Path) -> None:
    require("node", "npm", why="the script of the pages is checked and bundled by them")
    script, verifier = tmp_path / "arbiter" / "web" / "script", tmp_path / "clients" / "javascript"
    shutil.copytree(WEB / "script", script, ignore=shutil.ignore_patterns("node_modules"))
    verifier.mkdir(parents=True)
    shutil.copy(CLIENTS / "javascript" / "canonical.mjs", verifier)
    for command in (["npm", "ci", "--no-audit", "--no-fund"], ["npm", "run", "check"]):
        ran = subprocess.run(command, cwd=script, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
    bundled = subprocess.run(["npm", "run", "--silent", "bundle"], cwd=script, capture_output=True, check=True)
    assert bundled.stdout == BUNDLE.read_bytes(), "run make gen"
