"""The import contracts bite: each import that they forbid, planted in a copy of the tree, is found and named."""

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

FLOORS = "Floors: imports only point down"
DOMAIN = "The domain imports only what knows neither time, chance, I/O nor the wire"
WINGS = "Wings: the use cases import one way"
USE_CASES = "Use cases and adapters have never heard of gRPC or protobuf"
GAMES = "Games know the contract and their board, not each other nor the registry"
CHECKER = "The checker of tournaments shares nothing with what it checks but the events"
DOOR = "The gRPC door asks the gate, and knows nothing behind it"
WEB_DOOR = "The HTTP door asks the gate, and knows nothing behind it"
COMMAND_LINE = "The command line talks to a server through the Python client alone"
LOGGERS = "Loggers are passed in"
CIRCLES = "No modules and no packages import each other in a circle, for types neither"
CLIENT = "The client needs no server"


class Planted(NamedTuple):
    """A module with one line, the contract that it breaks, and what is said of it."""

    module: str
    line: str
    contract: str
    said: str


def imports(module: str, line: str, contract: str) -> Planted:
    """Return a planted module that is named with what it imports."""
    return Planted(module, line, contract, f"{module} -> {line.split()[1]} (l.1)")


PLANTED = (
    *(
        imports(f"arbiter.matches.planted_{name}", f"import {name}", DOMAIN)
        for name in ("asyncio", "datetime", "logging", "os", "random", "secrets", "socket", "sqlite3", "structlog")
    ),
    *(
        imports(f"arbiter.{package}.planted_time", "from time import monotonic", DOMAIN)
        for package in ("boards", "drawing", "games", "matches", "ratings", "tournaments.formats", "tournaments")
    ),
    imports("arbiter.matches.planted_uuid", "from uuid import uuid4", DOMAIN),
    imports("arbiter.matches.planted_threading", "import threading", DOMAIN),
    imports("arbiter.matches.planted_importlib", "import importlib", DOMAIN),
    imports("arbiter.ratings.planted_config", "import arbiter.config", DOMAIN),
    imports("arbiter.matches.planted_protos", "import arbiter_protos", DOMAIN),
    imports("arbiter.games.pods_planted_registry", "import arbiter.games.registry", GAMES),
    imports("arbiter.games.sixth", "import arbiter.games.line", GAMES),
    imports("arbiter.games.sixth_board", "import arbiter.games.pods_grid", GAMES),
    imports("arbiter.games.hop_it_planted", "import arbiter.games.pondlife", GAMES),
    Planted("arbiter.utils2", "import arbiter.service.ports", FLOORS, "utils2\n"),
    imports("arbiter.service.planted", "import arbiter.runtime.clock", FLOORS),
    imports("arbiter.matches.planted_ratings", "import arbiter.ratings.record", FLOORS),
    imports("arbiter.service.matches.planted_feed", "import arbiter.service.observing.feed", WINGS),
    imports("arbiter.service.matches.planted", "import arbiter.service.play.acts", WINGS),
    imports("arbiter.service.matches.planted_names", "import arbiter.service.players.accounts", WINGS),
    imports("arbiter.service.ratings.planted", "import arbiter.service.play.sessions", WINGS),
    imports("arbiter.service.ports.planted", "import arbiter.service.record.matches", WINGS),
    Planted("arbiter.service.utils3", "import arbiter.errors", WINGS, "utils3\n"),
    imports("arbiter.store.planted", "import grpc", USE_CASES),
    imports("arbiter.rpc.planted_registry", "import arbiter.service.matches.registry", DOOR),
    imports("arbiter.rpc.planted_accounts", "import arbiter.service.players.accounts", DOOR),
    imports("arbiter.rpc.planted_journal", "import arbiter.service.ports.journal", DOOR),
    imports("arbiter.rpc.planted_policy", "import arbiter.matches.policy", DOOR),
    imports("arbiter.rpc.planted_games", "import arbiter.games.registry", DOOR),
    imports("arbiter.web.planted_registry", "import arbiter.service.matches.registry", WEB_DOOR),
    imports("arbiter.web.planted_journal", "import arbiter.service.ports.journal", WEB_DOOR),
    imports("arbiter.web.planted_games", "import arbiter.games.registry", WEB_DOOR),
    imports("arbiter.tournaments.checks.planted", "import arbiter.tournaments.engine", CHECKER),
    imports("arbiter.service.matches.planted_log", "import structlog", LOGGERS),
    imports("arbiter.store.planted_log", "import logging", LOGGERS),
    imports("arbiter.cli.planted", "import arbiter.wire.matches", COMMAND_LINE),
    Planted("arbiter.conformance.planted_one", "import arbiter.conformance.planted_two", CIRCLES, ".planted_one"),
    Planted("arbiter.conformance.planted_two", "import arbiter.conformance.planted_one", CIRCLES, ".planted_two"),
    Planted("arbiter.store.planted_circle", "import arbiter.store.planted_types", CIRCLES, ".planted_circle"),
    Planted(
        "arbiter.store.planted_types",
        "import typing\nif typing.TYPE_CHECKING:\n    import arbiter.store.planted_circle",
        CIRCLES,
        ".planted_types",
    ),
    Planted("arbiter_client.values.planted", "import arbiter_client.bot", CIRCLES, ".bot"),
    imports("arbiter_client.planted", "import arbiter.errors", CLIENT),
)


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What import-linter says of each contract that is broken in a copy of the tree with everything planted."""
    root = tmp_path_factory.mktemp("planted")
    here = Path(__file__).parent
    for package in (arbiter, arbiter_client):
        folder = Path(package.__file__).parent
        for file in folder.rglob("*.py"):
            copy = root / folder.name / file.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
    (root / "tests").mkdir()
    shutil.copy(here / "import_contracts.py", root / "tests")
    shutil.copy(here.parent / "pyproject.toml", root)
    for planted in PLANTED:
        file = root.joinpath(*planted.module.split(".")).with_suffix(".py")
        assert not file.exists()
        file.write_text(f"{planted.line}\n")
    command = [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache"]
    wide = {**os.environ, "COLUMNS": "300"}  # each import on one line
    done = subprocess.run(command, cwd=root, env=wide, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    _, *parts = re.split(r"^(.+)\n-{3,}\n", done.stdout.partition("Broken contracts")[2], flags=re.MULTILINE)
    return dict(zip(parts[0::2], parts[1::2], strict=True))


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.module)
def test_an_import_that_is_forbidden_breaks_its_contract(said: dict[str, str], planted: Planted) -> None:
    assert planted.said in said.get(planted.contract, ""), said


def test_no_contract_is_without_a_violation_that_it_finds(said: dict[str, str]) -> None:
    text = (Path(__file__).parent.parent / "pyproject.toml").read_text()
    contracts = {contract["name"] for contract in tomllib.loads(text)["tool"]["importlinter"]["contracts"]}
    assert contracts == {planted.contract for planted in PLANTED}
