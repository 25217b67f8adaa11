"""The sandbox for bots, where bubblewrap is installed: what they see, what they may do, how much they may use.

A bot in the sandbox sees the system's programs and libraries, its own files (`arbiter.sandbox.visible`), and a private
/tmp, which is the only place that it can write to. It sees no other process, and no network except a loopback interface
with the arbiter's port. It has no capabilities. Its user owns nothing (if root starts it, a random user id is chosen).
It can make only the system calls that bots need (`arbiter.sandbox.seccomp`), has resource limits
(`arbiter.sandbox.limits`), and ends with the process that started it. deploy/SANDBOX.md explains what this protects
against, and what it does not.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any, Final, NamedTuple

from arbiter.errors import OperatorError
from arbiter.sandbox import launch, limits, spawner, visible
from arbiter.sandbox.limits import DEFAULT, ResourceLimits
from arbiter.sandbox.seccomp import ARCHITECTURES

PROGRAM: Final = "bwrap"
PACKAGE: Final = "bubblewrap"
GUARD: Final = "arbiter.sandbox.guard"
TRIAL_S: Final = 60.0
MOST_WORDS: Final = 3_000  #: of a folder that is shown entry by entry, three for each; bubblewrap takes 9,000 in all
SPAWNER: Final = Path(spawner.__file__).resolve()

HOME: Final = "/tmp"  #: host name of a bot
NOBODY: Final = 65_534  #: the bot's user id inside the sandbox if root does not start it
STRANGERS: Final = range(61_184, 65_520)
"""The range of user ids from which each bot that root starts gets a random one: the range of systemd's DynamicUser."""

NAMES: Final = "127.0.0.1 localhost {}\n::1 localhost\n"
USERS: Final = "root:x:0:0:root:/:/bin/false\nbot:x:{0}:{0}:bot:/tmp:/bin/sh\n"
GROUPS: Final = "root:x:0:\nbot:x:{0}:\n"

SHUT: Final = (
    *(
        "acpi",
        "asound",
        "bus",
        "cmdline",
        "fs",
        "irq",
        "kallsyms",
        "kcore",
        "keys",
        "key-users",
        "kmsg",
        "latency_stats",
    ),
    *("sched_debug", "scsi", "sysrq-trigger", "sysvipc", "timer_list", "timer_stats", "vmallocinfo"),
)
"""Files in /proc that are empty for a bot: they tell more about the machine than it needs.

All of /proc is read-only.
"""

KNOWN: Final = "/etc/hosts", "/etc/passwd", "/etc/group"


class Program(NamedTuple):
    """A bot's program: command line, working folder, environment variables, and further paths that it may see.

    cores: the processors on which it may run, by their numbers; empty: all. spawned: it is started as often as somebody
    asks for it, by `arbiter.sandbox.spawner`, whose standard input is the channel for that.
    """

    command: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]
    sees: tuple[Path, ...] = ()
    cores: frozenset[int] = frozenset()
    spawned: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """The command line that is executed."""
        if not self.spawned:
            return self.command
        return (os.path.realpath(sys.executable), "-I", "-S", str(SPAWNER), *self.command)


class Sandbox(NamedTuple):
    """A bubblewrap that works on this machine, the limits of its bots, and the paths that are hidden from them.

    cgroup: the group below which each bot gets a control group, or None (`arbiter.sandbox.cgroup.delegated`).
    """

    program: str
    limits: ResourceLimits = DEFAULT
    hidden: tuple[Path, ...] = ()
    cgroup: Path | None = None

    def job(self, bot: Program, address: tuple[str, int] | None) -> dict[str, Any]:
        """Return the job description for a bot's guard (`arbiter.sandbox.guard`).

        address: the arbiter's address, which is the only one that the bot reaches; None: it reaches none. Raises
        OperatorError for a path that the bot cannot see.
        """
        user = secrets.choice(STRANGERS) if os.geteuid() == 0 else None
        folder = bot.folder.absolute()
        of_command = visible.of_command(bot.command, folder, bot.environment)
        if user is not None:
            _readable([*visible.of_folder(folder), *bot.sees])
            of_command = _opened(of_command)
        shown = {
            *visible.of_launch(Path(launch.__file__).resolve()),
            *([SPAWNER] if bot.spawned else ()),
            *of_command,
            *visible.of_folder(folder),
            *visible.named(folder / path for path in bot.sees),
        }
        inside: dict[str, Any] = {"address": ["127.0.0.1", address[1]] if address else None, "user": user}
        inside["limits"] = limits.of_process(self.limits)
        own = {**bot.environment, "HOME": HOME, "USER": "bot", "LOGNAME": "bot", "TMPDIR": "/tmp", "PWD": str(folder)}
        host = address[0] if address else ""
        return {
            "bwrap": self.program,
            "words": [*_walls(user), *_files(shown, self.hidden, self.limits, folder), *_environment(own)],
            "known": [NAMES.format(host), USERS.format(user or NOBODY), GROUPS.format(user or NOBODY)],
            "first": [os.path.realpath(sys.executable), "-I", "-S", str(Path(launch.__file__).resolve())],
            "inside": inside,
            "command": list(bot.words),
            "address": address,
            "limits": self.limits._asdict(),
            "cgroup": str(self.cgroup) if self.cgroup else None,
        }


def guarded(job: Path) -> list[str]:
    """Return the command line that runs a bot in a sandbox. job: a file with what `Sandbox.job` returns, as JSON."""
    return [sys.executable, "-P", "-m", GUARD, str(job)]


