"""The tests of every module that is compiled run on the compiled modules too: the lists of the Makefile name them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tomllib
from functools import cache
from itertools import pairwise

import pytest

from tests.documents import ROOT

OTHER_NAMES = {
    "arbiter/bench/bare_path.py": "tests/runtime/test_build.py",
    "arbiter/bootstrap/traced_messages.py": "tests/observability/test_traces.py",
    "arbiter/rpc/live_events.py": "tests/rpc/test_streams.py",
    "arbiter/rpc/play_messages.py": "tests/rpc/test_play.py",
    "arbiter/runtime/system_clock.py": "tests/runtime/test_clock_and_ids.py",
    "arbiter/observability/move_counts.py": "tests/observability/test_metrics.py",
    "arbiter/observability/traced_moves.py": "tests/observability/test_traces.py",
    "arbiter/service/record/match_log.py": "tests/service/matches/test_match_registry.py",
    "arbiter/service/record/published.py": "tests/service/observing/test_feed.py",
    "arbiter/store/_commit_thread.c": "tests/store/test_commit_thread.py",
    "arbiter/store/jobs.py": "tests/store/test_writer.py",
    "arbiter/store/records.py": "tests/store/test_seals.py",
}
"""Tests of modules that have neither a test of their own name nor a whole folder of tests that runs compiled."""

SKIPPED = {"SHORT_COMPILED": ("interpreted", "long"), "LONG_COMPILED": ("interpreted",)}
"""The lists of the Makefile, and the marks of the tests that are left out of each."""


def compiled_modules() -> list[str]:
    """Return the paths of the modules that are compiled, by mypyc or from C."""
    hatch = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]
    hook = hatch["build"]["targets"]["wheel"]["hooks"]["custom"]
    return sorted({str(path.relative_to(ROOT)) for name in hook["compiled"] + hook["c"] for path in ROOT.glob(name)})


@cache
def arguments(variable: str) -> list[str]:
    """Return a variable of the Makefile: arguments of pytest."""
    command = ["make", "--no-print-directory", "--eval", f"shown: ; @echo '$({variable})'", "shown"]
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS")}
    shown = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    return shlex.split(shown.stdout)


def places(variable: str) -> set[str]:
    """Return the files and folders of tests that a list names, without what it ignores."""
    words = arguments(variable)
    return {word for before, word in pairwise(["", *words]) if word.startswith("tests/") and not before.startswith("-")}


def runs(variable: str, file: str) -> bool:
    """Return whether a list runs tests of a file."""
    ignored = {word for before, word in pairwise(arguments(variable)) if before == "--ignore"}
    if file in ignored or not any(file == place or file.startswith(f"{place}/") for place in places(variable)):
        return False
    text = (ROOT / file).read_text(encoding="utf-8")
    return not re.search(rf"^pytestmark = .*\b({'|'.join(SKIPPED[variable])})\b", text, re.MULTILINE)


@pytest.mark.parametrize("module", compiled_modules())
def test_tests_of_each_compiled_module_run_compiled(module: str) -> None:
    folder, name = os.path.split(f"tests/{module.removeprefix('arbiter/')}")
    own, has_folder = f"{folder}/test_{name}", folder in places("SHORT_COMPILED")
    has_own = (ROOT / own).exists()
    assert not (module in OTHER_NAMES and (has_own or has_folder)), "the table has no need to name it"
    file = OTHER_NAMES.get(module, own)
    if has_folder and not has_own:
        return
    assert (ROOT / file).exists(), f"{module} is compiled: run {folder} compiled, or say in OTHER_NAMES what tests it"
    assert any(runs(variable, file) for variable in SKIPPED), (
        f"{module} is compiled: add {file} to the Makefile's lists"
    )


def test_the_table_has_only_compiled_modules() -> None:
    assert OTHER_NAMES.keys() <= set(compiled_modules())


def test_the_lists_are_run_without_tests_of_these_marks() -> None:
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\ncompiled-tests: ")[2].partition("\n\n")[0]
    marks = re.findall(r'-m "not ([^"]+)".*?\$\((\w+_COMPILED)\)', recipe, re.DOTALL)
    assert {variable: tuple(left_out.split(" and not ")) for left_out, variable in marks} == SKIPPED
