"""Options and order of the whole suite: how long the long tests are, and in what order several workers run them."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import structlog
from hypothesis import settings
from hypothesis.database import DirectoryBasedExampleDatabase

from arbiter.runtime.loop import GRPC_ENVIRONMENT
from tests.clients.toolchains import CACHE
from tests.needs import path_without

# Tests start hundreds of processes. If this is set, each compiles every module that it imports, which is most of its
# work.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# As in the product: some tests start a program as another user from a process in which gRPC runs.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", GRPC_ENVIRONMENT["GRPC_ENABLE_FORK_SUPPORT"])

# Programs that tests start can be interrupted: a shell runs background jobs with SIGINT ignored.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The collected tests live until the end: the garbage collector need not visit them again and again.
gc.disable()

# Hypothesis reads the source of every module that is loaded, and keeps what it finds there. Kept beside the other
# caches, it serves every process of the tests and the next clone. The examples that failed stay in this folder.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(CACHE / "hypothesis"))
FAILED_EXAMPLES = DirectoryBasedExampleDatabase(Path(__file__).parents[1] / ".hypothesis" / "examples")

# No test has a deadline: a busy machine is no bug.
for name, examples in (("short", 25), ("quick", 15), ("whole", 200), ("soak", 5_000)):
    settings.register_profile(name, max_examples=examples, deadline=None, database=FAILED_EXAMPLES)
settings.load_profile("short")


MARKS = ("toolchain", "long")
SCALES = ("kills", "seeds", "players", "minutes")
"""Fixtures that say how long a test is; a test that uses one is marked so."""
SHORT_PATH = pytest.StashKey[str]()  #: the programs that a short test finds


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder of programs for short tests; it is removed with this process."""
    folder = tempfile.TemporaryDirectory(prefix="arbiter-programs-")
    config.add_cleanup(folder.cleanup)
    config.stash[SHORT_PATH] = path_without(Path(folder.name))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add options for the long tests: the defaults are their short form, `make soak` asks for the long one."""
    group = parser.getgroup("arbiter", "how long the long tests are")
    group.addoption("--kills", type=int, default=5, help="how often a server process is killed")
    group.addoption("--seeds", type=int, default=20, help="how many seeds are simulated")
    group.addoption("--players", type=int, default=100, help="how many players the largest tournament has")
    group.addoption("--minutes", type=int, default=1, help="how long everything happens in one run")
    group.addoption("--soak", action="store_true", help="run tests marked `soak` too")
    group.addoption("--load", action="store_true", help="load every module, which compiles it, and collect no test")


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector) -> list[pytest.Item] | None:
    """Make no test of a module that is only loaded."""
    return [] if collector.config.getoption("--load") else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that have a long form, and leave those marked `soak` to `make soak`.

    Long tests come first, so that no worker is busy with one at the end.
    """
    for item in items:
        given = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        for scale in SCALES:
            if scale in getattr(item, "fixturenames", ()) and scale not in given:
                item.add_marker(scale)
    if not config.getoption("--soak"):
        left_out = [item for item in items if item.get_closest_marker("soak")]
        items[:] = [item for item in items if not item.get_closest_marker("soak")]
        config.hook.pytest_deselected(items=left_out)
    items.sort(key=_rank)


def pytest_collection_finish() -> None:
    """Exclude all present objects from garbage collection."""
    gc.freeze()
    gc.enable()


def _rank(item: pytest.Item) -> int:
    return next((rank for rank, mark in enumerate(MARKS) if item.get_closest_marker(mark)), len(MARKS))


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    """Restore the configuration of logs after each test: it may use a stream that is closed by then."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)


@pytest.fixture(scope="session")
def kills(request: pytest.FixtureRequest) -> int:
    """Return how often a server process is killed."""
    return int(request.config.getoption("--kills"))


@pytest.fixture(scope="session")
def seeds(request: pytest.FixtureRequest) -> int:
    """Return how many seeds are simulated."""
    return int(request.config.getoption("--seeds"))


@pytest.fixture(scope="session")
def players(request: pytest.FixtureRequest) -> int:
    """Return how many players the largest tournament has."""
    return int(request.config.getoption("--players"))


@pytest.fixture(scope="session")
def minutes(request: pytest.FixtureRequest) -> int:
    """Return for how many minutes everything happens in one run."""
    return int(request.config.getoption("--minutes"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    """Hide programs from the fixtures of a short test."""
    with _short_path(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Hide programs from a short test. The end of fixtures finds them, since other tests may have used these too."""
    with _short_path(item):
        return (yield)


@contextmanager
def _short_path(item: pytest.Item) -> Iterator[None]:
    """Hide the programs of `tests.needs` if a test is short: `make quick` passes without them."""
    if _rank(item) < len(MARKS):
        yield
        return
    before = os.environ["PATH"]
    os.environ["PATH"] = item.config.stash[SHORT_PATH]
    try:
        yield
    finally:
        os.environ["PATH"] = before


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that would be skipped in CI: no test may be left out there."""
    report = yield
    if report.skipped and os.environ.get("CI") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI, where nothing may be left out: {report.longrepr}"
    return report
