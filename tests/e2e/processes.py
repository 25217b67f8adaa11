"""Real processes for the end-to-end tests: a server, bots, and any command of a user."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import arbiter_client as arb

from arbiter.runtime.loopback import free_port
from tests.arbiter_process import ArbiterProcess, ran
from tests.processes import WAIT_S, empty_store, until

BIN = Path(sys.executable).parent
METRICS = "The metrics are at "  #: how the line begins that a server prints about them
PAGE = "The page is at "


def started(program: str | Path, *words: str | Path, **given: Any) -> subprocess.Popen[str]:
    """Start a program; `arbiter` is forked, without the imports."""
    if program == BIN / "arbiter":
        return ArbiterProcess(*map(str, words), **given)
    return subprocess.Popen([program, *words], text=True, **given)


@dataclass
class Server:
    """A server process on a folder: it can be killed, and restarted on the same store."""

    folder: Path
    port: int
    admin_token: str = ""
    store: str | None = ""  # by default an SQLite file in the folder; None: the server's own default
    options: Sequence[str] = ()  # options of `arbiter serve`
    command: Sequence[str | Path] = (BIN / "arbiter", "serve")
    surroundings: Mapping[str, str] = field(default_factory=dict)  # options of its clients
    process: subprocess.Popen[str] | None = None
    metrics: str = ""  # the addresses that the server has printed, with commas between them
    page: str = ""  # the address of the page that the server has printed

    @classmethod
    def begun(cls, folder: Path, options: Sequence[str] = ()) -> Self:
        """Return a server that accepts connections, on a free port and with an empty store in a folder."""
        empty_store(folder)
        server = cls(folder, free_port(), options=options)
        server.start()
        return server

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """Return the errors that the server and its workers have logged."""
        return self.folder / "server.log"

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "ARBITER_SERVER": self.address,
            "ARBITER_CREDENTIALS": str(self.folder / "credentials.json"),
            "PYTHONUNBUFFERED": "1",
            "NO_COLOR": "1",
            **self.surroundings,
        }

    def start(self) -> None:
        """Start the server, and wait until it says that it listens."""
        store = [] if self.store is None else ["--store", self.store or f"sqlite:///{self.folder / 'arbiter.db'}"]
        with self.log.open("a") as log:
            words = ("--listen", self.address, *store, *self.options)
            self.process = started(*self.command, *words, env=self.environment, stdout=subprocess.PIPE, stderr=log)
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if "shown only now:" in line:
                self.admin_token = line.rpartition(" ")[2].strip()
            if line.startswith(PAGE):
                self.page = line.removeprefix(PAGE).strip()
            if line.startswith(METRICS):
                self.metrics = line.removeprefix(METRICS).strip().replace(", ", ",")
            if line.startswith("Next:"):
                return
        raise AssertionError(f"the server did not start: {self.log.read_text()}")

    def kill(self) -> None:
        """Kill the server with SIGKILL."""
        self.signal(signal.SIGKILL)
        self.ended()

    def stop(self) -> int:
        """Stop the server as an operator does; return its exit status."""
        self.signal(signal.SIGTERM)
        return self.ended()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the server."""
        assert self.process is not None
        self.process.send_signal(number)

    def line(self) -> str:
        """Wait for the next line that the server prints."""
        assert self.process is not None
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def ended(self) -> int:
        """Wait for the end of the server; return its exit status."""
        assert self.process is not None
        assert self.process.stdout is not None
        with self.process.stdout:
            return self.process.wait()

    def arbiter(self, *words: str, check: bool = True) -> str:
        """Run a command as a user of this server; return its output."""
        run = ran(*words, env=self.environment)
        assert not check or run.returncode == 0, run.stderr
        return run.stdout

    def client(self, patience_s: float = 1.0) -> arb.BlockingClient:
        """Return a client with the first token, which has all scopes.

        patience_s: how long the client waits where the server asks it to: a test that polls makes more calls than a
        player may.
        """
        return arb.BlockingClient(self.address, token=self.admin_token, patience_s=patience_s)

    def wait_for_players(self, *names: str) -> None:
        """Wait until these players are registered; bots register when they start."""
        with self.client(WAIT_S) as client:
            until(lambda: set(names) <= {player.name for player in client.list_players()})

    @contextlib.contextmanager
    def running(
        self,
        command: Sequence[str | Path],
        folder: Path | None = None,
        surroundings: Mapping[str, str] | None = None,
    ) -> Iterator[subprocess.Popen[str]]:
        """Run a program beside the server while the context lasts, in a folder and with extra variables."""
        environment = {**self.environment, **(surroundings or {})}
        with (self.folder / "programs.log").open("a") as log:
            process = started(*command, cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            yield process
        finally:
            process.terminate()
            process.wait()
