"""The TypeScript client, by its own tools: format, types, and its tests on scripted servers and a real arbiter."""

from __future__ import annotations

import re

import pytest

from tests.clients.table import check
from tests.clients.toolchains import require, run


@pytest.mark.timeout(3_600)
def test_the_typescript_client() -> None:
    require("node", "npm", why="the TypeScript client is built and tested by them")
    run("typescript", ["npm", "install", "--no-save", "--prefer-offline", "--no-audit", "--no-fund"])
    said = run("typescript", ["npm", "test"])
    told = {name: int(count) for name, count in re.findall(r"^\S (tests|pass) (\d+)$", said, re.MULTILINE)}
    assert told.get("tests", 0) > 0, said
    assert told["pass"] == told["tests"], said
    print(f"{told['tests']} tests ran")


@pytest.mark.timeout(3_600)
def test_its_bot_passes_every_clause_and_the_table_says_so() -> None:
    check("typescript")
