"""The tools of the clients' languages for the clients' own tests, and a way to run them that shows their output."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

CLIENTS = Path(__file__).parents[2] / "clients"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "arbiter-tests")
LOCKS = CLIENTS.parent / ".pytest_cache"
LINES_SHOWN = 80  #: lines from the end of a failed command's output: the failure is there, after the build


LINTED = {"RUSTC_WORKSPACE_WRAPPER": "clippy-driver", "CLIPPY_ARGS": "--deny__CLIPPY_HACKERY__warnings"}
"""Makes cargo compile our own crate with clippy, as `cargo clippy -- --deny warnings` does.

`cargo clippy` itself would compile all of the client's dependencies a second time, because it keeps only their
metadata.
"""


def require(*programs: str, why: str) -> None:
    """Skip the test if a program is missing, and say what needs it; in CI (CI=true) a skip is a failure."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        said = f"there is no {' and no '.join(missing)}: {why}"
        if os.environ.get("CI"):
            pytest.fail(said)
        pytest.skip(said)


@contextmanager
def held(client: str, alone: bool) -> Iterator[None]:
    """Lock the folder of a client: exclusively to build in it, or shared to use what was built.

    Tests of one client may run at the same time, and no build may replace what another test runs.
    """
    LOCKS.mkdir(exist_ok=True)
    with (LOCKS / f"{client}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        if alone and client == "rust":
            _outdate_the_crate_of_another_clone()
        yield


def _outdate_the_crate_of_another_clone() -> None:
    """Have cargo compile our own crate again if another clone was the last to build it in the shared folder.

    cargo compares only times: it would take what was built later from the files of the other clone for ours.
    """
    builder = CACHE / "cargo" / "builder"
    if not builder.exists() or builder.read_text() != str(CLIENTS):
        for root in ("src/lib.rs", "tools/src/main.rs"):
            (CLIENTS / "rust" / root).touch()
        builder.parent.mkdir(parents=True, exist_ok=True)
        builder.write_text(str(CLIENTS))


def kept(tree: Path = CLIENTS.parent) -> dict[str, str]:
    """Return this process's environment, with variables that make compilers cache their results.

    The next clone of the tree on this machine compiles only its own crate in Rust, and in C++ and Go only what has
    changed. Without `-trimpath`, Go's cache would depend on the folder of the clone.

    tree: the folder of the sources and of what is built from them; the cache does not depend on its path.
    """
    kept = {
        "CARGO_BUILD_BUILD_DIR": str(CACHE / "cargo"),
        "GOFLAGS": f"{os.environ.get('GOFLAGS', '')} -trimpath".strip(),
    }
    if shutil.which("ccache") is not None:
        kept |= {
            "CMAKE_CXX_COMPILER_LAUNCHER": "ccache",
            "CCACHE_BASEDIR": str(tree),
            "CCACHE_NOHASHDIR": "true",
            # ccache's manual asks for these settings when there are precompiled headers.
            "CCACHE_SLOPPINESS": "pch_defines,time_macros",
            "CXXFLAGS": "-fpch-preprocess",
        }
    return {**os.environ, **kept}


def run(client: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """Run a command in the folder of a client, exclusively; return its output. The test fails if the command fails.

    environment: variables for the command beside those of this process.
    """
    with held(client, alone=True):
        ran = subprocess.run(
            command,
            cwd=CLIENTS / client,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=3_000,
            env={**kept(), **(environment or {})},
        )
    if ran.returncode != 0:
        end = "\n".join(ran.stdout.splitlines()[-LINES_SHOWN:])
        pytest.fail(f"{' '.join(command)} in clients/{client} ended with {ran.returncode}:\n{end}", pytrace=False)
    return ran.stdout
