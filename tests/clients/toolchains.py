"""What the clients' own tests need: the tools of their languages, and a way to run them that shows what they said."""

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
LINES_SHOWN = 80  #: of what a command that failed said last: what failed stands there, not in how it was built


LINTED = {"RUSTC_WORKSPACE_WRAPPER": "clippy-driver", "CLIPPY_ARGS": "--deny__CLIPPY_HACKERY__warnings"}
"""Has cargo compile our own crate by clippy's compiler, as `cargo clippy -- --deny warnings` does.

`cargo clippy` itself would compile all of the client's dependencies a second time, for it keeps only their metadata.
"""


def require(*programs: str, why: str) -> None:
    """Skip the test where a program is missing, and say what for; in CI (CI=true) that is a failure."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        said = f"there is no {' and no '.join(missing)}: {why}"
        if os.environ.get("CI"):
            pytest.fail(said)
        pytest.skip(said)


@contextmanager
def held(client: str, alone: bool) -> Iterator[None]:
    """Hold the folder of a client: alone to build in it, or with others to use what was built.

    Tests of one client may run at the same time, and no build shall take away what another one runs.
    """
    locks = CLIENTS.parent / ".pytest_cache"
    locks.mkdir(exist_ok=True)
    with (locks / f"{client}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield


def kept(tree: Path = CLIENTS.parent) -> dict[str, str]:
    """Return this process's environment, with variables that have compilers keep what they made.

    The next clone of the tree on this machine compiles only its own crate in Rust, and in C++ only what has changed.

    tree: the folder of the sources and of what is built from them; its path does not matter to what is kept.
    """
    kept = {"CARGO_BUILD_BUILD_DIR": str(CACHE / "cargo")}
    if shutil.which("ccache") is not None:
        kept |= {
            "CMAKE_CXX_COMPILER_LAUNCHER": "ccache",
            "CCACHE_BASEDIR": str(tree),
            "CCACHE_NOHASHDIR": "true",
            # Its manual asks for these where headers are compiled in advance.
            "CCACHE_SLOPPINESS": "pch_defines,time_macros",
            "CXXFLAGS": "-fpch-preprocess",
        }
    return {**os.environ, **kept}


def run(client: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """Run a command in the folder of a client, alone; return what it said. The test fails where the command does.

    environment: variables that are set for it beside those of this process.
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
