"""The import contracts work: each forbidden import, added to a copy of the tree, is found and named."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import arbiter_client
import pytest

import arbiter

LAYERS = "Layers: imports only point down"
DOMAIN = "The domain uses no clock, no random numbers, no I/O and no messages"
USE_CASE_LAYERS = "The use cases import in one direction"
USE_CASES = "Use cases and adapters do not import gRPC or protobuf"
GAMES = "A game imports the contract of games and its board, not other games or the registry"
CHECKER = "The checker of tournaments shares only the events with the pairers"
GRPC_API = "The gRPC API uses the gate alone"
PAGES = "The pages for browsers use the gate alone"
COMMAND_LINE = "The command line talks to a server through the Python client alone"
LOGGERS = "Loggers are passed in"
CYCLES = "No modules or packages import each other in a cycle, not even for types"
CLIENT = "The client does not import the server"


class ForbiddenImport(NamedTuple):
    """A module with one line, the contract that it breaks, and the message about it."""

    module: str
    line: str
    contract: str
    said: str


def imports(module: str, line: str, contract: str) -> ForbiddenImport:
    """Return a module whose error names it and what it imports."""
    return ForbiddenImport(module, line, contract, f"{module} -> {line.split()[1]} (l.1)")


FORBIDDEN = (
    *(
        imports(f"arbiter.matches.added_{name}", f"import {name}", DOMAIN)
        for name in ("asyncio", "datetime", "logging", "os", "random", "secrets", "socket", "sqlite3", "structlog")
    ),
    *(
        imports(f"arbiter.{package}.added_time", "from time import monotonic", DOMAIN)
        for package in ("boards", "drawing", "games", "matches", "ratings", "tournaments.formats", "tournaments")
    ),
    imports("arbiter.matches.added_uuid", "from uuid import uuid4", DOMAIN),
    imports("arbiter.matches.added_threading", "import threading", DOMAIN),
    imports("arbiter.matches.added_importlib", "import importlib", DOMAIN),
    imports("arbiter.ratings.added_config", "import arbiter.config", DOMAIN),
    imports("arbiter.matches.added_protos", "import arbiter_protos", DOMAIN),
    imports("arbiter.games.pods_added_registry", "import arbiter.games.registry", GAMES),
    imports("arbiter.games.sixth", "import arbiter.games.line", GAMES),
    imports("arbiter.games.sixth_board", "import arbiter.games.pods_grid", GAMES),
    imports("arbiter.games.hop_it_added", "import arbiter.games.pondlife", GAMES),
    ForbiddenImport("arbiter.utils2", "import arbiter.service.ports", LAYERS, "utils2\n"),
    imports("arbiter.service.added", "import arbiter.runtime.system_clock", LAYERS),
    imports("arbiter.matches.added_ratings", "import arbiter.ratings.rated_matches", LAYERS),
    imports("arbiter.service.matches.added_feed", "import arbiter.service.observing.feed", USE_CASE_LAYERS),
    imports("arbiter.service.matches.added", "import arbiter.service.play.acts", USE_CASE_LAYERS),
    imports("arbiter.service.matches.added_names", "import arbiter.service.players.accounts", USE_CASE_LAYERS),
    imports("arbiter.service.ratings.added", "import arbiter.service.play.sessions", USE_CASE_LAYERS),
    imports("arbiter.service.ports.added", "import arbiter.service.record.match_log", USE_CASE_LAYERS),
    ForbiddenImport("arbiter.service.utils3", "import arbiter.errors", USE_CASE_LAYERS, "utils3\n"),
    imports("arbiter.store.added", "import grpc", USE_CASES),
    imports("arbiter.rpc.added_registry", "import arbiter.service.matches.match_registry", GRPC_API),
    imports("arbiter.rpc.added_accounts", "import arbiter.service.players.accounts", GRPC_API),
    imports("arbiter.rpc.added_journal", "import arbiter.service.ports.journal", GRPC_API),
    imports("arbiter.rpc.added_policy", "import arbiter.matches.policy", GRPC_API),
    imports("arbiter.rpc.added_games", "import arbiter.games.registry", GRPC_API),
    imports("arbiter.web.added_registry", "import arbiter.service.matches.match_registry", PAGES),
    imports("arbiter.web.added_journal", "import arbiter.service.ports.journal", PAGES),
    imports("arbiter.web.added_games", "import arbiter.games.registry", PAGES),
    imports("arbiter.tournaments.checks.added", "import arbiter.tournaments.engine", CHECKER),
    imports("arbiter.service.matches.added_log", "import structlog", LOGGERS),
    imports("arbiter.store.added_log", "import logging", LOGGERS),
    imports("arbiter.cli.added", "import arbiter.wire.match_messages", COMMAND_LINE),
    ForbiddenImport("arbiter.conformance.added_one", "import arbiter.conformance.added_two", CYCLES, ".added_one"),
    ForbiddenImport("arbiter.conformance.added_two", "import arbiter.conformance.added_one", CYCLES, ".added_two"),
    ForbiddenImport("arbiter.store.added_cycle", "import arbiter.store.added_types", CYCLES, ".added_cycle"),
    ForbiddenImport(
        "arbiter.store.added_types",
        "import typing\nif typing.TYPE_CHECKING:\n    import arbiter.store.added_cycle",
        CYCLES,
        ".added_types",
    ),
    ForbiddenImport("arbiter_client.values.added", "import arbiter_client.bot", CYCLES, ".bot"),
    imports("arbiter_client.added", "import arbiter.errors", CLIENT),
)


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return import-linter's message on each broken contract, in a copy of the tree with all forbidden imports."""
    root = tmp_path_factory.mktemp("tree")
    here = Path(__file__).parent
    for package in (arbiter, arbiter_client):
        (folder,) = map(Path, package.__path__)
        for file in folder.rglob("*.py"):
            copy = root / folder.name / file.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
    (root / "tests").mkdir()
    shutil.copy(here / "import_contracts.py", root / "tests")
    shutil.copy(here.parent / "pyproject.toml", root)
    for forbidden in FORBIDDEN:
        file = root.joinpath(*forbidden.module.split(".")).with_suffix(".py")
        assert not file.exists()
        file.write_text(f"{forbidden.line}\n")
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-logo", "--no-cache"]
    wide = {**os.environ, "COLUMNS": "300"}  # each import on one line
    done = subprocess.run(command, cwd=root, env=wide, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    _, *parts = re.split(r"^(.+)\n-{3,}\n", done.stdout.partition("Broken contracts")[2], flags=re.MULTILINE)
    return dict(zip(parts[0::2], parts[1::2], strict=True))


@pytest.mark.long
@pytest.mark.parametrize("forbidden", FORBIDDEN, ids=lambda forbidden: forbidden.module)
def test_a_forbidden_import_breaks_its_contract(said: dict[str, str], forbidden: ForbiddenImport) -> None:
    assert forbidden.said in said.get(forbidden.contract, ""), said


def test_every_contract_has_a_violation_here() -> None:
    text = (Path(__file__).parent.parent / "pyproject.toml").read_text()
    contracts = {contract["name"] for contract in tomllib.loads(text)["tool"]["importlinter"]["contracts"]}
    assert contracts == {forbidden.contract for forbidden in FORBIDDEN}
