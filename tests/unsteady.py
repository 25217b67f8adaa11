"""What failed is played once more, alone: a test that passes then is unsteady, and a few of these do not fail the run.

As a plug-in of pytest (`-p tests.unsteady --failures FILE`) it writes the tests that failed to FILE, and lets pytest
end with 0 if there was no other trouble. As a command (`python -m tests.unsteady FOLDER`), after all runs, it plays
each test of the folder's files again, one at a time. A test that fails twice fails the command; so do more than `MOST`
unsteady ones. The folder's parent then holds `unsteady.txt`, with the whole first error of each, and what it wrote.

An unsteady test is a bug all the same: mend it in the work in which it was seen.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

MOST = 5  #: unsteady tests that do not fail a run
SAID = 200  #: lines of each output and log of a test that are kept with its error
WROTE = "\n--- "  #: what begins each of them
PLAYED_AGAIN = 40  #: failures that are played again; where there are more, no busy machine is the reason
ENVIRONMENT = ("PYTHONPATH", "PYTHONSAFEPATH")  #: what makes a run use the compiled modules

FILE = pytest.StashKey[Path]()
ERRORS = pytest.StashKey[dict[str, str]]()


class Failure(NamedTuple):
    """A test that failed.

    test: its node id. error: the whole text of its first error. command: what plays it again, without the interpreter.
    environment: variables for the command.
    """

    test: str
    error: str
    command: list[str]
    environment: dict[str, str]

    @property
    def last_line(self) -> str:
        """Return the line of the error that says most: pytest's `E` line, or else the last one."""
        lines = [line.strip() for line in self.error.partition(WROTE)[0].splitlines() if line.strip()]
        raised = [line.removeprefix("E").strip() for line in lines if line.startswith("E ")]
        return (raised or lines[-1:] or ["no text"])[0]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the file."""
    parser.getgroup("arbiter").addoption("--failures", type=Path, help="write what failed to this file, and end with 0")


def pytest_configure(config: pytest.Config) -> None:
    """Begin to collect errors, unless this is one of several workers: their reports come to the first process."""
    file = config.getoption("--failures")
    if file is not None and not hasattr(config, "workerinput"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        config.stash[FILE], config.stash[ERRORS] = file.resolve(), {}
        config.pluginmanager.register(_Reports(config.stash[ERRORS]))


class _Reports:
    """Keeps the first error of each test: of its setup, its call or its end, or that of a worker that died in it."""

    def __init__(self, errors: dict[str, str]) -> None:
        self._errors = errors

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            said = [f"{WROTE}{title}\n" + "\n".join(text.splitlines()[-SAID:]) for title, text in report.sections]
            error = report.longreprtext or f"failed in its {report.when}"
            self._errors.setdefault(report.nodeid, "".join((error, *said)))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Write the file. Failed tests alone are no failure yet; anything else that went wrong stays one."""
    config = session.config
    if FILE not in config.stash or not config.stash[ERRORS]:
        return
    paths = set(config.option.file_or_dir)
    options = [argument for argument in config.invocation_params.args if str(argument) not in paths]
    environment = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
    failures = [
        Failure(test, error, ["-m", "pytest", *map(str, options), "-n", "0", test], environment)
        for test, error in config.stash[ERRORS].items()
    ]
    config.stash[FILE].write_text(json.dumps([failure._asdict() for failure in failures], indent=1))
    if exitstatus == pytest.ExitCode.TESTS_FAILED:
        session.exitstatus = pytest.ExitCode.OK


def passes(failure: Failure, file: Path) -> bool:
    """Play a test again in a process of its own, and return whether it passed.

    file: is written by that process if the test fails.
    """
    command = [sys.executable, *failure.command, f"--failures={file}"]
    ran = subprocess.run(command, env={**os.environ, **failure.environment}, check=False)
    return ran.returncode == 0 and not file.exists()


def main(folder: Path) -> int:
    """Play what failed again, and name what is unsteady. Returns the exit status."""
    kept = folder.parent / "unsteady.txt"
    kept.unlink(missing_ok=True)
    failures = [Failure(**row) for file in sorted(folder.glob("*.json")) for row in json.loads(file.read_text())]
    if not failures:
        print("No test failed.")
        return 0
    if len(failures) > PLAYED_AGAIN:
        print(f"{len(failures)} tests failed, too many to play again (at most {PLAYED_AGAIN}):")
        print("\n".join(f"  {failure.test}: {failure.last_line}" for failure in failures))
        return 1
    print(f"Tests that failed: {len(failures)}. Each is played once more, alone.", flush=True)
    unsteady = [failure for failure in failures if passes(failure, folder / "again" / "failed.json")]
    steady = [failure for failure in failures if failure not in unsteady]
    if unsteady:
        kept.write_text("\n\n".join(f"{failure.test}\n{failure.error}" for failure in unsteady) + "\n")
        print(f"\nUnsteady tests: {len(unsteady)} (at most {MOST} pass). Their first errors are in {kept}; mend them:")
        print("\n".join(f"  {failure.test}: {failure.last_line}" for failure in unsteady))
    if steady:
        print(f"\nTests that failed twice: {len(steady)}")
        print("\n".join(f"  {failure.test}: {failure.last_line}" for failure in steady))
    return 1 if steady or len(unsteady) > MOST else 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
