"""What the tests need beside Python: `python -m tests.needs` installs it where it may, and lists what it leaves out.

A program is found on the PATH or, as root with apt, installed from the operating system's packages. In CI (CI=true)
leaving anything out is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import NamedTuple


class Need(NamedTuple):
    """A program, the Debian package that brings it, and what it is for."""

    program: str
    package: str
    purpose: str


NEEDS = (
    Need("node", "nodejs", "the independent verifier of transcripts"),
    Need("setpriv", "util-linux", "a PostgreSQL for the tests that does not run as root"),
    Need("bwrap", "bubblewrap", "the sandbox of bots in local tournaments"),
    Need("cc", "gcc", "the sample of a bot in C that reads and writes lines"),
    Need("lua5.4", "lua5.4", "the sample of a bot in Lua that reads and writes lines"),
    Need("openssl", "openssl", "the certificates for the Python client's tests of TLS"),
)


def missing() -> list[Need]:
    """Return the needs that are not met."""
    return [need for need in NEEDS if shutil.which(need.program) is None]


def install(needs: list[Need]) -> str:
    """Try to install packages; return why that was not possible, or ''."""
    if os.geteuid() != 0:
        return "not root"
    if shutil.which("apt-get") is None:
        return "no apt-get"
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-q"], ["install", "-qy", "--no-install-recommends", *(need.package for need in needs)]):
        run = subprocess.run(["apt-get", *command], env=environment, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            return (run.stderr.strip().splitlines() or ["apt-get failed"])[-1]
    return ""


def main() -> int:
    """Install what is missing; list what stays out. Returns the exit status."""
    needs = missing()
    why = install(needs) if needs else ""
    left_out = missing()
    for need in left_out:
        print(
            f"left out: {need.purpose}, because there is no {need.program} ({why or 'the package does not bring it'})"
        )
    return 1 if left_out and os.environ.get("CI") else 0


if __name__ == "__main__":
    sys.exit(main())
