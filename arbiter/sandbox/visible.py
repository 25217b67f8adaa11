"""The files of the machine that a sandboxed bot sees: the system's programs and libraries, and its own files.

Its own files are the folders that the operator names for it, the files that its command names, and the installation
that runs it. An interpreter outside the system's folders is visible with its libraries if it is installed in one of the
usual ways (`INSTALLED`). A folder with other people's files, such as a home, is never visible as a whole: see
`too_wide`.
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
"""What programs need from /etc: selection of libraries and of Java, time zones, certificate authorities."""

INSTALLED: Final = ("pyvenv.cfg", "lib/python3.*", "lib/node_modules", "lib/modules")
"""A virtual environment, Python, Node.js or Java is recognised by one of these next to its folder `bin`."""

OURS: Final = ("arbiter", "arbiter_client", "arbiter_protos")
"""Packages that Python bots use from the arbiter's environment, which may be outside its folder."""

WIDE: Final = frozenset(
    (*SYSTEM, "/", "/boot", "/dev", "/dev/shm", "/etc", "/home", "/media", "/mnt", "/opt", "/proc", "/root", "/run")
) | {"/srv", "/sys", "/tmp", "/var", "/var/lib", "/var/run", "/var/tmp"}
"""Folders that hold more than the files of one bot."""

NEVER: Final = ("/proc", "/sys", "/dev", "/run", "/var/run")
"""Nothing in these folders is a bot's file: processes, devices, sockets."""

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
"""Paths that are hidden even if they are in a bot's folder."""


def too_wide(path: Path) -> bool:
    """Return whether a folder holds more than a bot's files: a system or shared folder, a home, or a parent of one."""
    home = Path.home().resolve()
    return str(path) in WIDE or home.is_relative_to(path)


def named(paths: Iterable[Path]) -> list[Path]:
    """Return the folders and files that the operator lets a bot see. Raises OperatorError for an invalid one."""
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
    """Return the paths that a command needs to run in a folder: its interpreter, and the files that it names."""
    program = command[0] if "/" in command[0] else shutil.which(command[0], path=environment.get("PATH")) or ""
    shown = list(_run_by(folder / program)) if program else []
    for word in command[1:]:
        file = Path(os.path.normpath(folder / word))
        if _is_file(file):
            shown += _beside(file)
    return shown


def of_launch(script: Path) -> list[Path]:
    """Return the paths that `arbiter.sandbox.launch` needs: the script, and the Python that runs it."""
    return [script, *_run_by(Path(os.path.realpath(sys.executable))), Path(sys.base_prefix)]


def of_folder(folder: Path) -> list[Path]:
    """Return a bot's folder, as named and with links resolved; nothing if it is too wide."""
    return [path for path in _both(folder) if not too_wide(path)]


def system() -> Iterator[tuple[str, ...]]:
    """Yield the bubblewrap options that make the system's programs and libraries visible."""
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
    """Return whether every bot sees a path."""
    return any(path.is_relative_to(place) for place in SYSTEM)


def private(shown: Path) -> Iterator[Path]:
    """Yield the paths to hide in a visible folder."""
    for name in PRIVATE:
        yield from shown.glob(name)


def _run_by(program: Path) -> Iterator[Path]:
    """Yield what a program needs besides the system: its installation, and the installations of its link targets."""
    for step in _links(program):
        if in_system(step) or step.is_relative_to("/etc") or not _is_file(step):  # /etc/alternatives is visible
            continue
        prefix = step.parent.parent
        if step.parent.name == "bin" and not too_wide(prefix) and any(any(prefix.glob(mark)) for mark in INSTALLED):
            yield from _both(prefix)
            if prefix.resolve() == Path(sys.prefix).resolve():
                yield from _ours()
        else:
            yield from _beside(step)


def _ours() -> Iterator[Path]:
    """Yield the paths of the packages that bots use from the arbiter's own environment."""
    for name in OURS:
        found = importlib.util.find_spec(name)
        yield from (Path(place) for place in (found.submodule_search_locations or () if found else ()))


def _links(path: Path) -> Iterator[Path]:
    """Yield a path, the target of its link, and so on."""
    for _ in range(40):  # ELOOP
        path = Path(os.path.normpath(path))
        yield path
        if not path.is_symlink():
            return
        path = path.parent / path.readlink()


def _beside(file: Path) -> list[Path]:
    """Return a file's folder, or the file alone if the folder is too wide."""
    if in_system(file):
        return []
    return [path for path in (*_both(file.parent), *_both(file)) if not too_wide(path)]


def _both(path: Path) -> list[Path]:
    """Return a path as named, and with all links resolved."""
    absolute = Path(os.path.normpath(path.absolute()))
    return sorted({absolute, absolute.resolve()})


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a shebang word that is not a path, for example
        return False
