"""The Rust client, by its own tests: format, lints, and its tests on scripted servers and a real arbiter."""

from __future__ import annotations

import re

import pytest

from tests.clients.toolchains import require, run

pytestmark = [pytest.mark.toolchain, pytest.mark.xdist_group("rust")]


@pytest.mark.timeout(3_600)
def test_the_rust_client() -> None:
    require("cargo", "openssl", why="the Rust client is built by one, its tests' certificates by the other")
    run("rust", ["cargo", "fmt", "--check"])
    run("rust", ["cargo", "clippy", "--locked", "--all-targets", "--", "-D", "warnings"])
    said = run("rust", ["cargo", "test", "--locked"])
    passed = sum(int(count) for count in re.findall(r"^test result: ok\. (\d+) passed; 0 failed", said, re.MULTILINE))
    assert passed > 0, said
    print(f"{passed} tests ran")
