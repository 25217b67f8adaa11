"""The tools of the clients' languages for the clients' own tests, and a way to run them that shows their output."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

CLIENTS = Path(__file__).parents[2] / "clients"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "arbiter-tests")
PROGRAMS = {"rust": "target/debug/examples", "cpp": "build/bin", "java": "target"}
"""The folder of the samples, for the clients that are built in a copy of the tree which all clones share."""
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
        yield


@contextmanager
def building(client: str) -> Iterator[Path]:
    """Lock the folder of a client exclusively; yield the folder in which its tools run.

    An exception in the context says that the build is not complete.
    """
    with held(client, alone=True):
        if client not in PROGRAMS:
            yield CLIENTS / client
            return
        mirror = CACHE / client
        mirror.mkdir(parents=True, exist_ok=True)
        with (mirror / "lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            folder, complete = mirror / "clients" / client, mirror / "complete"
            again = not complete.exists()
            complete.unlink(missing_ok=True)
            again |= mirror_tree(CLIENTS.parent, client, mirror)
            offline = folder / ".mvn" / "maven.config"
            if client == "java" and again:  # Maven does not see all that has changed
                shutil.rmtree(folder / "target", ignore_errors=True)
            elif client == "java":  # online, it would generate the protocol's code again, and compile it
                offline.write_text("--offline\n")
            yield folder
            offline.unlink(missing_ok=True)
            complete.touch()
            programs = Path("clients", client, PROGRAMS[client])
            if (mirror / programs).exists():
                shutil.rmtree(CLIENTS.parent / programs, ignore_errors=True)
                shutil.copytree(mirror / programs, CLIENTS.parent / programs)


def mirror_tree(tree: Path, client: str, mirror: Path) -> bool:
    """Bring the copy of a client's sources up to date that all clones of the tree share; return whether it was not.

    cargo and ninja compare times, and rustc paths: so they compile there only what differs from what the last clone
    had.
    """
    changed = False
    (mirror / "clients").mkdir(exist_ok=True)
    for link in (".venv", "clients/vectors"):
        (mirror / link).unlink(missing_ok=True)
        (mirror / link).symlink_to(tree / link)
    for part in (f"clients/{client}", "protos"):
        files, copied = _sources(tree / part), _sources(mirror / part)
        for name in copied - files:
            (mirror / part / name).unlink()
            changed = True
        for name in files:
            copy, content = mirror / part / name, (tree / part / name).read_bytes()
            if name not in copied or copy.read_bytes() != content:
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(content)
                changed = True
    return changed


def _sources(folder: Path) -> set[Path]:
    """Return the paths in a folder of all files that were not built."""
    found = (file.relative_to(folder) for file in folder.rglob("*") if file.is_file())
    return {name for name in found if not re.search(r"(^|/)(target|build[^./]*|__pycache__)/", str(name))}


def kept(tree: Path = CLIENTS.parent) -> dict[str, str]:
    """Return this process's environment, with variables that make compilers cache their results.

    The next clone of the tree on this machine compiles only what has changed. Without `-trimpath`, Go's cache would
    depend on the folder of the clone.

    tree: the folder of the sources and of what is built from them; the cache does not depend on its path.
    """
    kept = {
        "CARGO_BUILD_BUILD_DIR": str(CACHE / "rust" / "build"),
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
    with building(client) as folder:
        ran = subprocess.run(
            command,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=3_000,
            env={**kept(folder.parents[1]), **(environment or {})},
        )
        if ran.returncode != 0:
            end = "\n".join(ran.stdout.splitlines()[-LINES_SHOWN:])
            pytest.fail(f"{' '.join(command)} in clients/{client} ended with {ran.returncode}:\n{end}", pytrace=False)
    return ran.stdout
