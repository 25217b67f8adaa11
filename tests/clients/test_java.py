"""The Java client, by its own build: no warnings, and its tests on scripted servers and a real arbiter."""

from __future__ import annotations

import re

import pytest

from tests.clients.table import check
from tests.clients.toolchains import require, run


@pytest.mark.timeout(3_600)
def test_the_java_client() -> None:
    require("java", "mvn", "openssl", why="the Java client is built by them, its tests' certificates by openssl")
    said = run("java", ["mvn", "-B", "--no-transfer-progress", "package"])
    totals = re.findall(r"^\[\w+\] Tests run: (\d+), Failures: 0, Errors: 0, Skipped: 0\s*$", said, re.MULTILINE)
    assert totals, said
    assert int(totals[-1]) > 0, said
    print(f"{totals[-1]} tests ran")


@pytest.mark.timeout(3_600)
def test_its_bot_passes_its_part_of_the_clauses() -> None:
    check("java", whole=False)


@pytest.mark.soak
def test_its_bot_passes_every_clause_and_the_table_says_so() -> None:
    check("java", whole=True)
