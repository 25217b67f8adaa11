"""A PostgreSQL of the arbiter's own, in a folder: created, started and stopped with the servers.

It listens on a Unix socket in its folder and nowhere else, and only the folder's owner can reach the socket, so nobody
needs a password. The options that keep acknowledged moves safe, and the socket, are on its command line: they come
before `postgresql.conf` in the folder, in which everything else can be set.

    FOLDER/data     the database files, with postgresql.conf
    FOLDER/log      what PostgreSQL says
    FOLDER/lock     held while a process uses the folder
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import pwd
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from arbiter.errors import OperatorError

DATABASE: Final = "arbiter"
LEAST_VERSION: Final = 14
SOCKET: Final = ".s.PGSQL.5432"
LONGEST_SOCKET: Final = 107  #: bytes of a Unix socket's path (sun_path of Linux, without its last byte)
DEBIAN: Final = Path("/usr/lib/postgresql")  #: where Debian has the programs of each version
CONNECTIONS_OF_A_SERVER: Final = 20
OTHER_CONNECTIONS: Final = 30  #: of commands, of an operator, of PostgreSQL itself
READY_S: Final = 120.0  #: the longest time to start; after a crash, PostgreSQL reads its write-ahead log first
STOP_S: Final = 60.0  #: the longest time for an orderly stop
LOOK_S: Final = 0.02  #: time between two looks whether it is ready
MOST_LOG: Final = 10 << 20  #: bytes of the log, after which it is begun anew at a start
DEATH_SIGNAL: Final = 1  #: PR_SET_PDEATHSIG of <linux/prctl.h>
SAFE: Final = ("fsync=on", "full_page_writes=on", "synchronous_commit=on")
CONFIGURATION: Final = """\
# Made by arbiter. The command line comes before this file: it sets the socket, the number of connections, and what
# keeps acknowledged moves safe (fsync, full_page_writes, synchronous_commit).
shared_buffers = 128MB
max_wal_size = 2GB
checkpoint_timeout = 15min
jit = off
log_checkpoints = off
"""

_libc: Final = ctypes.CDLL(None)


class Programs(NamedTuple):
    """A folder with PostgreSQL's programs, and their major version."""

    folder: Path
    version: int


