"""The client languages, as commands.toml lists them: the commands that build each client and start its bot."""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.clients.toolchains import CLIENTS, LINTED, LOCKS, building, held, kept

TABLE = Path(__file__).parent / "commands.toml"


class Language(NamedTuple):
    """A language: the folder of its client, the commands that build it, and the command that starts its bot."""

    name: str
    folder: Path
    build: tuple[tuple[str, ...], ...]
    bot: tuple[str, ...]

    @property
    def missing(self) -> list[str]:
        """Return the programs that the build needs and this machine does not have."""
        wanted = [words[0] for words in (*self.build, self.bot) if "/" not in words[0]]
        return sorted({program for program in wanted if shutil.which(program) is None})

    @property
    def command(self) -> str:
        """Return the command that starts the bot in the client's folder, as one text."""
        return shlex.join(self.bot)


BRIDGE = Language(
    "lines",
    CLIENTS / "lines",
    (),
    (sys.executable, "-m", "arbiter", "bot", "run", "--exec", "bash samples/first_move.sh"),
)
"""The bridge for programs that speak lines of text, with its sample in Bash."""


def languages() -> dict[str, Language]:
    """Return the languages that have a client, by name."""
    table = tomllib.loads(TABLE.read_text())
    return {
        name: Language(name, CLIENTS / name, tuple(map(_words, entry["build"])), _words(entry["bot"]))
        for name, entry in table.items()
    }


def _words(words: list[str]) -> tuple[str, ...]:
    return tuple(sys.executable if word == "python" else word for word in words)


@contextmanager
def built(language: Language) -> Iterator[None]:
    """Build a client, and keep its folder unchanged while the context lasts.

    Raises AssertionError with the compiler's output.
    """
    _build(language)
    with held(language.name, alone=False):
        yield


def mark_built(name: str) -> None:
    """Note that the client of a language has been built in this run of the tests, so that no worker builds it again."""
    _mark(name).write_text(_run_id())


def _mark(name: str) -> Path:
    return LOCKS / f"{name}.built"


def _run_id() -> str:
    return os.environ.get("PYTEST_XDIST_TESTRUNUID", "")  # pytest-xdist gives all workers of a run the same


@functools.cache
def _build(language: Language) -> None:
    with building(language.name) as folder:
        # With clippy, the crate is compiled as for its own tests, so that it is compiled once.
        environment = {**kept(folder.parents[1]), **(LINTED if shutil.which("clippy-driver") else {})}
        mark = _mark(language.name)
        if _run_id() and mark.exists() and mark.read_text() == _run_id():
            return  # another test of this run has built it
        for words in language.build:
            run = subprocess.run(
                words, cwd=folder, capture_output=True, text=True, check=False, timeout=3_000, env=environment
            )
            assert run.returncode == 0, f"{shlex.join(words)} failed:\n{run.stdout[-4_000:]}\n{run.stderr[-4_000:]}"
        mark_built(language.name)
