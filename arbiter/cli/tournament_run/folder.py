"""The folder of a run: plan, record, keys, logs. Runs are numbered, and a number is never reused."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from arbiter.cli.failure import Failure

PATIENCE_S: Final = 12.0  #: time for the server of a killed run to end
LOOK_EVERY_S: Final = 0.1
PRIVATE: Final = 0o700  #: the bots' output is for their authors, and for the person who runs them

RUN_PREFIX: Final = "run-"
_RUN: Final = re.compile(rf"{RUN_PREFIX}([1-9][0-9]*)", re.ASCII)


class Folder(NamedTuple):
    """The folder of one run. plan: the name of the file that holds the plan."""

    path: Path
    plan: str

    @property
    def name(self) -> str:
        """The run's name, such as `run-3`."""
        return self.path.name

    @property
    def store(self) -> str:
        """The address of the run's database."""
        return f"sqlite:///{self.path.resolve() / 'arbiter.db'}"

    @property
    def key_ring(self) -> Path:
        """The file of the signing keys of the run's server."""
        return self.path.resolve() / "arbiter.keys"

    @property
    def plan_file(self) -> Path:
        """The file that holds the plan."""
        return self.path / self.plan

    @property
    def keys(self) -> Path:
        """The file of the public keys that verify the transcripts."""
        return self.path / "keys.json"

    def log(self, process: str) -> Path:
        """Return the log file of a process of the run."""
        return self.path / "logs" / f"{process}.log"

    def notes(self, bot: str) -> Path:
        """Return the folder of a bot's output, one file per match."""
        return self.path / "bots" / bot

    def remove(self) -> None:
        """Remove it with all that is in it, as far as it can be removed."""
        shutil.rmtree(self.path, ignore_errors=True)

    @contextmanager
    def held(self, patience_s: float = PATIENCE_S) -> Iterator[int]:
        """Lock the run against other processes; yields the locked file, which the run's server inherits.

        The server of a killed run holds the lock until it has ended. Raises Failure if another process is playing the
        run.
        """
        handle = os.open(self.plan_file, os.O_RDONLY)
        try:
            give_up_s = time.monotonic() + patience_s
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() >= give_up_s:
                        raise
                    time.sleep(LOOK_EVERY_S)
            yield handle
        except BlockingIOError:
            raise Failure(f"{self.path} is being played by another process: wait for it, or start a new run") from None
        finally:
            os.close(handle)


def begin(directory: Path, plan: str, text: str) -> Folder:
    """Create the folder of a new run, with its plan. Raises Failure if it cannot be created."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        number = max(_numbers(directory), default=0)
        while True:
            number += 1
            path = directory / f"{RUN_PREFIX}{number}"
            try:
                path.mkdir()
                break
            except FileExistsError:
                continue
        (path / "logs").mkdir(PRIVATE)
        (path / "bots").mkdir(PRIVATE)
        draft = path / f"{plan}.draft"
        draft.write_text(text, encoding="utf-8")
        draft.replace(path / plan)
    except OSError as error:
        raise Failure(f"can't make a folder for the run in {directory}: {error.strerror or error}") from None
    return Folder(path, plan)


def newest(directory: Path, plan: str) -> Folder:
    """Return the newest run. Raises Failure if there is none."""
    try:
        numbers = [number for number in _numbers(directory) if (directory / f"{RUN_PREFIX}{number}" / plan).exists()]
    except OSError as error:
        raise Failure(f"there is no run in {directory} to continue ({error.strerror})") from None
    if not numbers:
        raise Failure(f"there is no run in {directory} to continue: start one without --resume")
    return Folder(directory / f"{RUN_PREFIX}{max(numbers)}", plan)


def shown(path: Path) -> Path:
    """Return a path as a person would write it relative to the current folder."""
    try:
        return path.resolve().relative_to(Path.cwd())
    except ValueError:
        return path.resolve()


def _numbers(directory: Path) -> list[int]:
    return [int(found[1]) for entry in directory.iterdir() if (found := _RUN.fullmatch(entry.name))]
