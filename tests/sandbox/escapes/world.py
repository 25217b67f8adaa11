"""Prepares what a bot must not reach, starts a bot that tries to (`attempts.py`), and prints the results.

python world.py FOLDER WAY

WAY: open (no sandbox), sandbox (`BotProcess`), spawned (as an engine of a tournament), or the words of a command with
{bot}

Run it as the user whose bots are tested: root, or another; FOLDER is empty. Prints the output of the bot, and then how
many processes of the bot outlive it. It leads a session with a terminal, as a person's shell does.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import fcntl
import json
import os
import pty
import resource
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from arbiter.runtime.loopback import HOST, free_port
from arbiter.sandbox import bubblewrap as sandboxes
from arbiter.sandbox import seccomp
from arbiter.sandbox.bot_process import BotProcess
from arbiter.sandbox.bubblewrap import Program, Sandbox
from arbiter.sandbox.spawning import SpawnedProcess

SECRETS = (
    *(".ssh/id_ed25519", ".npmrc", ".pypirc", ".aws/credentials", ".netrc", ".vault-token", ".azure/tokens.json"),
    *(".cargo/credentials.toml", ".m2/settings.xml", ".my.cnf", ".bash_history", ".python_history", ".psql_history"),
    *(".git-credentials", ".docker/config.json", ".kube/config", ".config/gh/hosts.yml", ".gnupg/secring.gpg"),
    *(".pgpass", ".config/arbiter/credentials.json", ".gem/credentials", ".terraform.d/credentials.tfrc.json"),
    *(".local/share/keyrings/login.keyring", ".mozilla/firefox/logins.json", "notes.txt"),
)
RECORD = ("arbiter.db", "arbiter.db-wal", "arbiter.keys", "tournament.toml", "bots/bob/start.log", "logs/server.log")
IPC_CREATE = 0o1600
COLUMN = {"x86_64": 0, "aarch64": 1}[os.uname().machine]
GONE_S = 240
HERE = Path(__file__).parent
BLOCK = "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())"
PAUSE = f"import signal; {BLOCK}; print(flush=True); signal.pause()"


def terminal() -> str:
    """Become the leader of a session with a terminal of its own; return its name."""
    with contextlib.suppress(PermissionError):  # this process leads a session already
        os.setsid()
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    threading.Thread(target=_drain, args=(master,), daemon=True).start()
    return os.ttyname(slave)


def _drain(master: int) -> None:
    with contextlib.suppress(OSError):
        while os.read(master, 4_096):
            pass


def written(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("secret\n")
    file.chmod(0o600)
    return file


def folders(base: Path) -> dict[str, Path]:
    made = {
        "own": base / "bots/ann",
        "other": base / "bots/bob",
        "home": base / "home",
        "run": base / "bots/ann/arbiter-runs/run-1",
    }
    for folder in made.values():
        folder.mkdir(parents=True, exist_ok=True)
    return made


class World:
    """The targets of the bot, which exist while the context lasts."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.places = folders(base)
        self.open = contextlib.ExitStack()

    def __enter__(self) -> dict[str, Any]:
        home, own, run = self.places["home"], self.places["own"], self.places["run"]
        os.environ["HOME"] = str(home)
        os.environ["A_TOKEN"] = "secret"
        secrets = [written(home / name) for name in SECRETS] + [written(run / name) for name in RECORD]
        secrets += [written(self.places["other"] / "book.txt"), written(own / "arbiter.db"), written(own / ".env")]
        shared = written(Path(f"/dev/shm/escape-{os.getpid()}"))
        self.open.callback(shared.unlink)
        kept = os.open(written(self.base / "kept-secret"), os.O_RDONLY)
        os.set_inheritable(kept, True)
        (own / "link").symlink_to(secrets[0])
        setuid = own / "whoami"
        if not setuid.exists():  # for another user, root has made it
            shutil.copy("/usr/bin/id", setuid)
            setuid.chmod(0o4755)
        resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
        libc = ctypes.CDLL(None)
        key = 0x0A000000 + os.getpid()
        for number in (
            libc.shmget(key, 4096, IPC_CREATE),
            libc.msgget(key, IPC_CREATE),
            libc.semget(key, 1, IPC_CREATE),
        ):
            assert number >= 0
        self.open.callback(_forget_shared, libc, key)
        process = self.open.enter_context(
            subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", "import signal; signal.pause()"], cwd=home, env={"X": "secret"}
            )
        )
        self.open.callback(process.kill)
        world = {
            "folder": str(self.base),
            "folders": {name: str(folder) for name, folder in self.places.items()},
            "secrets": [str(path) for path in secrets],
            "link": str(own / "link"),
            "setuid": str(setuid),
            "shared": str(shared),
            "process": process.pid,
            "hostname": os.uname().nodename,
            "calls": {name: n[COLUMN] for name, n in _calls().items() if n[COLUMN] >= 0},
            "clone": seccomp.CLONE[COLUMN],
            "personality": seccomp.PERSONALITY[COLUMN],
            "msgget": (68, 186)[COLUMN],
            "semget": (64, 190)[COLUMN],
            "key": key,
            "terminal": terminal(),
            **self._network(),
        }
        (own / "world.json").write_text(json.dumps(world))
        shutil.copy(HERE / "attempts.py", own / "attempts.py")
        return world

    def __exit__(self, *_: object) -> None:
        self.open.close()

    def _network(self) -> dict[str, Any]:
        """Open sockets of all kinds as targets."""
        places = {"home": self.places["home"], "its own folder": self.places["own"], "beside": self.base}
        if os.geteuid() == 0:
            places["/run"] = Path("/run")
        short = Path(f"/tmp/escape-{os.getpid()}")
        short.mkdir()
        self.open.callback(shutil.rmtree, short)
        places["/tmp"] = short
        sockets = {}
        for name, place in places.items():
            path = place / f"s{os.getpid()}"
            here = os.open(place, os.O_PATH)  # a path of any length
            listener = self.open.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(f"/proc/self/fd/{here}/{path.name}")
            os.close(here)
            path.chmod(0o777)
            self.open.callback(path.unlink, missing_ok=True)
            listener.listen(100)
            sockets[name] = str(path)
        abstract = self.open.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind(f"\0escape-{os.getpid()}")
        abstract.listen(100)
        port = free_port()
        for family, host in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::1")):
            listener = self.open.enter_context(socket.socket(family))
            listener.bind((host, port))
            listener.listen(100)
        datagrams = self.open.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        datagrams.bind((HOST, 0))
        threading.Thread(target=_pong, args=(datagrams,), daemon=True).start()
        found = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=False).stdout.split()
        return {
            "sockets": sockets,
            "abstract": f"escape-{os.getpid()}",
            "port": port,
            "datagrams": datagrams.getsockname()[1],
            "addresses": [each for each in found if "." in each][:1],
        }


