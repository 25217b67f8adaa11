"""Bots that exceed a limit: each is held at the limit or ended, and this is reported."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from arbiter.runtime.loopback import HOST, free_port
from arbiter.sandbox import bubblewrap as sandboxes
from arbiter.sandbox import limits as measure
from arbiter.sandbox.bot_process import BotProcess, Hit
from arbiter.sandbox.bubblewrap import Program, Sandbox, guarded
from arbiter.sandbox.limits import ResourceLimits, Usage, in_words
from tests.processes import descendants

pytestmark = pytest.mark.long

FEW = ResourceLimits(memory_mb=64, processes=24, files=256, tmp_mb=8, cpu_s=0)

needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap")


def sandbox(limits: ResourceLimits) -> Sandbox:
    found = sandboxes.find(limits)
    assert isinstance(found, Sandbox), found
    return found


async def started(script: str, folder: Path, limits: ResourceLimits) -> BotProcess:
    program = Program((sys.executable, "-I", "-S", "-c", script), folder, {})
    return await BotProcess.start(program, HOST, free_port(), sandbox(limits))


DEADLY = {
    "memory of its own": """
held = []
while True:
    try:
        held.append(bytearray(1 << 20))
    except MemoryError:
        pass
""",
    "memory that processes share": """
import mmap
shared = mmap.mmap(-1, 200 << 20)
for page in range(0, 200 << 20, 4096):
    shared[page] = 1
while True:
    pass
""",
    "tables of pages that are empty": """
import mmap
empty = mmap.mmap(-1, 1 << 38, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ)
for page in range(0, 1 << 38, 1 << 21):
    empty[page]
while True:
    pass
""",
    "memory of many processes": """
import os, signal
for _ in range(10):
    if os.fork() == 0:
        held = bytearray(b"x" * (20 << 20))
        signal.pause()
signal.pause()
""",
    "shared memory whose pages were let go": """
import mmap
shared = mmap.mmap(-1, 200 << 20)
for page in range(0, 200 << 20, 4096):
    shared[page] = 1
    shared.madvise(mmap.MADV_DONTNEED, page, 4096)
while True:
    pass
""",
    "descriptions of mappings": """
import ctypes, mmap, os, signal
for _ in range(20):
    if os.fork() == 0:
        library = ctypes.CDLL(None)
        library.mmap.restype = ctypes.c_void_p
        whole = ctypes.c_void_p(library.mmap(None, ctypes.c_long(1 << 30), 0, 0x22, -1, ctypes.c_long(0))).value
        for page in range(0, 1 << 30, 8192):
            library.mprotect(ctypes.c_void_p(whole + page), ctypes.c_long(4096), mmap.PROT_READ)
        signal.pause()
signal.pause()
""",
    "data in sockets": """
import os, signal, socket
for _ in range(20):
    if os.fork() == 0:
        held = [one for _ in range(60) for one in socket.socketpair()]
        for one in held:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 24)
            if one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) >= 1 << 20:
                os.kill(os.getppid(), signal.SIGTERM)
            one.setblocking(False)
            try:
                while True:
                    one.send(b"x" * 65_536)
            except BlockingIOError:
                pass
        signal.pause()
signal.pause()
""",
    "data in connections": """
import socket
listener = socket.create_server(("127.0.0.1", 0))
held = []
while True:
    held.append((socket.create_connection(listener.getsockname()), listener.accept()[0]))
    for one in held[-1]:
        one.setblocking(False)
        try:
            while True:
                one.send(b"x" * 65_536)
        except BlockingIOError:
            pass
""",
    "data in pipes that have names": """
import os, signal
for child in range(20):
    if os.fork() == 0:
        for number in range(100):
            os.mkfifo(f"/tmp/{child}-{number}")
            os.write(os.open(f"/tmp/{child}-{number}", os.O_RDWR), b"x" * 65_536)
        signal.pause()
signal.pause()
""",
    "data in pipes": """
