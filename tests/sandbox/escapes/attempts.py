"""A bot that tries to escape from its sandbox: without a sandbox every attempt succeeds.

python attempts.py WORLD

WORLD: a JSON file of the targets that `world.py` has prepared

Prints a line of JSON for each attempt, and a last one with the number of attempts and those that succeeded. It imports
only the standard library, and does no harm: what it could write it only opens.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import json
import mmap
import os
import resource
import select
import signal
import socket
import stat
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

WORLD: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text())
LIBC = ctypes.CDLL(None, use_errno=True)
LIMIT_S = 60
REFUSED = (errno.EPERM, errno.EACCES, errno.EROFS)
ABSENT = (errno.ENOSYS, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT, errno.ESOCKTNOSUPPORT)
PLAIN_DEVICES = {"null", "zero", "full", "random", "urandom", "tty", "pts", "ptmx", "shm", "fd", "core"} | {
    "stdin",
    "stdout",
    "stderr",
    "console",
}

Try = Callable[[], bool]
ATTEMPTS: dict[str, Try] = {}
NEEDS_ROOT: set[str] = set()  #: an ordinary user can't do these without a sandbox either
BY_MACHINE: set[str] = set()  #: only some kernels and machines let root do these without a sandbox


def attempt(name: str, root: bool = False, by_machine: bool = False) -> Callable[[Try], Try]:
    """Register an attempt, which returns whether it escaped; an exception means that it did not."""

    def register(function: Try) -> Try:
        ATTEMPTS[name] = function
        if root:
            NEEDS_ROOT.add(name)
        if by_machine:
            BY_MACHINE.add(name)
        return function

    return register


def call(number: int, *arguments: int) -> int:
    """Make a system call. Raises OSError."""
    found = LIBC.syscall(ctypes.c_long(number), *(ctypes.c_long(each) for each in arguments))
    if found == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(found)


def reaches(number: int, *arguments: int) -> bool:
    """Return whether the kernel itself answers a call: any answer but a refusal."""
    try:
        call(number, *arguments)
    except OSError as error:
        if error.errno in ABSENT:
            raise
        return error.errno not in REFUSED
    return True


# -- files ---------------------------------------------------------------------------------------------------------


def reads(path: str) -> Try:
    return lambda: b"secret" in Path(path).read_bytes()


def has_text(path: str) -> Try:
    return lambda: len(os.read(os.open(path, os.O_RDONLY | os.O_NONBLOCK), 64)) > 0


def of_another(path: str) -> Try:
    """In a sandbox process 1 is bubblewrap, a part of the sandbox; other attempts try to read its secrets."""
    return lambda: Path("/proc/1/comm").read_text() != "bwrap\n" and has_text(path)()


def opens(path: str) -> Try:
    """Return whether files can be opened for writing; nothing is written."""
    return lambda: os.open(path, os.O_WRONLY) >= 0


def creates(folder: str) -> Try:
    def creating() -> bool:
        path = Path(folder, f"made-by-{os.getpid()}")
        path.touch()
        path.unlink()
        return True

    return creating


for _path in WORLD["secrets"]:
    attempt(f"read {Path(_path).relative_to(WORLD['folder'])}")(reads(_path))
for _path in ("/etc/shadow", "/etc/gshadow"):
    attempt(f"read {_path}", root=True)(has_text(_path))
for _path in ("/proc/1/environ", "/proc/1/root/etc/shadow", "/proc/1/cwd/etc/shadow", "/proc/1/maps", "/proc/kcore"):
    attempt(f"read {_path}", root=True, by_machine=True)(of_another(_path))
for _path in ("/proc/kmsg", "/proc/timer_list", "/proc/vmallocinfo"):
    attempt(f"read {_path}", root=True, by_machine=True)(has_text(_path))
for _path in ("/proc/kallsyms", "/proc/keys", "/proc/key-users"):
    attempt(f"read {_path}", by_machine=True)(has_text(_path))
for _path in ("/proc/cmdline", "/etc/hostname"):
    attempt(f"read {_path}")(has_text(_path))
for _name in ("environ", "maps", "cwd/.netrc", "root/proc/cmdline", "status"):
    attempt(f"read {_name} of another process")(has_text(f"/proc/{WORLD['process']}/{_name}"))
for _name in ("kernel/core_pattern", "kernel/hostname", "vm/overcommit_memory", "fs/file-max", "net/ipv4/ip_forward"):
    attempt(f"write /proc/sys/{_name}", root=True)(opens(f"/proc/sys/{_name}"))
for _name in ("kernel/modprobe", "kernel/sysrq", "user/max_user_namespaces", "kernel/ns_last_pid"):
    attempt(f"write /proc/sys/{_name}", root=True, by_machine=True)(opens(f"/proc/sys/{_name}"))
attempt("write /proc/sysrq-trigger", root=True, by_machine=True)(opens("/proc/sysrq-trigger"))
for _name in ("oom_score_adj", "coredump_filter", "timerslack_ns", "clear_refs"):
    attempt(f"write /proc/self/{_name}")(opens(f"/proc/self/{_name}"))
attempt("write the memory of process 1", root=True, by_machine=True)(opens("/proc/1/mem"))
for _name in ("/", "/etc", "/usr", "/usr/local/bin", "/var", "/root"):
    attempt(f"write in {_name}", root=True)(creates(_name))
attempt("write in the interpreter's folder", root=True)(creates(sys.base_prefix))
attempt("write in the standard library", root=True)(creates(os.path.dirname(os.__file__)))
for _name in ("own", "other", "home", "run"):
    attempt(f"write in {_name}")(creates(WORLD["folders"][_name]))
attempt("write its own program")(opens(__file__))


@attempt("see another bot's folder")
def _() -> bool:
    return "book.txt" in os.listdir(WORLD["folders"]["other"])


@attempt("see what lies beside its folder")
def _() -> bool:
    return bool(set(os.listdir(os.path.dirname(WORLD["folders"]["own"]))) - {os.path.basename(WORLD["folders"]["own"])})


@attempt("follow a link of its folder")
def _() -> bool:
    return "secret" in Path(WORLD["link"]).read_text()


@attempt("follow a link of its own making")
def _() -> bool:
    link = Path(f"/tmp/link-{os.getpid()}")
    link.symlink_to(WORLD["secrets"][0])
    try:
        return "secret" in link.read_text()
    finally:
        link.unlink()


@attempt("make a hard link to a secret")
def _() -> bool:
    link = f"{WORLD['folders']['own']}/hard-{os.getpid()}"
    os.link(WORLD["secrets"][0], link)
    os.unlink(link)
    return True


@attempt("climb out of its folder")
def _() -> bool:
    os.chdir(WORLD["folders"]["own"])
    return "secret" in Path("../bob/book.txt").read_text()


@attempt("know the machine's users")
def _() -> bool:
    return len(Path("/etc/passwd").read_text().splitlines()) > 2


@attempt("see /sys")
def _() -> bool:
    return bool(os.listdir("/sys/kernel"))


@attempt("see control groups")
def _() -> bool:
    return bool(os.listdir("/sys/fs/cgroup"))


@attempt("see devices of the machine")
def _() -> bool:
    return bool(set(os.listdir("/dev")) - PLAIN_DEVICES)


@attempt("make a device", root=True)
def _() -> bool:
    node = f"/tmp/device-{os.getpid()}"
    os.mknod(node, stat.S_IFCHR | 0o600, os.makedev(1, 1))
    os.unlink(node)
    return True


@attempt("write in /dev", root=True)
def _() -> bool:
    return creates("/dev")()


@attempt("read a file of shared memory")
def _() -> bool:
    return "secret" in Path(WORLD["shared"]).read_text()


@attempt("write or read its output as a file")
def _() -> bool:
    return any(stat.S_ISREG(os.fstat(number).st_mode) for number in (1, 2))


@attempt("read what others wrote on its output")
def _() -> bool:
    with open("/proc/self/fd/2", "rb") as file:
        return stat.S_ISREG(os.fstat(file.fileno()).st_mode)


# -- processes -----------------------------------------------------------------------------------------------------


@attempt("see other processes")
def _() -> bool:
    return len([name for name in os.listdir("/proc") if name.isdigit()]) > 8


@attempt("signal another process")
def _() -> bool:
    os.kill(WORLD["process"], 0)
    return True


@attempt("hold another process by a handle")
def _() -> bool:
    return os.pidfd_open(WORLD["process"]) >= 0


@attempt("look at where another process may run")
def _() -> bool:
    return bool(os.sched_getaffinity(WORLD["process"]))


@attempt("trace another process")
def _() -> bool:
    call(WORLD["calls"]["ptrace"], 16, WORLD["process"], 0, 0)  # PTRACE_ATTACH
    os.waitpid(WORLD["process"], 0x40000000)  # __WALL
    call(WORLD["calls"]["ptrace"], 17, WORLD["process"], 0, 0)
    return True


@attempt("trace its own child")
def _() -> bool:
    child = os.fork()
    if child == 0:
        signal.pause()
    try:
        return reaches(WORLD["calls"]["ptrace"], 16, child, 0, 0)
    finally:
        os.kill(child, signal.SIGKILL)


@attempt("find a secret of its starter in process 1", root=True, by_machine=True)
def _() -> bool:
    return b"secret" in Path("/proc/1/environ").read_bytes() + Path("/proc/1/cmdline").read_bytes()


@attempt("keep environment variables of the host")
def _() -> bool:
    return any("secret" in value for value in os.environ.values())


@attempt("keep files that its starter has open")
def _() -> bool:
    return any("secret" in _link(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd"))


@attempt("keep more than three files")
def _() -> bool:
    return bool(INHERITED)


def _link(path: str) -> str:
    with contextlib.suppress(OSError):
        return os.readlink(path)
    return ""


INHERITED = [number for number in os.listdir("/proc/self/fd") if int(number) > 2 and _link(f"/proc/self/fd/{number}")]

# -- who it is -----------------------------------------------------------------------------------------------------


def status(name: str) -> str:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(line.split(":", 1)[1].split()[0] for line in lines if line.startswith(f"{name}:"))


@attempt("be root", root=True)
def _() -> bool:
    return os.getuid() == 0


@attempt("become root", root=True)
def _() -> bool:
    os.setresuid(0, 0, 0)
    return True


@attempt("join the group of root", root=True)
def _() -> bool:
    os.setgroups([0])
    return True


@attempt("have capabilities", root=True)
def _() -> bool:
    return int(status("CapEff"), 16) != 0 or int(status("CapPrm"), 16) != 0


@attempt("gain rights by running a program")
def _() -> bool:
    return status("NoNewPrivs") == "0"


@attempt("make system calls that nobody filters")
def _() -> bool:
    return status("Seccomp") == "0"


@attempt("run a program as its owner")
def _() -> bool:
    said = subprocess.run([WORLD["setuid"]], capture_output=True, text=True, check=True).stdout
    return "uid=0" in said


@attempt("give a file away", root=True)
def _() -> bool:
    path = f"/tmp/given-{os.getpid()}"
    Path(path).touch()
    try:
        os.chown(path, 1, 1)
    finally:
        os.unlink(path)
    return True


@attempt("go before everybody", root=True)
def _() -> bool:
    os.nice(-5)
    return True


@attempt("know the machine's name")
def _() -> bool:
    return bool(os.uname().nodename == WORLD["hostname"])


@attempt("raise its limits")
def _() -> bool:
    resource.setrlimit(resource.RLIMIT_NOFILE, (4_000, 4_000))
    return True


@attempt("leave a core")
def _() -> bool:
    return resource.getrlimit(resource.RLIMIT_CORE)[1] != 0


# -- system calls --------------------------------------------------------------------------------------------------


def _call(name: str, number: int) -> None:
    arguments = (-1, -1, -1, -1, -1, -1)

    def calling() -> bool:
        if name == "vhangup":
            os.setsid()  # then there is no terminal that it could hang up
        return reaches(number, *arguments)

    attempt(f"call {name}", root=True)(calling)


for _name, _number in WORLD["calls"].items():
    _call(_name, _number)

SPACES = {
    "user": 0x10000000,
    "mount": 0x00020000,
    "pid": 0x20000000,
    "network": 0x40000000,
    "ipc": 0x08000000,
    "uts": 0x04000000,
    "cgroup": 0x02000000,
}


def _namespace(name: str, flag: int) -> None:
    def cloning() -> bool:
        child = call(WORLD["clone"], flag | signal.SIGCHLD, 0, 0, 0, 0)
        if child == 0:
            os._exit(0)
        return True

    def unsharing() -> bool:
        call(WORLD["calls"]["unshare"], flag)
        return True

    def cloning_anew() -> bool:
        arguments = struct.pack("=QQQQQQQQ", flag, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
        buffer = ctypes.create_string_buffer(arguments, len(arguments))
        child = call(WORLD["calls"]["clone3"], ctypes.addressof(buffer), len(arguments))
        if child == 0:
            os._exit(0)
        return True

    for way, function in (("clone", cloning), ("clone3", cloning_anew), ("unshare", unsharing)):
        attempt(f"make a namespace: {name}, by {way}", root=name != "user")(function)


for _name, _flag in SPACES.items():
    _namespace(_name, _flag)


@attempt("mount a file system", root=True)
def _() -> bool:
    folder = Path(f"/tmp/mount-{os.getpid()}")
    folder.mkdir()
    try:
        if LIBC.mount(b"none", str(folder).encode(), b"tmpfs", 0, None) != 0:
            raise OSError(ctypes.get_errno(), "mount")
        LIBC.umount2(str(folder).encode(), 0)
    finally:
        folder.rmdir()
    return True


@attempt("mount over /tmp in a user namespace")
def _() -> bool:
    run = ["unshare", "-Urm", "mount", "-t", "tmpfs", "none", "/tmp"]
    return subprocess.run(run, capture_output=True, check=False).returncode == 0


@attempt("lay its memory out without chance")
def _() -> bool:
    return reaches(WORLD["personality"], 0x0040000)


@attempt("call in the x32 convention")
def _() -> bool:
    return call(0x40000000 | 39) > 0  # getpid; where the kernel has no x32 it is absent


@attempt("call in the convention of 32 bits")
def _() -> bool:
    if os.uname().machine != "x86_64":
        raise OSError(errno.ENOSYS, "x86 alone")
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(bytes.fromhex("53b814000000cd805bc3"))  # push rbx; mov eax, 20 (getpid); int 0x80; pop rbx; ret
    code = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    found = code()
    if found < 0:
        raise OSError(-found, "int 0x80")
    return bool(found == os.getpid())


# -- the network ---------------------------------------------------------------------------------------------------


def _connects(family: int, address: Any) -> Try:
    def connecting() -> bool:
        with socket.socket(family, socket.SOCK_STREAM) as there:
            there.settimeout(5)
            there.connect(address)
        return True

    return connecting


for _place, _path in WORLD["sockets"].items():
    attempt(f"reach a Unix socket: {_place}")(_connects(socket.AF_UNIX, _path))
attempt("reach an abstract Unix socket")(_connects(socket.AF_UNIX, "\0" + WORLD["abstract"]))
attempt("reach another port of the loopback")(_connects(socket.AF_INET, ("127.0.0.1", WORLD["port"])))
attempt("reach another port of the loopback by IPv6")(_connects(socket.AF_INET6, ("::1", WORLD["port"])))
for _address in WORLD["addresses"]:
    attempt("reach the machine by its address")(_connects(socket.AF_INET, (_address, WORLD["port"])))


@attempt("send a datagram")
def _() -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as there:
        there.settimeout(5)
        there.connect(("127.0.0.1", WORLD["datagrams"]))
        there.send(b"ping")
        return there.recv(10) == b"pong"


@attempt("bind an abstract name that others see")
def _() -> bool:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0bound-{os.getpid()}")
    return True


def _family(name: str, family: int, kind: int, protocol: int, root: bool) -> None:
    def making() -> bool:
        with socket.socket(family, kind, protocol):
            return True

    attempt(f"make a socket: {name}", root=root, by_machine=name == "ping")(making)


for _family_of in (
    ("unix", socket.AF_UNIX, socket.SOCK_STREAM, 0, False),
    ("unix datagrams", socket.AF_UNIX, socket.SOCK_DGRAM, 0, False),
    ("packets", socket.AF_PACKET, socket.SOCK_RAW, 0, True),
    ("raw IP", socket.AF_INET, socket.SOCK_RAW, 1, True),
    ("ping", socket.AF_INET, socket.SOCK_DGRAM, 1, True),
    ("virtual machines", 40, socket.SOCK_STREAM, 0, False),
    ("cryptography", 38, socket.SOCK_SEQPACKET, 0, False),
    ("keys", 15, socket.SOCK_RAW, 2, True),
    ("netfilter", socket.AF_NETLINK, socket.SOCK_RAW, 12, False),
    ("audit", socket.AF_NETLINK, socket.SOCK_RAW, 9, False),
    ("devices that come and go", socket.AF_NETLINK, socket.SOCK_RAW, 15, False),
    ("generic netlink", socket.AF_NETLINK, socket.SOCK_RAW, 16, False),
    ("XDP", 44, socket.SOCK_RAW, 0, True),
    ("TIPC", 30, socket.SOCK_STREAM, 0, False),
    ("CAN", 29, socket.SOCK_RAW, 1, False),
    ("Bluetooth", 31, socket.SOCK_STREAM, 3, False),
    ("RDS", 21, socket.SOCK_SEQPACKET, 0, False),
    ("SCTP", socket.AF_INET, socket.SOCK_STREAM, 132, False),
    ("multipath TCP", socket.AF_INET, socket.SOCK_STREAM, 262, False),
):
    _family(*_family_of)


def _finds(kind: str, key: int, number: int, *arguments: int) -> None:
    attempt(f"find {kind} of another process")(lambda: call(number, key, *arguments) >= 0)


_finds("shared memory", WORLD["key"], WORLD["calls"]["shmget"], 0, 0)
_finds("a message queue", WORLD["key"], WORLD["msgget"], 0)
_finds("a semaphore", WORLD["key"], WORLD["semget"], 0, 0)

# -- the terminal --------------------------------------------------------------------------------------------------


@attempt("open the terminal")
def _() -> bool:
    return os.open("/dev/tty", os.O_RDWR) >= 0


@attempt("type into the terminal", root=True)
def _() -> bool:
    fcntl.ioctl(os.open("/dev/tty", os.O_RDWR), 0x5412, b"x")  # TIOCSTI
    return True


@attempt("open the terminal by its name")
def _() -> bool:
    return os.open(WORLD["terminal"], os.O_RDWR | os.O_NOCTTY) >= 0


@attempt("make a terminal of another discipline")
def _() -> bool:
    master, slave = os.openpty()
    fcntl.ioctl(slave, 0x5423, struct.pack("i", 0))  # TIOCSETD, N_TTY: the one that it has
    return master >= 0


# -- running the attempts ------------------------------------------------------------------------------------------


def tried(function: Try) -> tuple[str, str]:
    """Try one in its own process; return "out" (it escaped), "absent" or "in", and why."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.write(writing, json.dumps(_judged(function)).encode())
        os._exit(0)
    os.close(writing)
    ready, _, _ = select.select([reading], [], [], LIMIT_S)
    if not ready:
        os.kill(child, signal.SIGKILL)
    data = os.read(reading, 4_096)
    os.close(reading)
    _, code = os.waitpid(child, 0)
    if not data:
        return "in", f"ended by signal {os.WTERMSIG(code)}" if os.WIFSIGNALED(code) else "ended"
    verdict, why = json.loads(data)
    return verdict, why


def _judged(function: Try) -> tuple[str, str]:
    try:
        return ("out", "") if function() else ("in", "")
    except OSError as error:
        verdict = "absent" if error.errno in ABSENT else "in"
        return verdict, errno.errorcode.get(error.errno or 0, str(error))
    except Exception as error:
        return "in", repr(error)


def flags(name: str) -> dict[str, bool]:
    return {"root": name in NEEDS_ROOT, "by_machine": name in BY_MACHINE}


def main() -> None:
    """Make every attempt, and print which of them escaped."""
    found = {name: tried(function) for name, function in ATTEMPTS.items()}
    for name, (verdict, why) in found.items():
        print(json.dumps({"attempt": name, "verdict": verdict, "why": why, **flags(name)}), file=sys.stderr)
    out = [name for name, (verdict, _) in found.items() if verdict == "out"]
    print(json.dumps({"tried": len(found), "out": out}), file=sys.stderr, flush=True)


main()