def find(most: ResourceLimits = DEFAULT, hidden: tuple[Path, ...] = ()) -> Sandbox | str:
    """Return this machine's sandbox, or the reason why there is none, as a clause for people."""
    program = shutil.which(PROGRAM)
    if program is None:
        return f"there is no {PROGRAM} (package {PACKAGE})"
    if os.uname().machine not in ARCHITECTURES:
        return f"{os.uname().machine} is a machine whose system calls the sandbox cannot filter"
    sandbox = Sandbox(program, most, hidden)
    with tempfile.TemporaryDirectory(prefix="arbiter-trial-") as folder:
        Path(folder).chmod(0o755)
        job = Path(folder, "job")
        job.write_text(json.dumps(sandbox.job(Program(("true",), Path(folder), {"PATH": os.defpath}), None)))
        try:
            trial = subprocess.run(guarded(job), capture_output=True, text=True, timeout=TRIAL_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{program} does not work ({error})"
    if trial.returncode:
        why = (trial.stderr.strip().splitlines() or [f"exit code {trial.returncode}"])[-1]
        return f"{program} does not work here ({why})"
    return sandbox


def _walls(user: int | None) -> list[str]:
    """Return the bubblewrap options that isolate a bot. Bots that root starts change user without a user namespace."""
    words = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    words += ["--die-with-parent", "--new-session", "--hostname", "bot", "--clearenv", "--cap-drop", "ALL"]
    if user is not None:
        return [*words, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    return [*words, "--unshare-user", "--disable-userns", "--uid", str(NOBODY), "--gid", str(NOBODY)]


def _files(shown: set[Path], hidden: Sequence[Path], most: ResourceLimits, folder: Path) -> list[str]:
    """Return the bubblewrap options for the files that a bot sees, in the order of mounting."""
    room = ("--perms", "1777", "--size", str(most.tmp_mb * limits.MIB), "--tmpfs")
    words = [*_folder(Path("/etc")), *(word for group in visible.system() for word in group)]
    words += ["--dev", "/dev", *room, "/dev/shm", "--remount-ro", "/dev"]
    words += ["--proc", "/proc"]
    for name in SHUT:
        place = Path("/proc", name)
        if place.is_dir():
            words += ["--size", "4096", "--tmpfs", str(place), "--remount-ro", str(place)]
        elif place.exists():
            words += ["--ro-bind", os.devnull, str(place)]
    words += ["--remount-ro", "/proc", *room, "/tmp", *_folder(Path("/var")), "--symlink", "../tmp", "/var/tmp"]
    laid = sorted(path for path in shown if not visible.in_system(path))
    for parent in sorted({parent for path in (*laid, folder / "x") for parent in path.parents}):
        words += _folder(parent)
    secret = {path.resolve() for path in hidden} | {path for top in laid for path in visible.private(top)}
    inside = {path for path in secret if any(path.is_relative_to(top) for top in laid)}
    for path in laid:
        if not inside & {path, *path.parents}:
            by_entry = _by_entry(path, inside)
            words += by_entry if len(by_entry) <= MOST_WORDS else _covered(path, inside)
    return [*words, "--chdir", str(folder)]


def _by_entry(path: Path, secret: Set[Path]) -> list[str]:
    """Return the options that show a path without what is secret in it.

    A folder with something secret becomes a new folder, in which each other entry is mounted. So what replaces the
    secret file, or is added later, is not seen either. A mount over a secret file would end when that is replaced.
    """
    if not path.is_dir() or not any(path in each.parents for each in secret):
        return _covered(path, secret)
    words = ["--perms", "0755", "--size", str(limits.MIB), "--tmpfs", str(path)]
    for entry in sorted(path.iterdir()):
        if entry.is_symlink() and entry not in secret:
            words += ["--symlink", str(entry.readlink()), str(entry)]
        elif entry not in secret:
            words += _by_entry(entry, secret)
    return [*words, "--remount-ro", str(path)]


def _covered(path: Path, secret: Set[Path]) -> list[str]:
    """Return the options that show a path as a whole, with something mounted over what is secret in it."""
    words = ["--ro-bind-try", str(path), str(path)]
    for each in sorted(secret):
        if path in each.parents and not secret & set(each.parents):
            words += _shut(each)
    return words


def _folder(path: Path) -> list[str]:
    """Return the options that create a folder which everybody may enter. A folder that exists stays as it is."""
    return ["--perms", "0755", "--dir", str(path)]


def _shut(path: Path) -> list[str]:
    """Return the options that hide a path inside a visible folder."""
    if path.is_dir():
        return ["--size", "4096", "--tmpfs", str(path), "--remount-ro", str(path)]
    return ["--ro-bind", os.devnull, str(path)] if path.exists() else []


def _environment(values: Mapping[str, str]) -> list[str]:
    return [word for name, value in values.items() for word in ("--setenv", name, value)]


def _opened(named: Sequence[Path]) -> list[Path]:
    """Return what a command names, without folders that other users cannot enter: a file of one is then visible alone.

    Raises OperatorError for a file that other users cannot read, and for such a folder without a file that is named.
    """
    closed = {path for path in named if path.is_dir() and not _is_open(path)}
    beside = {path.parent for path in named if path.is_file()}
    left = [path for path in named if path not in closed or path not in beside]
    _readable(left)
    return left


def _is_open(path: Path) -> bool:
    """Return whether other users can read a file, or read and enter a folder."""
    mode = path.stat().st_mode if path.exists() else 0o777
    needed = stat.S_IROTH | stat.S_IXOTH if stat.S_ISDIR(mode) else stat.S_IROTH
    return mode & needed == needed


def _readable(shown: Sequence[Path]) -> None:
    """Raise OperatorError for a path that other users cannot read: root's bots run as another user in a sandbox."""
    for path in shown:
        if not _is_open(path):
            raise OperatorError(
                f"bots that root starts in a sandbox run as another user, who cannot read {path}: "
                f"run `chmod -R o+rX {path}`, or start them as the user whose folder it is"
            )