import fcntl, os, signal
for _ in range(20):
    if os.fork() == 0:
        held = [os.pipe() for _ in range(100)]
        for _, end in held:
            try:
                fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, 1 << 20)
                os.kill(os.getppid(), signal.SIGTERM)
            except PermissionError:
                pass
            os.write(end, b"x" * 65_536)
        signal.pause()
signal.pause()
""",
    "very many empty files": """
import os
number = 0
while True:
    number += 1
    os.close(os.open(f"/tmp/{number}", os.O_CREAT))
""",
}


@needs_bwrap
@pytest.mark.parametrize("script", DEADLY.values(), ids=DEADLY)
async def test_a_bot_that_takes_too_much_memory_is_ended(tmp_path: Path, script: str) -> None:
    bot = await started(script, tmp_path, FEW)
    assert await bot.wait() == -signal.SIGKILL
    assert bot.hits == (Hit("memory_mb", 64),)


@needs_bwrap
async def test_a_bot_that_takes_too_much_of_the_processor_is_ended(tmp_path: Path) -> None:
    bot = await started("while True: pass", tmp_path, FEW._replace(cpu_s=1))
    assert await bot.wait() == -signal.SIGKILL
    assert bot.hits == (Hit("cpu_s", 1),)


HELD = {
    "processes": """
import os, signal
try:
    while True:
        if os.fork() == 0:
            signal.pause()
except OSError as error:
    print(error.strerror, flush=True)
signal.pause()
""",
    "threads": """
import threading
wait = threading.Event().wait
try:
    while True:
        threading.Thread(target=wait, daemon=True).start()
except RuntimeError as error:
    print(error, flush=True)
wait()
""",
    "a fork bomb": """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
""",
    "open files": """
import os, signal
try:
    while True:
        os.open("/dev/null", os.O_RDONLY)
except OSError as error:
    print(error.strerror, flush=True)
signal.pause()
""",
    "a full /tmp": """
import signal
number = 0
try:
    while True:
        number += 1
        with open(f"/tmp/{number}", "wb", buffering=0) as file:
            file.write(b"x" * (1 << 20))
except OSError as error:
    print(error.strerror, flush=True)
signal.pause()
""",
    "a full /dev/shm": """
import signal
number = 0
try:
    while True:
        number += 1
        with open(f"/dev/shm/{number}", "wb", buffering=0) as file:
            file.write(b"x" * (1 << 20))
except OSError as error:
    print(error.strerror, flush=True)
signal.pause()
""",
}
LIMIT_OF = {"open files": "files", "a full /tmp": "tmp_mb", "a full /dev/shm": "tmp_mb"}


@needs_bwrap
@pytest.mark.parametrize("greed", HELD)
async def test_at_other_limits_a_bot_gets_no_more_and_goes_on(tmp_path: Path, greed: str) -> None:
    others = descendants(os.getpid()).keys()  # such as a database of other tests
    bot = await started(HELD[greed], tmp_path, FEW)
    limit = LIMIT_OF.get(greed, "processes")
    try:
        async with asyncio.timeout(240):
            while not bot.hits:  # noqa: ASYNC110 - there is no event to wait for
                await asyncio.sleep(0.01)
        assert bot.hits == (Hit(limit, getattr(FEW, limit)),)
        assert bot.returncode is None
        assert len(descendants(os.getpid()).keys() - others) <= FEW.processes + 8, "no more processes than allowed"
    finally:
        bot.kill()
    assert await bot.wait() == -signal.SIGKILL
    assert not [line for line in descendants(os.getpid()).values() if HELD[greed][:20] in line]


@needs_bwrap
async def test_a_bot_may_map_what_it_does_not_use(tmp_path: Path) -> None:
    script = """
import mmap
stacks = [mmap.mmap(-1, 8 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) for _ in range(1_000)]
for stack in stacks:
    stack[-1] = 1
