"""Runs commands: in this process, or a server as another process."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE
from typing import IO, NamedTuple

from arbiter.runtime.loopback import free_port
from tests.arbiter_process import ArbiterProcess

COMMAND = (sys.executable, "-m", "arbiter")
WAIT_S = 240  #: only a test that hangs takes that long, however busy the machine


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """Return the one line that a mistake writes to standard error."""
        assert self.err.startswith("arbiter: ")
        assert self.err.count("\n") == 1, self.err
        assert self.out == ""
        return self.err.removeprefix("arbiter: ").rstrip("\n")


Arbiter = Callable[..., Ran]


def clean_environment(**more: str) -> dict[str, str]:
    """Return this process's environment without variables that configure an arbiter."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ARBITER_")}
    return {**kept, "GRPC_VERBOSITY": "NONE", **more}


class Server:
    """A running `arbiter serve`."""

    def __init__(self, folder: Path, *options: str, port: int | None = None) -> None:
        self.address = f"127.0.0.1:{port or free_port()}"
        self.environment = clean_environment(ARBITER_CREDENTIALS=str(folder / "credentials.json"))
        self.log = folder / "server.log"
        with self.log.open("ab") as log:
            store = f"sqlite:///{folder}/arbiter.db"
            words = ("serve", "--listen", self.address, "--store", store, *options)
            self.process = ArbiterProcess(*words, env=self.environment, stdout=PIPE, stderr=log)
        assert self.process.stdout is not None
        self.said = ""
        while "Next:" not in self.said:
            line = self.process.stdout.readline()
            assert line, self.log.read_text()
            self.said += line

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and return the exit code; the rest of the output is added to `said`."""
        self.process.send_signal(number)
        rest, _ = self.process.communicate(timeout=WAIT_S)
        self.said += rest
        return self.process.returncode

    @contextmanager
    def running(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """Run a command that talks to this server; kill it at the end of the context."""
        environment = {**self.environment, "ARBITER_SERVER": self.address}
        with _ended(ArbiterProcess(*arguments, env=environment, stdout=PIPE)) as process:
            yield process

    @contextmanager
    def bot(self, kind: str, name: str) -> Iterator[subprocess.Popen[str]]:
        """Run a bot on this server that plays one match; kill it at the end of the context."""
        command = [sys.executable, "-m", f"arbiter_client.bots.{kind}", "--name", name, "--matches", "1", "--seed", "1"]
        with _ended(subprocess.Popen([*command, "--server", self.address], env=self.environment, text=True)) as process:
            yield process


@contextmanager
def _ended(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    with process:
        try:
            yield process
        finally:
            process.kill()


def page(said: str) -> str:
    """Return the address of the page in the output of a run."""
    found = re.search(r"Watch it in a browser: (\S+)", said)
    assert found is not None, said
    return found[1]


def begin(
    runs: list[subprocess.Popen[str]], file: Path, *options: str, output: IO[str] | int = PIPE
) -> subprocess.Popen[str]:
    """Begin `arbiter tournament run` in the folder of its file; the fixture `runs` kills it at the end."""
    words = ("tournament", "run", str(file), *options)
    process = ArbiterProcess(*words, cwd=file.parent, stdout=output, stderr=output, env=clean_environment())
    runs.append(process)
    return process
