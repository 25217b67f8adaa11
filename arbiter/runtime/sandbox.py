"""The sandbox that bots run in where bubblewrap is there: what they see, and what they do not.

A bot in it sees the machine's files but can change none, and has a /tmp and a /run of its own. It sees no other
process, and no network but a loopback with the arbiter's port on it (see `arbiter.runtime.launch`). It has no
capabilities, and ends with whoever started it. It does not see what is secret: the folder of the run, with the record,
the keys and what other bots have said, and the places where people keep keys and passwords.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

PROGRAM: Final = "bwrap"
PACKAGE: Final = "bubblewrap"
TRIAL_S: Final = 10.0

EMPTY: Final = ("/tmp", "/var/tmp", "/run")
"""Places that a bot gets for itself, empty."""

SECRETS: Final = (".ssh", ".gnupg", ".aws", ".config", ".docker", ".kube", ".netrc", ".pgpass", ".git-credentials")
"""What a bot does not see of the home of who runs it."""


class Sandbox(NamedTuple):
    """A bubblewrap that works on this machine."""

    program: str

    def command(self, arguments: Sequence[str], shown: Iterable[Path], hidden: Iterable[Path]) -> list[str]:
        """Return the command line that runs another one in a sandbox.

        shown: folders that are there also where they lie in a place that is empty. hidden: folders that are empty.
        """
        words = [self.program, "--unshare-all", "--cap-drop", "ALL", "--die-with-parent", "--new-session"]
        words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        for place in EMPTY:
            if Path(place).is_dir() and not Path(place).is_symlink():
                words += ["--tmpfs", place]
        for folder in sorted({folder.resolve() for folder in shown}):
            if any(folder.is_relative_to(place) and folder != Path(place) for place in EMPTY):
                words += ["--ro-bind-try", str(folder), str(folder)]
        secrets = {path.resolve() for path in (*hidden, *(Path.home() / name for name in SECRETS)) if path.exists()}
        for secret in sorted(secrets):
            if secret.is_dir():
                words += ["--tmpfs", str(secret)]
            elif not secrets & set(secret.parents):
                words += ["--ro-bind", os.devnull, str(secret)]
        return [*words, "--", *arguments]


def folders_named(words: Iterable[str], folder: Path) -> list[Path]:
    """Return the folders of the files that a command names, which is run in a folder: for `Sandbox.command` to show."""
    return [file.parent for file in ((folder / word).absolute() for word in words) if _is_file(file)]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a word that is no path at all, such as a script
        return False


def find() -> Sandbox | str:
    """Return the sandbox of this machine, or why there is none, as a clause for people."""
    program = shutil.which(PROGRAM)
    if program is None:
        return f"there is no {PROGRAM} (package {PACKAGE})"
    sandbox = Sandbox(program)
    try:
        trial = subprocess.run(
            sandbox.command(["true"], (), ()), capture_output=True, text=True, timeout=TRIAL_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{program} does not work ({error})"
    if trial.returncode:
        why = (trial.stderr.strip().splitlines() or [f"exit code {trial.returncode}"])[-1]
        return f"{program} does not work here ({why})"
    return sandbox
