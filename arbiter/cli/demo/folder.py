"""The folder of a run: plan, database, logs, transcripts. Runs are numbered, and a number is never used again."""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from arbiter.cli.demo.plan import Fixture, plan
from arbiter.cli.failure import Failure

PLAN = "plan.json"
_RUN = re.compile(r"run-([1-9][0-9]*)", re.ASCII)


class Terms(NamedTuple):
    """What a run was started with, kept so that it goes on with the same matches."""

    games: tuple[str, ...]
    cycles: int
    time: str

    def fixtures(self) -> tuple[Fixture, ...]:
        """Return the matches of the run, in the order of play. Raises as `plan` does."""
        return plan(self.games, self.cycles, self.time)


class Folder(NamedTuple):
    """The folder of one run."""

    path: Path

    @property
    def name(self) -> str:
        """The run's name, such as `run-3`."""
        return self.path.name

    @property
    def store(self) -> str:
        """The address of the run's database."""
        return f"sqlite:///{self.path.resolve() / 'arbiter.db'}"

    @property
    def keys(self) -> Path:
        """Where the public keys are kept that verify the transcripts."""
        return self.path / "keys.json"

    def log(self, process: str) -> Path:
        """Return where a process of the run writes."""
        return self.path / "logs" / f"{process}.log"

    def transcript(self, fixture: Fixture) -> Path:
        """Return where the record of a match is kept."""
        game = re.sub(r"[^a-z0-9-]+", "-", fixture.game).strip("-")
        return self.path / "transcripts" / game / fixture.file_name

    def terms(self) -> Terms:
        """Return what the run was started with. Raises Failure for a file that is none."""
        file = self.path / PLAN
        try:
            told = json.loads(file.read_text(encoding="utf-8"))
            return Terms(tuple(map(str, told["games"])), int(told["cycles"]), str(told["time"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Failure(f"{file} does not say what to play ({error}): start a new run without --resume") from None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes from playing the same run. Raises Failure if one does."""
        handle = os.open(self.path / PLAN, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise Failure(f"{self.path} is being played by another process: wait for it, or start a new run") from None
        finally:
            os.close(handle)


def begin(directory: Path, terms: Terms) -> Folder:
    """Make the folder of a new run. Raises Failure where it can't be made."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        number = max(_numbers(directory), default=0)
        while True:
            number += 1
            path = directory / f"run-{number}"
            try:
                path.mkdir()
                break
            except FileExistsError:
                continue
        (path / "logs").mkdir()
        draft = path / f"{PLAN}.draft"
        draft.write_text(json.dumps(terms._asdict(), indent=2) + "\n", encoding="utf-8")
        draft.replace(path / PLAN)
    except OSError as error:
        raise Failure(f"can't make a folder for the run in {directory}: {error.strerror or error}") from None
    return Folder(path)


def newest(directory: Path) -> Folder:
    """Return the newest run. Raises Failure if there is none."""
    try:
        numbers = [number for number in _numbers(directory) if (directory / f"run-{number}" / PLAN).exists()]
    except OSError as error:
        raise Failure(f"there is no run in {directory} to go on with ({error.strerror})") from None
    if not numbers:
        raise Failure(f"there is no run in {directory} to go on with: start one without --resume")
    return Folder(directory / f"run-{max(numbers)}")


def _numbers(directory: Path) -> list[int]:
    return [int(found[1]) for entry in directory.iterdir() if (found := _RUN.fullmatch(entry.name))]
