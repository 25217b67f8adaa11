"""Bots that try to escape from their sandbox: as root and as another user, started in each way.

Each attempt of `escapes/attempts.py` succeeds without a sandbox: the first test shows that.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Any, Final, NamedTuple

import pytest

from tests.cli.command import COMMAND, clean_environment
from tests.processes import descendants, until

STRANGER: Final = 61_000  #: a user without any rights
LEFT: Final = 3  #: processes that the bot leaves behind
LEAST: Final = 250  #: attempts
WAIT_S: Final = 240
AS_STRANGER: Final = f"""
set -e
mkdir -p {{0}}; mount --bind {{1}} {{0}}; mount -t tmpfs -o mode=755 none /root
mkdir -p {{1}}; mount --bind {{0}} {{1}}; umount {{0}}
exec setpriv --reuid {STRANGER} --regid {STRANGER} --clear-groups -- "$@"
"""
"""If Python is in root's home, other users can't run it: in a mount namespace of its own, everybody can."""

REPOSITORY: Final = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap"),
    pytest.mark.timeout(WAIT_S + 60),
]
users = pytest.mark.parametrize("stranger", [False, True], ids=["the user of the tests", "another user"])


@pytest.fixture
def base() -> Iterator[Path]:
    """Yield a folder that every user may traverse, unlike those of pytest."""
    with tempfile.TemporaryDirectory(prefix="arbiter-escapes-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def as_stranger(base: Path) -> list[str]:
    """Return the prefix of a command that runs it as another user."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user; this suite runs as an ordinary one")
    os.chown(base, STRANGER, STRANGER)
    become = ["setpriv", "--reuid", str(STRANGER), "--regid", str(STRANGER), "--clear-groups", "--"]
    python = Path(sys.base_prefix).resolve()
    ask = [*become, sys.executable, "-c", "import os; print(os.__file__)"]
    if subprocess.run(ask, capture_output=True, text=True, check=False).stdout.strip() == os.__file__:
        return become
    assert python.is_relative_to("/root"), f"another user can't run {python}"
    return ["unshare", "-m", "sh", "-c", AS_STRANGER.format(base / "held", python), "sh"]


def make_program_of_root(base: Path, owner: int) -> None:
    """Put a set-user-id program of root's in the bot's folder: it runs as root whoever starts it."""
    own = base / "bots/ann"
    own.mkdir(parents=True)
    shutil.copy("/usr/bin/id", own / "whoami")
    (own / "whoami").chmod(0o4755)
    for folder in (own.parent, own):
        os.chown(folder, owner, owner)


class Played(NamedTuple):
    """The output of a bot that tried to escape: its attempts by name, its summaries; and what it left behind."""

    attempts: dict[str, dict[str, Any]]
    summaries: list[dict[str, Any]]
    left: int


def played(base: Path, stranger: bool, *way: str) -> Played:
    """Have a bot try to escape.

    stranger: as another user than the tests. way: as in `escapes/world.py`.
    """
    before: Sequence[str] = as_stranger(base) if stranger else ()
    if os.geteuid() == 0:
        make_program_of_root(base, STRANGER if stranger else 0)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ARBITER_")}
    run = subprocess.run(
        [*before, sys.executable, "-m", "tests.sandbox.escapes.world", str(base), *way],
        cwd=REPOSITORY,
        env={**kept, "HOME": str(base)},
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
        start_new_session=True,
    )
    lines = [json.loads(line) for line in run.stdout.splitlines() if line.startswith('{"')]
    attempts = {line["attempt"]: line for line in lines if "attempt" in line}
    summaries = [line for line in lines if "tried" in line]
    left = [line["left"] for line in lines if "left" in line]
    assert left, run.stdout[-2_000:] + run.stderr[-2_000:]
    assert summaries, run.stdout[-2_000:] + run.stderr[-2_000:]
    return Played(attempts, summaries, left[0])


@users
def test_without_a_sandbox_every_attempt_succeeds(base: Path, stranger: bool) -> None:
    found = played(base, stranger, "open")
    root = os.geteuid() == 0 and not stranger
    held = [
        name
        for name, each in found.attempts.items()
        if each["verdict"] == "in" and not each["by_machine"] and (root or not each["root"])
    ]
    expected = [] if os.geteuid() == 0 else ["run a program as its owner"]  # no program of root's exists there
    assert held == expected, "these attempts can't show that the sandbox works"
    assert len(found.attempts) >= LEAST
    assert found.left == LEFT


@users
@pytest.mark.parametrize("way", ["sandbox", "spawned"])
def test_in_the_sandbox_no_attempt_succeeds(base: Path, stranger: bool, way: str) -> None:
    found = played(base, stranger, way)
    assert found.summaries == [{"tried": len(found.attempts), "out": []}]
    assert len(found.attempts) >= LEAST
    assert found.left == 0


WAYS = {
    "tournament run": ("tournament", "run", "cup.toml", "--sandbox", "require"),
    "bot run": (
        *("bot", "run", "--exec", "{bot}", "--name", "ann", "--sandbox", "require", "--start-time", "100"),
        *("--restarts", "0", "--server", "127.0.0.1:9"),
    ),
    "conformance": (
        *("conformance", "--bot", "{bot}", "--sandbox", "require", "--only", "hello.first", "--json", "report.json"),
        *("--timeout-scale", "5", "--stages", "1"),
    ),
}


@pytest.mark.parametrize(
    ("way", "stranger"),
    [
        pytest.param(way, stranger, id=f"{way}-{who}", marks=() if way == "bot run" else pytest.mark.soak)
        for stranger, who in ((False, "the user of the tests"), (True, "another user"))
        for way in WAYS
    ],
)
def test_no_attempt_succeeds_with_any_command_that_starts_bots(base: Path, stranger: bool, way: str) -> None:
    found = played(base, stranger, *WAYS[way])
    for summary in found.summaries:
        assert summary["out"] == []
        assert summary["tried"] >= LEAST
    assert found.left == 0


def bots_of(process: int) -> list[int]:
    """Return the processes of bundled bots that a process has started."""
    below = descendants(process).items()
    return [number for number, line in below if "-m arbiter_client.bots" in line.split(" -- ")[0]]


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("play", "hop-it"), id="play"),
        pytest.param(("demo", "--games", "hop-it"), id="demo", marks=pytest.mark.soak),
    ],
)
def test_bundled_bots_run_in_a_sandbox_too(base: Path, words: Sequence[str]) -> None:
    process = subprocess.Popen([*COMMAND, *words], cwd=base, stdin=PIPE, stdout=DEVNULL, env=clean_environment())
    try:
        until(lambda: process.poll() is not None or bots_of(process.pid))
        found = bots_of(process.pid)
        for number in found:
            said = dict(line.split(":\t", 1) for line in Path(f"/proc/{number}/status").read_text().splitlines())
            assert (said["Seccomp"], said["NoNewPrivs"], int(said["CapEff"], 16)) == ("2", "1", 0)
            assert "0" not in said["Uid"].split() + said["Gid"].split()
            for space in ("net", "pid", "mnt", "ipc", "uts"):
                assert Path(f"/proc/{number}/ns/{space}").readlink() != Path(f"/proc/self/ns/{space}").readlink()
        assert found
        assert process.poll() is None
    finally:
        process.terminate()
        process.communicate()