print("mapped")
"""
    bot = await started(script, tmp_path, FEW)
    assert (await bot.output.read()) == b"mapped\n"
    assert await bot.wait() == 0
    assert bot.hits == ()


@needs_bwrap
async def test_without_a_starter_that_reads_it_a_reached_limit_is_printed(tmp_path: Path) -> None:
    program = Program((sys.executable, "-I", "-S", "-c", "while True: pass"), tmp_path, {})
    (tmp_path / "job").write_text(json.dumps(sandbox(FEW._replace(cpu_s=1)).job(program, None)))
    run = await asyncio.create_subprocess_exec(*guarded(tmp_path / "job"), stderr=asyncio.subprocess.PIPE)
    _, said = await run.communicate()
    assert said == b"[arbiter] the bot took more than 1 s of processor time and was ended (cpu_s)\n"
    assert run.returncode == -signal.SIGKILL


async def test_what_a_sandbox_was_being_made_for_ends_with_it(tmp_path: Path) -> None:
    """Before bubblewrap has made the sandbox, the process inside does not end when bubblewrap is killed."""
    half_made = tmp_path / "bwrap"
    held = f"{sys.executable} -c 'import time; held = b\"x\" * (1 << 28); time.sleep(1_000)'"
    half_made.write_text(f"#!/bin/sh\n{held} &\necho $! > {tmp_path}/inside\nwait\n")
    half_made.chmod(0o755)
    job = sandbox(FEW).job(Program(("bot",), tmp_path, {}), None) | {"bwrap": str(half_made)}
    (tmp_path / "job").write_text(json.dumps(job))
    with (tmp_path / "output").open("wb") as output:
        run = await asyncio.create_subprocess_exec(*guarded(tmp_path / "job"), stdout=output, stderr=output)
        await run.wait()
    assert b"took more than 64 MiB of memory and was ended" in (tmp_path / "output").read_bytes()
    inside = Path("/proc") / (tmp_path / "inside").read_text().strip()
    assert not inside.exists() or "\tZ" in (inside / "status").read_text()


def test_shared_memory_is_counted_once(tmp_path: Path) -> None:
    mine = os.getpid()
    assert measure.exact_memory([mine], mine) > 0


def test_usage_is_what_the_kernel_says_of_the_processes() -> None:
    held = bytearray(os.urandom(32 * measure.MIB))
    pipes = [os.pipe() for _ in range(8)]
    mine = os.getpid()
    before = sum(os.times()[:4])
    seen = measure.usage([mine], mine)
    assert before - 0.1 <= seen.cpu_s <= sum(os.times()[:4]) + 0.1
    anonymous = re.findall(r"RssAnon:\s*(\d+) kB", Path("/proc/self/status").read_text())
    assert len(held) < int(anonymous[0]) * 1_024 <= seen.memory - len(pipes) * measure.PIPE
    assert seen.processes >= 1
    assert seen.files >= 2 * len(pipes)
    assert measure.usage([mine], mine, in_group=True)._replace(cpu_s=0.0) == seen._replace(memory=0, cpu_s=0.0)
    for ends in pipes:
        for end in ends:
            os.close(end)


def test_files_of_this_machine_are_not_those_of_a_bot_whose_sandbox_is_not_made_yet() -> None:
    program = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE)
    with tempfile.TemporaryFile(dir="/tmp") as file, program:
        os.posix_fallocate(file.fileno(), 0, FEW.memory_mb * measure.MIB)
        assert measure.exact_memory([program.pid], program.pid) < FEW.memory_mb * measure.MIB
        assert "memory_mb" not in measure.usage([program.pid], program.pid).over(FEW)
        program.kill()


def test_reached_limits_are_named() -> None:
    assert Usage(processes=24, files=256, full=True).over(FEW) == ["processes", "files", "tmp_mb"]
    assert Usage(memory=64 * measure.MIB, cpu_s=9.0).over(FEW) == []
    assert Usage(memory=65 * measure.MIB, cpu_s=9.0).over(FEW._replace(cpu_s=8)) == ["memory_mb", "cpu_s"]
    assert in_words("memory_mb", 1_024) == "took more than 1,024 MiB of memory and was ended (memory_mb)"
    for name, (least, most) in measure.BOUNDS.items():
        assert least <= getattr(ResourceLimits(), name) <= most
        assert in_words(name, least)