def _calls() -> dict[str, tuple[int, int]]:
    return {**seccomp.FORBIDDEN, **seccomp.ABSENT}


def _pong(datagrams: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            _, sender = datagrams.recvfrom(100)
            datagrams.sendto(b"pong", sender)


def _forget_shared(libc: ctypes.CDLL, key: int) -> None:
    libc.shmctl(libc.shmget(key, 0, 0), 0, None)
    libc.msgctl(libc.msgget(key, 0), 0, None)
    libc.semctl(libc.semget(key, 0, 0), 0, 0)


# -- starting the bot ----------------------------------------------------------------------------------------------


def command(own: Path) -> tuple[str, ...]:
    """Return the command of the bot that tries to escape, and leaves processes behind in three ways."""
    return (sys.executable, "-I", "-S", str(own / "outliving.py"), str(own))


OUTLIVING = """
import os, subprocess, sys
own = sys.argv[1]
pause = [sys.executable, "-I", "-S", "-c", {pause!r}, own + "/outlives"]
subprocess.Popen(pause, stdout=subprocess.PIPE).stdout.readline()
subprocess.Popen(pause, stdout=subprocess.PIPE, start_new_session=True).stdout.readline()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        os.execv(pause[0], pause)
    os._exit(0)
os.wait()
os.execv(sys.executable, [sys.executable, "-I", "-S", own + "/attempts.py", own + "/world.json"])
"""


TOURNAMENT = """
name = "Escape"
format = "round_robin"
games = ["hop-it"]
time = "1m"
rated = false
[[bots]]
name = "ann"
command = '{bot}'
[[bots]]
bot = "random"
"""


async def in_sandbox(own: Path, hidden: Path) -> str:
    """Run the bot as tournaments do; return its output."""
    found = sandboxes.find(hidden=(hidden,))
    assert isinstance(found, Sandbox), found
    bot = await BotProcess.start(Program(command(own), own, {}), HOST, free_port(), found)
    said = (await bot.output.read()).decode()
    await bot.wait()
    return said


async def spawned(own: Path, hidden: Path) -> str:
    """Run the bot as the engines of tournaments; return its output."""
    found = sandboxes.find(hidden=(hidden,))
    assert isinstance(found, Sandbox), found
    ours, its = socket.socketpair()
    with ours, its:
        program = Program(command(own), own, {}, spawned=True)
        bot = await BotProcess.start(program, "", 0, found, given=its.fileno())
        process = SpawnedProcess.start(ours)
        os.close(process.into)
        with os.fdopen(process.out) as output:
            said = await asyncio.to_thread(output.read)
        await process.wait()
        await bot.end()
        return said + (await bot.output.read()).decode()


def in_the_open(own: Path, base: Path) -> str:
    """Run the bot without a sandbox, as a shell would start it, with its output in a file."""
    with (base / "output").open("w+b") as output:
        subprocess.run(command(own), stdout=output, stderr=output, check=False, close_fds=False)
        output.seek(0)
        return output.read().decode()


def by_command(own: Path, words: list[str]) -> str:
    """Run the bot by a command of ours; return its output, wherever that command writes it."""
    (own / "cup.toml").write_text(TOURNAMENT.format(bot=shlex.join(command(own))))
    ran = subprocess.run(
        [sys.executable, "-m", "arbiter", *words], cwd=own, capture_output=True, text=True, check=False
    )
    said = [ran.stdout, ran.stderr]
    said += [log.read_text() for log in (own / "arbiter-runs").glob("cup/run-*/bots/ann/start.log")]
    for report in own.glob("report.json"):
        said += [clause["last_words"] for clause in json.loads(report.read_text())["clauses"]]
    return "\n".join(said)


def outliving(own: Path) -> Iterator[int]:
    """Yield the processes that the bot has left behind."""
    mark = f"{own}/outlives".encode()
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and mark in (entry / "cmdline").read_bytes().split(b"\0"):
                yield int(entry.name)


def left_behind(own: Path, patient: bool) -> int:
    """Return how many processes the bot has left behind, and end them. patient: give them a while to end."""
    give_up_s = time.monotonic() + GONE_S
    while patient and list(outliving(own)) and time.monotonic() < give_up_s:
        time.sleep(0.05)
    left = list(outliving(own))
    for number in left:
        os.kill(number, signal.SIGKILL)
    return len(left)


def main() -> None:
    """Run what the command line names."""
    base, *way = Path(sys.argv[1]), *sys.argv[2:]
    with World(base) as world:
        own = Path(world["folders"]["own"])
        (own / "outliving.py").write_text(OUTLIVING.format(pause=PAUSE))
        if way == ["open"]:
            print(in_the_open(own, base))
        elif way == ["sandbox"]:
            print(asyncio.run(in_sandbox(own, Path(world["folders"]["run"]).parent)))
        elif way == ["spawned"]:
            print(asyncio.run(spawned(own, Path(world["folders"]["run"]).parent)))
        else:
            print(by_command(own, [word.replace("{bot}", shlex.join(command(own))) for word in way]))
        print(json.dumps({"left": left_behind(own, patient=way != ["open"])}))


if __name__ == "__main__":
    main()
