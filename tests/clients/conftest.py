from __future__ import annotations

from pathlib import Path

import pytest

HERE = f"{Path(__file__).parent}/"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests of this folder: they need the tools of other languages. Who needs all clients built comes last."""
    ours = [item for item in items if str(item.path).startswith(HERE)]
    for item in ours:
        item.add_marker(pytest.mark.toolchain)
    items.sort(key=lambda item: "everybody" in getattr(item, "fixturenames", ()))
