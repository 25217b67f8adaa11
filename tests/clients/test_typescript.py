"""The TypeScript client's own tests: format, types, and its tests on scripted servers and a real arbiter."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.clients.languages import mark_built
from tests.clients.packages import block, meet, shell, unpack
from tests.clients.table import check
from tests.clients.toolchains import CLIENTS, require, run

INSTALL = ("npm", "install", "--no-save", "--prefer-offline", "--no-audit", "--no-fund")
CACHED = {"npm_config_prefer_offline": "true", "npm_config_audit": "false", "npm_config_fund": "false"}


@pytest.mark.timeout(3_600)
def test_the_typescript_client(forked: dict[str, str]) -> None:
    require("node", "npm", why="the TypeScript client is built and tested by them")
    run("typescript", INSTALL)
    said = run("typescript", ["npm", "test"], forked)
    mark_built("typescript")
    counts = {name: int(count) for name, count in re.findall(r"^\S (tests|pass) (\d+)$", said, re.MULTILINE)}
    assert counts.get("tests", 0) > 0, said
    assert counts["pass"] == counts["tests"], said
    print(f"{counts['tests']} tests ran")


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_its_package_builds_from_an_archive_and_a_bot_uses_it_as_its_readme_says(tmp_path: Path) -> None:
    require("node", "npm", "git", why="the package of the TypeScript client is made from an archive of the tree")
    tree = unpack(tmp_path, "clients/typescript")
    shell(block("typescript", "sh", "npm pack"), tmp_path, CACHED)
    folder = tmp_path / "my-bot"
    package = folder / "node_modules" / "game-arbiter-client"
    for place in package.glob("dist/**/*.js.map"):
        for source in json.loads(place.read_text())["sources"]:
            assert (place.parent / source).resolve().is_relative_to(package.resolve())
            assert (place.parent / source).is_file(), f"{place.name} leads to {source}, which is not in the package"
    assert any(package.glob("dist/**/*.js.map"))
    shutil.rmtree(tree)  # the installed client needs no file of the tree
    (folder / "bot.ts").write_text(block("typescript", "ts", "await main("))
    (folder / "watch.ts").write_text(block("typescript", "ts", "new Client("))
    shell(block("typescript", "sh", "npx tsc  "), folder)
    meet(block("typescript", "sh", "arbiter serve"), folder, block("typescript", "sh", "MATCH"))


def test_its_readme_shows_the_sample() -> None:
    sample = (CLIENTS / "typescript" / "samples" / "first_move.ts").read_text()
    assert len(sample.splitlines()) <= 40
    assert block("typescript", "ts", "await main(") == sample


@pytest.mark.timeout(3_600)
def test_its_bot_passes_its_part_of_the_clauses() -> None:
    check("typescript", whole=False)


@pytest.mark.soak
def test_its_bot_passes_every_clause_and_the_table_says_so() -> None:
    check("typescript", whole=True)
