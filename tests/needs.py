"""What the tests need beside Python: `python -m tests.needs` installs it if it can, and lists what is missing.

A program is looked for on the PATH, a library by one of its files; as root with apt, missing ones are installed from
the operating system's packages. In CI (CI=true) a missing one is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple


class Need(NamedTuple):
    """A program, or the absolute path of a file; the Debian package that has it, and what the tests use it for."""

    program: str
    package: str
    purpose: str

    @property
    def met(self) -> bool:
        """Return whether it is installed."""
        return Path(self.program).exists() if self.program.startswith("/") else shutil.which(self.program) is not None


NEEDS = (
    Need("node", "nodejs", "the independent verifier of transcripts"),
    Need("curl", "curl", "the call over HTTP on the page of the protocol"),
    Need("chromium-headless-shell", "chromium-headless-shell", "the page in a real browser"),
    Need("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", "fonts-dejavu-core", "the pictures of the pages"),
    Need("setpriv", "util-linux", "a PostgreSQL for the tests that does not run as root"),
    Need("bwrap", "bubblewrap", "the sandbox of bots in local tournaments"),
    Need("cc", "gcc", "the compiled modules, and the sample of a bot in C that reads and writes lines"),
    Need(f"{sysconfig.get_config_var('INCLUDEPY')}/Python.h", "python3-dev", "the compiled modules"),
    Need("nats-server", "nats-server", "the bus between servers that share a PostgreSQL"),
    Need("nginx", "nginx-light", "the example of a proxy in front of a server"),
    Need("haproxy", "haproxy", "the example of a proxy in front of a server"),
    Need("promtool", "prometheus", "the metrics and alerts in a real Prometheus"),
    Need("buildah", "buildah", "the image of the server"),
    Need("debootstrap", "debootstrap", "the Debian below the image of the server"),
    Need("lua5.4", "lua5.4", "the sample of a bot in Lua that reads and writes lines"),
    Need("/usr/games/stockfish", "stockfish", "a chess engine that plays by UCI"),
    Need("/usr/games/gnuchess", "gnuchess", "a second chess engine, in a gauntlet"),
    Need("/usr/games/ethereal-chess", "ethereal-chess", "a third one"),
    Need("/usr/games/pgn-extract", "pgn-extract", "the matches of chess that are written as PGN"),
    Need("/usr/games/gnugo", "gnugo", "a Go engine that plays by GTP"),
    Need("openssl", "openssl", "the certificates for the clients' tests of TLS"),
    Need("g++", "g++", "the C++ client"),
    Need("ccache", "ccache", "a cache of compiled C++ for the next clone"),
    Need("cmake", "cmake", "the build of the C++ client"),
    Need("ninja", "ninja-build", "the build of the C++ client"),
    Need("clang-format", "clang-format", "the format of the C++ client"),
    Need("protoc", "protobuf-compiler", "the protocol in C++"),
    Need("grpc_cpp_plugin", "protobuf-compiler-grpc", "the protocol in C++"),
    Need("/usr/include/google/protobuf/message.h", "libprotobuf-dev", "the C++ client"),
    Need("/usr/include/grpcpp/grpcpp.h", "libgrpc++-dev", "the C++ client"),
    Need("/usr/include/gtest/gtest.h", "libgtest-dev", "the tests of the C++ client"),
)


def path_without(folder: Path) -> str:
    """Return a PATH of this machine's programs but for those that are needed here.

    folder: an empty one, for links to the programs that stand beside needed ones.
    """
    needed = {need.program for need in NEEDS if "/" not in need.program}
    without = []
    for number, place in enumerate(dict.fromkeys(map(Path, os.get_exec_path()))):
        if any((place / program).exists() for program in needed):
            links = folder / str(number)
            links.mkdir()
            for program in place.iterdir():
                if program.name not in needed:
                    (links / program.name).symlink_to(program)
            place = links
        without.append(str(place))
    return os.pathsep.join(without)


def missing() -> list[Need]:
    """Return the needs that are not met."""
    return [need for need in NEEDS if not need.met]


def install(needs: list[Need]) -> str:
    """Try to install packages; return why that failed, or ''."""
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
    """Install what is missing; list what can't be installed. Returns the exit status."""
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
