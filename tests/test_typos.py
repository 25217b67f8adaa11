"""mypy finds a name that is misspelt where types once had a hole: a kind of database, a wrapper of a port, a test.

All names are misspelt in one run, each in the text that mypy reads in place of a module.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.documents import ROOT

pytestmark = pytest.mark.long


class Typo(NamedTuple):
    """A text that is once in a module, what takes its place, and what mypy says, in which module."""

    module: str
    right: str
    wrong: str
    found_in: str
    said: str


STORE: Final = "arbiter/store"
SHARING: Final = "arbiter/bootstrap/shared_parts.py"
SIMULATION: Final = "arbiter/testing/simulation"
KIT: Final = "tests/conformance/test_kit.py"
CLIENT: Final = "clients/python/tests/test_stopping.py"

TYPOS: Final = (
    Typo(
        f"{STORE}/appending.py",
        "_last = self._dialect.number(",
        "_last = self._dialect.numbr(",
        f"{STORE}/appending.py",
        '"numbr"',
    ),
    Typo(f"{STORE}/appending.py", ".insert_behind(", ".insert_behnd(", f"{STORE}/appending.py", '"insert_behnd"'),
    Typo(f"{STORE}/writer.py", "_dialect.files(", "_dialect.file(", f"{STORE}/writer.py", '"file"'),
    Typo(
        f"{STORE}/dialects/postgres.py",
        "def still_connected(",
        "def still_conected(",
        f"{STORE}/dialects/__init__.py",
        'abstract class "Postgres" with abstract attribute "still_connected"',
    ),
    Typo(
        "arbiter/service/sharing/reporting.py",
        "async def revoke_token(",
        "async def revoke_tokn(",
        SHARING,
        "note:     revoke_token",
    ),
    Typo(
        "arbiter/service/sharing/reporting.py", "def append_then(", "def append_thn(", SHARING, "note:     append_then"
    ),
    Typo(
        "arbiter/bootstrap/traced_messages.py",
        "def message(",
        "def mesage(",
        "arbiter/bootstrap/running_server.py",
        "note:     message",
    ),
    Typo(
        "arbiter/testing/faults.py",
        "self.read_many: Final",
        "self.read_mny: Final",
        "arbiter/testing/in_memory.py",
        "note:     read_many",
    ),
    Typo(
        f"{SIMULATION}/store_line.py",
        "self.tokens: Final",
        "self.tokns: Final",
        f"{SIMULATION}/cluster.py",
        "note:     tokens",
    ),
    Typo(
        f"{SIMULATION}/store_line.py",
        "self.give_back: Final",
        "self.give_bak: Final",
        f"{SIMULATION}/cluster.py",
        "note:     give_back",
    ),
    Typo(
        f"{SIMULATION}/play_calls.py",
        "async def write(",
        "async def writ(",
        f"{SIMULATION}/simulated_server.py",
        "note:     write",
    ),
    Typo(KIT, "await bed.until(", "await bed.untl(", KIT, '"Testbed" has no attribute "untl"'),
    Typo(
        CLIENT,
        'until_asked("DeclineChallenge")',
        'until_askd("DeclineChallenge")',
        CLIENT,
        '"Peer" has no attribute "until_askd"',
    ),
)


def planted() -> dict[str, str]:
    """Return the text of each module with its typos."""
    texts: dict[str, str] = {}
    for typo in TYPOS:
        text = texts.get(typo.module) or (ROOT / typo.module).read_text()
        assert text.count(typo.right) == 1, f"{typo.right!r} must be once in {typo.module}: choose another text"
        texts[typo.module] = text.replace(typo.right, typo.wrong)
    return texts


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return what mypy, run as by `make check`, prints about the modules in which it finds a typo, and their imports.

    All other modules that import what was changed would be checked again too, which takes three times as long.
    """
    folder = tmp_path_factory.mktemp("typos")
    how = re.search(r"^\t\$\(BIN\)/mypy\b(.*)$", (ROOT / "Makefile").read_text(), re.M)
    assert how is not None
    if (ROOT / ".mypy_cache").exists():  # `make check` has made it
        shutil.copytree(ROOT / ".mypy_cache", folder / "cache")
    shadows: list[str] = []
    for number, (module, text) in enumerate(planted().items()):
        shadow: Path = folder / f"{number}.py"
        shadow.write_text(text)
        shadows += ["--shadow-file", module, str(shadow)]
    options = ["--cache-dir", str(folder / "cache"), *shadows, *how[1].split()]
    command = [sys.executable, "-m", "mypy", *options, *sorted({typo.found_in for typo in TYPOS})]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    return ran.stdout.splitlines()


def test_they_are_found_in_modules_that_make_check_reads() -> None:
    read = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]["files"]
    assert [typo.found_in for typo in TYPOS if not any(Path(typo.found_in).is_relative_to(each) for each in read)] == []


@pytest.mark.parametrize("typo", TYPOS, ids=lambda typo: f"{typo.wrong} in {Path(typo.module).name}")
def test_a_typo_is_found(complaints: list[str], typo: Typo) -> None:
    found = [line for line in complaints if line.startswith(f"{typo.found_in}:") and typo.said in line]
    assert found, "\n".join(complaints)
