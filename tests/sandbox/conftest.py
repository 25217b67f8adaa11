"""Folders that bots in a sandbox can read."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _readable(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)  # what root starts in a sandbox runs as another user
