"""Every code block of every page is run by a test, or `code_blocks.toml` says why no test can run it."""

from __future__ import annotations

import re
import subprocess
import tomllib

import pytest

from tests.documents import ROOT, blocks, commands, place

TABLE = tomllib.loads((ROOT / "tests" / "code_blocks.toml").read_text(encoding="utf-8"))
LISTED = subprocess.run(
    ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
).stdout.split()
WITH_BLOCKS = [page for page in LISTED if blocks(page)]


def test_every_page_with_blocks_is_in_the_table() -> None:
    assert set(TABLE) == set(WITH_BLOCKS)
    assert len(WITH_BLOCKS) >= 15


@pytest.mark.parametrize("page", WITH_BLOCKS)
def test_every_block_is_run_by_a_test_or_has_a_reason(page: str) -> None:
    runners = {}
    for runner, listed in TABLE[page].items():
        for has in listed:
            number = place(page, has)
            assert number not in runners, f"{page}: the block with {has!r} is listed twice"
            runners[number] = runner
    missing = [block.text for number, block in enumerate(blocks(page)) if number not in runners]
    assert not missing, f"tests/code_blocks.toml does not say which test runs these blocks of {page}: {missing}"
    for runner in runners.values():
        file, _, test = runner.partition("::")
        if not runner.startswith("not run: "):
            code = (ROOT / file).read_text(encoding="utf-8")
            assert re.search(rf"^(async )?def {test}\(", code, re.MULTILINE), f"there is no {runner}"


def test_the_makefile_has_the_targets_of_the_blocks() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    typed = [line for page in WITH_BLOCKS for each in blocks(page) for line in commands(each.text)]
    made = {line.split()[1] for line in typed if line.startswith("make ")}
    assert {"setup", "demo", "dist", "gen"} <= made <= targets
