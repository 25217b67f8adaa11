"""What fails is played again, alone: in a small project, tests fail always, the first time, or end their worker."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ONCE = """
import os
from pathlib import Path

def fails_once(name):
    before = Path(__file__).with_name(name)
    if not before.exists():
        before.touch()
        print(f"this is {name}")
        raise LookupError(f"the first time of {name}")
"""
PLUGINS = ("-p", "xdist.plugin", "-p", "tests.unsteady")
ROOT = Path(__file__).parents[1]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return the folder of a project with a test that passes, and nothing of this project's but the plug-in."""
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    (tmp_path / "test_well.py").write_text("def test_well(): pass\n")
    return tmp_path


def plant(project: Path, steady: int = 0, unsteady: int = 0, dying: int = 0) -> None:
    """Add tests that fail always, that fail the first time, and that end their worker the first time."""
    tests = [f"def test_steady_{number}(): assert {number} < 0" for number in range(steady)]
    tests += [f"def test_unsteady_{number}(): fails_once('u{number}')" for number in range(unsteady)]
    tests += [
        f"def test_dying_{number}():\n    try: fails_once('d{number}')\n    except LookupError: os._exit(3)"
        for number in range(dying)
    ]
    (project / "test_planted.py").write_text(ONCE + "\n\n".join(tests) + "\n")


def python(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the project."""
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )


def run(project: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Play all tests of the project."""
    return python(project, "pytest", *PLUGINS, "--failures", "build/tests/every.json", *options, ".")


def again(project: Path) -> tuple[int, str]:
    """Play what failed again; return the exit status and what stands behind pytest's own lines."""
    ran = python(project, "tests.unsteady", "build/tests")
    return ran.returncode, ran.stdout[ran.stdout.rfind("=\n") + 1 :].strip()


def test_without_a_failure_nothing_is_played_again(project: Path) -> None:
    assert run(project).returncode == 0
    assert again(project) == (0, "No test failed.")


def test_a_steady_failure_fails_the_run(project: Path) -> None:
    plant(project, steady=1, unsteady=1)
    assert run(project).returncode == 0
    status, said = again(project)
    assert status == 1
    assert said.endswith("Tests that failed twice: 1\n  test_planted.py::test_steady_0: assert 0 < 0")
    assert "test_unsteady_0" in said


@pytest.mark.parametrize("options", [(), ("-n", "2", "--dist", "loadscope")], ids=["one process", "two workers"])
def test_an_unsteady_test_is_named_last_and_kept_and_does_not_fail_the_run(
    project: Path, options: tuple[str, ...]
) -> None:
    plant(project, unsteady=1)
    assert run(project, *options).returncode == 0
    status, said = again(project)
    kept = project / "build" / "unsteady.txt"
    assert status == 0
    assert said.splitlines() == [
        f"Unsteady tests: 1 (at most 5 pass). Their first errors are in {kept.relative_to(project)}; mend them:",
        "  test_planted.py::test_unsteady_0: LookupError: the first time of u0",
    ]
    assert kept.read_text().startswith("test_planted.py::test_unsteady_0\n")
    assert "in fails_once" in kept.read_text() or "fails_once('u0')" in kept.read_text()
    assert "--- Captured stdout call\nthis is u0\n" in kept.read_text()


def test_a_test_that_ended_its_worker_is_played_again(project: Path) -> None:
    plant(project, dying=1)
    assert run(project, "-n", "2").returncode == 0
    status, said = again(project)
    assert status == 0
    assert "test_planted.py::test_dying_0: worker 'gw" in said


@pytest.mark.parametrize(("unsteady", "status"), [(5, 0), (6, 1)])
def test_more_than_five_unsteady_tests_fail_the_run(project: Path, unsteady: int, status: int) -> None:
    plant(project, unsteady=unsteady)
    assert run(project).returncode == 0
    ended, said = again(project)
    assert ended == status
    assert all(f"test_unsteady_{number}: LookupError" in said for number in range(unsteady))


def test_an_earlier_run_leaves_nothing_behind(project: Path) -> None:
    plant(project, unsteady=1)
    run(project)
    again(project)
    assert run(project).returncode == 0
    assert again(project) == (0, "No test failed.")
    assert not (project / "build" / "unsteady.txt").exists()


def test_many_failures_are_not_played_again(project: Path) -> None:
    plant(project, unsteady=41)
    run(project)
    status, said = again(project)
    assert status == 1
    assert said.startswith("41 tests failed, too many to play again (at most 40):\n")


def test_what_is_no_failed_test_fails_at_once(project: Path) -> None:
    (project / "test_planted.py").write_text("import nothing_of_this_name\n")
    assert run(project).returncode == pytest.ExitCode.INTERRUPTED


def test_every_run_of_make_test_writes_its_failures_and_the_last_command_plays_them_again() -> None:
    said = subprocess.run(
        ["make", "--dry-run", "--no-print-directory", "NOTED=/dev/null", "test"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    commands = said.replace("\\\n", " ").strip().splitlines()
    of_tests = (
        each for each in commands if "/pytest " in each and "-q tests/test_sizes.py" not in each
    )  # of make check
    runs = [command for command in of_tests if "--load" not in command]
    assert len(runs) == 3
    assert len({command.split("--failures ")[1].split()[0] for command in runs}) == 3
    assert "-m tests.unsteady build/tests " in commands[-1]