class OwnPostgres:
    """A PostgreSQL in a folder. servers: how many it has room for.

    programs: the folder of its programs; None to look for them. user: its user, where this process is root's.
    """

    def __init__(self, folder: Path, programs: Path | None = None, user: str = "", servers: int = 1) -> None:
        """Find the programs. Raises OperatorError if there are none, or if they can't be run here."""
        self.folder = folder.absolute()
        self._data = self.folder / "data"
        self._check_socket()
        self._account = _account(user)
        self._programs = self._find(programs)
        self._connections = CONNECTIONS_OF_A_SERVER * servers + OTHER_CONNECTIONS

    @property
    def version(self) -> int:
        """The major version of the programs."""
        return self._programs.version

    @property
    def exists(self) -> bool:
        """Whether the database has been made."""
        return self._data.exists()

    @property
    def runs(self) -> bool:
        """Whether a PostgreSQL runs in the folder, whoever has started it."""
        number = self._state()[0]
        if not number:
            return False
        process = Path(f"/proc/{number}")
        try:
            if (process / "comm").read_text().strip() != "postgres":
                return False  # the number was given to another program after a crash
            return (process / "cwd").readlink() == self._data
        except PermissionError:  # it is another user's
            return True
        except OSError:
            return False

    @property
    def is_ready(self) -> bool:
        """Whether it accepts connections."""
        return self._state()[1] == "ready" and self.runs

    @property
    def command(self) -> Sequence[str]:
        """The command that runs it."""
        path = str(self.folder).replace('"', '""')
        options = (
            "listen_addresses=",
            f'unix_socket_directories="{path}"',
            "unix_socket_permissions=0700",
            f"max_connections={self._connections}",
            *SAFE,
        )
        return [
            str(self._programs.folder / "postgres"),
            *("-D", str(self._data)),
            *(word for option in options for word in ("-c", option)),
        ]

    @property
    def surroundings(self) -> Mapping[str, Any]:
        """The arguments of `subprocess.Popen` beside the command.

        Start it from the main thread. If that thread ends, however it does, PostgreSQL takes no more connections and
        ends after its last one (SIGTERM). It has a process group of its own: Ctrl-C in a terminal is not for it.
        """
        return {**self._account, "cwd": self.folder, "process_group": 0, "preexec_fn": _end_with_parent}

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder, and make the database there if there is none.

        Raises OperatorError if another process holds the folder, or if the database can't be made.
        """
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = (self.folder / "lock").open("w")
        except OSError as error:
            raise OperatorError(f"the folder {self.folder} can't be used: {error.strerror or error}") from None
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise OperatorError(
                    f"another arbiter runs the PostgreSQL in {self.folder}: stop it first, or name another folder"
                ) from None
            self._wait_for_the_last_one()
            if self._account:
                os.chown(self.folder, self._account["user"], self._account["group"])
            if not self.exists:
                self._make()
            yield

    def open_log(self) -> Any:
        """Return its log, open for writing at the end."""
        log = self.folder / "log"
        if log.exists() and log.stat().st_size > MOST_LOG:
            log.replace(log.with_suffix(".old"))
        return log.open("ab")

    def why(self) -> str:
        """Return the last thing it said, to explain its end."""
        with suppress(OSError):
            said = (self.folder / "log").read_text(errors="replace").splitlines()
            faults = [line for line in said[-20:] if "FATAL" in line or "PANIC" in line or "ERROR" in line]
            return (faults or said[-1:] or [""])[-1]
        return ""

    def _check_socket(self) -> None:
        if len(os.fsencode(self.folder / SOCKET)) > LONGEST_SOCKET:
            most = LONGEST_SOCKET - len(SOCKET) - 1
            raise OperatorError(
                f"the path {self.folder} is too long for the socket of a PostgreSQL: name a folder whose path has at "
                f"most {most} bytes (--postgres)"
            )

    def _find(self, given: Path | None) -> Programs:
        """Return the programs to use: those of the database's version, or the newest ones."""
        wanted = self._version_of_data()
        found = sorted(_installed(given), key=lambda each: each.version, reverse=True)
        where = f"in {given}" if given is not None else f"in PATH or {DEBIAN}"
        if not found:
            raise OperatorError(
                f"PostgreSQL's programs (initdb, postgres) are not {where}: install it (Debian: postgresql), name "
                "their folder (postgres_programs), or name a database that runs already (--store postgresql://…)"
            )
        for programs in found:
            if programs.version == (wanted or programs.version) and programs.version >= LEAST_VERSION:
                return programs
        versions = ", ".join(str(each.version) for each in found)
        if wanted is None:
            raise OperatorError(f"PostgreSQL {versions} {where} is too old: install {LEAST_VERSION} or newer")
        raise OperatorError(
            f"the database in {self._data} is of PostgreSQL {wanted}, and {where} is only {versions}: install "
            f"{wanted} again, or bring the database to the new version with pg_upgrade"
        )

    def _version_of_data(self) -> int | None:
        with suppress(OSError, ValueError):
            return int((self._data / "PG_VERSION").read_text())
        return None

    def _make(self) -> None:
        """Make the database, whole or not at all."""
        new = self.folder / "data.new"
        shutil.rmtree(new, ignore_errors=True)
        options = ("--auth=trust", "--encoding=UTF8", "--locale=C", "--data-checksums")
        self._run("initdb", "-D", str(new), "-U", DATABASE, *options)
        (new / "postgresql.conf").write_text(CONFIGURATION)
        self._run("postgres", "--single", "-D", str(new), "postgres", said=f"CREATE DATABASE {DATABASE}\n")
        new.rename(self._data)
        folder = os.open(self.folder, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)

    def _run(self, program: str, *arguments: str, said: str = "") -> None:
        ran = subprocess.run(
            [self._programs.folder / program, *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            input=said,
            env={**os.environ, "LC_ALL": "C"},
            **self._account,
        )
        if ran.returncode:
            what = " ".join(ran.stderr.split()) or f"{program} ended with code {ran.returncode}"
            raise OperatorError(f"no database can be made in {self.folder}: {what}")

    def _wait_for_the_last_one(self) -> None:
        """Wait for the end of a PostgreSQL whose parent was killed: it ends after its last connection."""
        last = time.monotonic() + STOP_S
        while self.runs:
            if time.monotonic() > last:
                raise OperatorError(
                    f"another program has started the PostgreSQL in {self._data}: stop it first "
                    f"(pg_ctl stop -D {self._data})"
                )
            time.sleep(LOOK_S)

    def _state(self) -> tuple[int, str]:
        """Return the number of its process, as its file says, and its state; 0 if there is none."""
        with suppress(OSError, ValueError, IndexError):  # PostgreSQL makes the file empty, and writes it then
            lines = (self._data / "postmaster.pid").read_text().splitlines()
            return int(lines[0]), lines[7].strip() if len(lines) > 7 else ""
        return 0, ""


@contextmanager
def running(postgres: OwnPostgres) -> Iterator[subprocess.Popen[bytes]]:
    """Run a PostgreSQL during the context, which the main thread enters. Raises OperatorError if it does not start."""
    with postgres.held(), postgres.open_log() as log:
        process = subprocess.Popen(postgres.command, stdout=log, stderr=log, **postgres.surroundings)
        try:
            last = time.monotonic() + READY_S
            while not postgres.is_ready:
                if process.poll() is not None or time.monotonic() > last:
                    raise OperatorError(f"the PostgreSQL in {postgres.folder} does not start: {postgres.why()}")
                time.sleep(LOOK_S)
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGQUIT)
                process.wait()


def _installed(given: Path | None) -> Iterator[Programs]:
    on_path = shutil.which("postgres")
    folders = [given] if given is not None else [Path(on_path).resolve().parent] if on_path else []
    for folder in dict.fromkeys([*folders, *(() if given is not None else DEBIAN.glob("*/bin"))]):
        version = _version(folder / "postgres")
        if version and (folder / "initdb").exists():
            yield Programs(folder, version)


def _version(program: Path) -> int:
    """Return the major version of a program of PostgreSQL; 0 if it can't be run."""
    with suppress(OSError):
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
        found = re.search(r"\(PostgreSQL\) (\d+)", said)
        return int(found.group(1)) if found else 0
    return 0


def _account(user: str) -> dict[str, Any]:
    """Return the arguments of `subprocess` for the user of PostgreSQL. Raises OperatorError."""
    if os.geteuid() != 0:
        return {}
    if not user:
        raise OperatorError(
            "PostgreSQL does not run as root: start the arbiter as another user, name a user for PostgreSQL alone "
            "(postgres_user), or name a database that runs already (--store postgresql://…)"
        )
    try:
        entry = pwd.getpwnam(user)
    except KeyError:
        raise OperatorError(f"there is no user {user!r} on this machine for PostgreSQL (postgres_user)") from None
    if entry.pw_uid == 0:
        raise OperatorError(f"PostgreSQL does not run as root, and {user!r} is root: name another user (postgres_user)")
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _end_with_parent() -> None:
    _libc.prctl(DEATH_SIGNAL, signal.SIGTERM)
