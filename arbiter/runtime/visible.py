"""What a bot in a sandbox sees of the machine's files: programs and libraries of the system, and its own files.

Its own files are the folders that are named for it, the files that its command names, and the installation that runs
it: an interpreter outside of the system's folders is shown with its libraries if it is installed in one of the usual
ways (`INSTALLED`). A folder that holds everybody's things, such as a home, is never shown whole: see `too_wide`.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from arbiter.errors import OperatorError

SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
"""Programs and libraries of the system. They hold no secrets: every user may read them."""

SETTINGS: Final = (
    *("alternatives", "ca-certificates.conf", "debian_version", "fonts", "java-*", "ld.so.cache", "ld.so.conf"),
    *("ld.so.conf.d", "locale.alias", "localtime", "mime.types", "os-release", "pki/ca-trust", "pki/tls/certs"),
    *("protocols", "services", "ssl/certs", "ssl/openssl.cnf", "timezone"),
)
"""What programs need of /etc: which library and which Java it is, time zones, the certificates of authorities."""

INSTALLED: Final = ("pyvenv.cfg", "lib/python3.*", "lib/node_modules", "lib/modules")
"""By one of these beside its folder `bin` a virtual environment, Python, Node.js or Java is known."""

OURS: Final = ("arbiter", "arbiter_client", "arbiter_protos")
"""Packages that bots in Python use from the environment of the arbiter, which need not lie in its folder."""

WIDE: Final = frozenset(
    (*SYSTEM, "/", "/boot", "/dev", "/dev/shm", "/etc", "/home", "/media", "/mnt", "/opt", "/proc", "/root", "/run")
) | {"/srv", "/sys", "/tmp", "/var", "/var/lib", "/var/run", "/var/tmp"}
"""Folders that hold more than the things of one bot."""

NEVER: Final = ("/proc", "/sys", "/dev", "/run", "/var/run")
"""What lies here is no file of a bot's: processes, devices, sockets."""

PRIVATE: Final = (
    ".env",
    ".git-credentials",
    ".netrc",
    ".npmrc",
    ".pypirc",
    "arbiter.db*",
    "arbiter.keys*",
    "arbiter.toml",
    "arbiter-runs",
    "arbiter-demo",
)
"""What is not shown even if it lies in the folder of a bot."""


def too_wide(path: Path) -> bool:
    """Say whether a folder holds more than a bot's things: the system's, everybody's, a home or what a home lies in."""
    home = Path.home().resolve()
    return str(path) in WIDE or home.is_relative_to(path)


def named(paths: Iterable[Path]) -> list[Path]:
    """Return folders and files that a person says a bot may see. Raises OperatorError for one that is no such thing."""
    found = []
    for path in paths:
        whole = path.resolve()
        if not whole.exists():
            raise OperatorError(f"there is no {path} that a bot could see")
        if too_wide(whole) or whole.is_relative_to("/proc") or any(whole.is_relative_to(place) for place in NEVER):
            raise OperatorError(f"{path} is too much for a bot to see: name the folders in it that it needs")
        found += _both(path)
    return found


def of_command(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> list[Path]:
    """Return what a command needs to run in a folder: what it is run by, and the files that it names, as they lie."""
    program = command[0] if "/" in command[0] else shutil.which(command[0], path=environment.get("PATH")) or ""
    shown = list(_run_by(folder / program)) if program else []
    for word in command[1:]:
        file = Path(os.path.normpath(folder / word))
        if _is_file(file):
            shown += _beside(file)
    return shown


def of_launch(script: Path) -> list[Path]:
    """Return what the first steps of a bot's process need: a script, and the Python that runs it."""
    return [script, *_run_by(Path(os.path.realpath(sys.executable))), Path(sys.base_prefix)]


def of_folder(folder: Path) -> list[Path]:
    """Return a bot's folder, as it is named and as it is; nothing if it is too wide."""
    return [path for path in _both(folder) if not too_wide(path)]


def system() -> Iterator[tuple[str, ...]]:
    """Yield the words of bubblewrap that show the system's programs and libraries."""
    for place in SYSTEM:
        path = Path(place)
        if path.is_symlink():
            yield ("--symlink", str(path.readlink()), place)
        elif path.is_dir():
            yield ("--ro-bind", place, place)
    for name in SETTINGS:
        for path in sorted(Path("/etc").glob(name)):
            if path.parent != Path("/etc"):
                yield ("--perms", "0755", "--dir", str(path.parent))
            yield ("--ro-bind", os.path.realpath(path), str(path))


def in_system(path: Path) -> bool:
    """Say whether something is shown to every bot."""
    return any(path.is_relative_to(place) for place in SYSTEM)


def private(shown: Path) -> Iterator[Path]:
    """Yield what is hidden in a folder that is shown."""
    for name in PRIVATE:
        yield from shown.glob(name)


def _run_by(program: Path) -> Iterator[Path]:
    """Yield what a program needs beside the system: the installations that it and what it links to belong to."""
    for step in _links(program):
        if in_system(step) or step.is_relative_to("/etc") or not _is_file(step):  # /etc/alternatives is shown
            continue
        prefix = step.parent.parent
        if step.parent.name == "bin" and not too_wide(prefix) and any(any(prefix.glob(mark)) for mark in INSTALLED):
            yield from _both(prefix)
            if prefix.resolve() == Path(sys.prefix).resolve():
                yield from _ours()
        else:
            yield from _beside(step)


def _ours() -> Iterator[Path]:
    """Yield where the packages lie that bots use from the arbiter's own environment."""
    for name in OURS:
        found = importlib.util.find_spec(name)
        yield from (Path(place) for place in (found.submodule_search_locations or () if found else ()))


def _links(path: Path) -> Iterator[Path]:
    """Yield a path, what it links to, and so on."""
    for _ in range(40):  # ELOOP
        path = Path(os.path.normpath(path))
        yield path
        if not path.is_symlink():
            return
        path = path.parent / path.readlink()


def _beside(file: Path) -> list[Path]:
    """Return the folder of a file; where that is too wide, the file alone."""
    if in_system(file):
        return []
    return [path for path in (*_both(file.parent), *_both(file)) if not too_wide(path)]


def _both(path: Path) -> list[Path]:
    """Return a path as it is named, and as it is with all links followed."""
    absolute = Path(os.path.normpath(path.absolute()))
    return sorted({absolute, absolute.resolve()})


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a word that is no path at all, such as a script
        return False
