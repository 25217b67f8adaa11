"""The clients' READMEs, followed on an empty account: `python -m tests.clients.accounts` measures what that takes.

With names of languages, only these are measured; the others keep their rows in the table of clients/README.md. Each
account is a home folder and a folder beside it in which an archive of the tree is unpacked: no cache of a registry or
compiler is there. Two bots play a rated match, in the midst of which the server is killed and started again.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import arbiter_client as arb

from arbiter.runtime.loopback import free_port
from tests.clients.packages import block, unpack
from tests.clients.toolchains import CLIENTS
from tests.documents import commands
from tests.e2e.processes import Server
from tests.processes import WAIT_S, until

README = CLIENTS / "README.md"
BEGIN, END = "<!-- measured on empty accounts -->\n", "<!-- end of the accounts -->\n"
HEAD = "|  | commands | seconds of a processor | the bot needs | on the disk |\n| -- | -- | -- | -- | -- |\n"
TITLES = {"typescript": "TypeScript", "cpp": "C++"}  #: names that are not their folder's with a capital letter
MOVES_BEFORE = 5  #: moves that are played before the server is killed
OF_THE_USER = re.compile("ARBITER_|XDG_|CARGO_|CCACHE_|GO[A-Z]+$|JDK_JAVA|MAVEN_|npm_|PYTHON|UV_|VIRTUAL_ENV|MAKE")
"""Variables with which a user or the tests change what the tools do; those that lead to registries are kept."""


class Paste(NamedTuple):
    """A block of a README that is pasted into a shell."""

    has: str
    folder: str = "."


class Save(NamedTuple):
    """A block of a README that is saved as a file."""

    file: str
    language: str
    has: str


class Way(NamedTuple):
    """The way through a README to a bot: its steps in order, and the files that the bot then needs."""

    parts: Sequence[str]  # of the tree
    steps: Sequence[Paste | Save]
    needed: str
    moved: Paste | None = None  # how the bot gets what it needs on the machine where it plays


WAYS = {
    "python": Way(
        ("clients/python", "protos"),
        (Paste("pip install"), Save("my_bot.py", "python", "class FirstMove")),
        "environment/lib",
    ),
    "typescript": Way(
        ("clients/typescript",),
        (Paste("npm pack"), Save("bot.ts", "ts", "await main("), Paste("npx tsc  ", "my-bot")),
        "my-bot/node_modules",
        Paste("npm ci --omit=dev", "my-bot"),
    ),
    "go": Way(
        ("clients/go",),
        (Paste("go get"), Save("main.go", "go", "arbiter.Main("), Paste("go build", "my-bot")),
        "my-bot/my-bot",
    ),
    "rust": Way(
        ("clients/rust",),
        (Paste("cargo add"), Save("src/main.rs", "rust", "cli::main("), Paste("cargo build", "my-bot")),
        "my-bot/target/debug/my-bot",
    ),
    "java": Way(
        ("clients/java", "protos"),
        (
            Paste(" install)"),
            Save("pom.xml", "xml", "com.example"),
            Save("src/main/java/FirstMove.java", "java", "class FirstMove "),
            Paste("mvn -B -q package", "my-bot"),
        ),
        "my-bot/target/lib",
    ),
    "cpp": Way(
        ("clients/cpp", "protos"),
        (
            Paste("ninja -C build install"),
            Save("CMakeLists.txt", "cmake", "find_package"),
            Save("my_bot.cpp", "cpp", "run_command"),
            Save("watch.cpp", "cpp", "arbiter::Client client"),
            Paste("cmake --build", "my-bot"),
        ),
        "my-bot/build/my_bot",
    ),
}


class Measured(NamedTuple):
    """What the way took: lines typed, processor seconds of them, bytes."""

    typed: int
    processor_s: float
    needed: int
    left: int

    def row(self, name: str) -> str:
        """Return the row of a language in the table."""
        seconds = f"{self.processor_s:.0f}"
        return f"| {title(name)} | {self.typed} | {seconds} | {megabytes(self.needed)} | {megabytes(self.left)} |\n"


def title(name: str) -> str:
    """Return what a language is called in the table."""
    return TITLES.get(name, name.capitalize())


def megabytes(size: int) -> str:
    """Return a number of bytes for people."""
    return f"{size / 1e6:,.0f} MB"


def size_of(place: Path) -> int:
    """Return the bytes that a file takes on the disk, or all files of a folder."""
    return int(subprocess.run(("du", "-s", "-B1", place), capture_output=True, check=True).stdout.split()[0])


def measured(name: str, base: Path) -> Measured:
    """Follow a README in an empty folder, to the end of a match. Raises AssertionError if something does not work."""
    way, home, work = WAYS[name], base / "home", base / "work"
    home.mkdir()
    unpack(work, *way.parts)
    environment = account(home)
    unpacked, before_s = size_of(work), processor_s()
    typed = 0
    if name == "python":  # "in an environment of your own"
        typed += paste("python3 -m venv environment", work, environment)
        environment["PATH"] = f"{work / 'environment/bin'}{os.pathsep}{environment['PATH']}"
    for step in way.steps:
        if isinstance(step, Paste):
            typed += paste(block(name, "sh", step.has), work / step.folder, environment)
        else:
            file = work / "my-bot" / step.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block(name, step.language, step.has), encoding="utf-8")
    used_s, left = processor_s() - before_s, size_of(base) - unpacked
    if way.moved is not None:
        paste(block(name, "sh", way.moved.has), work / way.moved.folder, environment)
    took = Measured(typed, used_s, size_of(work / way.needed), left)
    play(block(name, "sh", "arbiter serve"), base, environment)
    return took


def account(home: Path) -> dict[str, str]:
    """Return the environment of an account with this home folder, which has no settings and no caches."""
    kept = {name: value for name, value in os.environ.items() if not OF_THE_USER.match(name)}
    rustup = os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup"))  # the compiler itself
    return {**kept, "HOME": str(home), "RUSTUP_HOME": rustup, "JDK_JAVA_OPTIONS": f"-Duser.home={home}"}


def processor_s() -> float:
    """Return the processor time of all processes that were started here and have ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def paste(text: str, folder: Path, environment: Mapping[str, str]) -> int:
    """Run a block in a shell; return the number of its lines. Raises AssertionError with the output if one fails."""
    ran = subprocess.run(
        ("bash", "-euo", "pipefail", "-c", text),
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, f"{text}\n{ran.stdout[-4_000:]}"
    return len(commands(text))


def play(lines: str, base: Path, environment: Mapping[str, str]) -> None:
    """Play a rated match by a README's lines, and kill the server in its midst.

    Raises AssertionError unless the match ends by the game's rules and both players then have a rating.
    """
    server = Server(base, free_port(), options=["--public"])
    server.start()
    where = {**environment, "ARBITER_SERVER": server.address}
    with ExitStack() as cleanup, (base / "bots.log").open("w") as log:
        cleanup.callback(server.stop)
        for line in commands(lines):
            if "--name" in line:
                words = ("bash", "-c", f"exec {line}")
                bot = subprocess.Popen(words, cwd=base / "work/my-bot", env=where, stdout=log, stderr=log)
                cleanup.callback(bot.wait)
                cleanup.callback(bot.terminate)
        server.wait_for_players("alice", "bob")
        made = server.arbiter("match", "create", "pods(size=5)", "alice", "bob", "--time", "1m+1s", "--rated").split()[
            0
        ]
        with server.client(WAIT_S) as organiser:
            until(lambda: organiser.get_match(made).ply >= MOVES_BEFORE)
            server.kill()
            server.start()
            *_, last = organiser.observe(made)
            match = organiser.get_match(made)
            assert match.result is not None, last
            assert match.result.cause is arb.Cause.RULES, match.result
            ratings = organiser.get_leaderboard("pods(size=5)").rows
            assert {row.player for row in ratings} == {"alice", "bob"}


def rows_of(page: str) -> dict[str, str]:
    """Return the rows of the table in a page, by title. Raises ValueError if the page has no table."""
    lines = page[page.index(BEGIN) + len(BEGIN) : page.index(END)].strip().splitlines()[2:]
    return {line.split("|")[1].strip(): f"{line}\n" for line in lines}


def with_rows(page: str, rows: Mapping[str, str]) -> str:
    """Return a page with these rows in its table, in the order of the languages."""
    ordered = "".join(rows[title(name)] for name in WAYS if title(name) in rows)
    before, after = page[: page.index(BEGIN) + len(BEGIN)], page[page.index(END) :]
    return f"{before}\n{HEAD}{ordered}\n{after}"


def main() -> int:
    """Measure, and write the table. Returns the exit status."""
    for name in sys.argv[1:] or WAYS:
        with TemporaryDirectory(prefix="account") as folder:
            row = measured(name, Path(folder)).row(name)
        page = README.read_text(encoding="utf-8")
        README.write_text(with_rows(page, {**rows_of(page), title(name): row}), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
