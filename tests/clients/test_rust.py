"""The Rust client, by its own tests: format, lints, and its tests on scripted servers and a real arbiter."""

from __future__ import annotations

import re
from graphlib import TopologicalSorter

import pytest

from tests.clients.table import check
from tests.clients.toolchains import CLIENTS, require, run

LINTED = {"RUSTC_WORKSPACE_WRAPPER": "clippy-driver", "CLIPPY_ARGS": "--deny__CLIPPY_HACKERY__warnings"}
"""Has cargo compile our own crate by clippy's compiler, as `cargo clippy -- --deny warnings` does.

`cargo clippy` itself would compile all of the client's dependencies a second time, for it keeps only their metadata.
"""


@pytest.mark.timeout(3_600)
def test_the_rust_client() -> None:
    require("cargo", "openssl", why="the Rust client is built by one, its tests' certificates by the other")
    run("rust", ["cargo", "fmt", "--check"])
    said = run("rust", ["cargo", "test", "--locked"], LINTED)
    passed = sum(int(count) for count in re.findall(r"^test result: ok\. (\d+) passed; 0 failed", said, re.MULTILINE))
    assert passed > 0, said
    print(f"{passed} tests ran")


def test_its_modules_import_each_other_in_no_circle() -> None:
    source = CLIENTS / "rust" / "src"
    uses: dict[str, set[str]] = {}
    for file in sorted(source.rglob("*.rs")):
        module = file.relative_to(source).parts[0].removesuffix(".rs")
        code = re.sub(r"//.*", "", file.read_text(encoding="utf-8"))
        uses.setdefault(module, set()).update(re.findall(r"\bcrate::([a-z]\w*)", code))
    del uses["lib"]  # declares them all
    assert "runner" in uses["playing"]
    for module, used in uses.items():
        used.discard(module)
    tuple(TopologicalSorter(uses).static_order())  # raises CycleError, which names the circle


@pytest.mark.timeout(3_600)
def test_its_bot_passes_every_clause_and_the_table_says_so() -> None:
    check("rust")
