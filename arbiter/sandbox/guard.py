"""The guard of one sandboxed bot: it starts the bot, forwards its connections, and ends it at its limits.

    python -P -m arbiter.sandbox.guard JOB [REPORT]

JOB is a file with what `arbiter.sandbox.bubblewrap.Sandbox.job` returns. REPORT is a file descriptor: the guard writes
each limit that the bot reaches to it, one line of JSON each. Without REPORT it prints them on standard error. The bot's
output goes through a pipe, so that the bot never holds a terminal or a file of the user who started it. The guard
forwards SIGTERM to the bot. The guard ends as the bot does, with its exit code or by its signal. The bot ends when the
guard ends, for whatever reason.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from arbiter.sandbox.bubblewrap import KNOWN
from arbiter.sandbox.cgroup import Cgroup
from arbiter.sandbox.launch import tie
from arbiter.sandbox.limits import DEADLY, MIB, ResourceLimits, descendants, exact_memory, in_words, usage
from arbiter.sandbox.loopback_relay import relayed
from arbiter.sandbox.seccomp import program

LOOK_EVERY_S: Final = 0.25
FAILED: Final = 126  #: exit code if there is no sandbox: the code that a shell uses for a program that cannot be run
BY_SIGNAL: Final = 128  #: bubblewrap uses exit codes above this if a signal ended the bot
PIECE: Final = 65_536
SAFE: Final = bytes.maketrans(bytes((*range(9), *range(11, 32), 127)), b"?" * 31)
"""Removes every character that a terminal could take as an escape sequence; line feeds and tabs stay."""


class Guard:
    """A bot that runs in a sandbox."""

    def __init__(self, job: dict[str, Any], report: Callable[[str, int], None]) -> None:
        self._limits = ResourceLimits(**job["limits"])
        self._job = job
        self._report = report
        self._reported: set[str] = set()
        self._cgroup = Cgroup.make(job["cgroup"], self._limits) if job["cgroup"] else None
        self._bot: int | None = None  #: a process handle (pidfd) of the bot
        self._copies: list[threading.Thread] = []
        ours, its = socket.socketpair()
        with its:
            self._bwrap = self._started(its)
        self._channel = ours

    async def run(self) -> int:
        """Guard the bot until it ends. Return its exit code, or the negative signal number."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._end_gently)
        ended = asyncio.create_task(self._ended())
        looks = asyncio.create_task(self._look())
        relay = asyncio.create_task(self._relay())
        code = await ended
        for task in (looks, relay):
            task.cancel()
        self._note_in(self._cgroup.hits() if self._cgroup is not None else [])
        for copy in self._copies:
            await asyncio.to_thread(copy.join)
        if self._cgroup is not None:
            self._cgroup.remove()
        return code

    # -- the start -----------------------------------------------------------------------------------------------------

    def _started(self, channel: socket.socket) -> subprocess.Popen[bytes]:
        job = self._job
        with contextlib.ExitStack() as held:
            words = list(job["words"])
            passed = [channel.fileno()]
            for place, text in zip(KNOWN, job["known"], strict=True):
                passed.append(_held(held, text.encode()))
                words += ["--perms", "0444", "--ro-bind-data", str(passed[-1]), place]
            passed.append(_held(held, program(os.uname().machine)))
            words += ["--remount-ro", "/", "--seccomp", str(passed[-1])]
            passed.append(_held(held, b"".join(word.encode() + b"\0" for word in words)))
            outputs = self._outputs(held)
            first = [job["bwrap"], "--args", str(passed[-1]), "--", *job["first"]]
            return subprocess.Popen(
                [*first, str(channel.fileno()), json.dumps(job["inside"]), "--", *job["command"]],
                env={"PATH": os.defpath},
                pass_fds=passed,
                stdout=outputs[0],
                stderr=outputs[1],
                preexec_fn=self._cgroup.enter if self._cgroup is not None else None,  # no other thread runs yet
            )

    def _outputs(self, held: contextlib.ExitStack) -> list[int]:
        """Return the targets of the bot's standard output and error.

        Pipes are passed on; for all else we copy from a pipe.
        """
        outputs = []
        for ours in (1, 2):
            if stat.S_ISFIFO(os.fstat(ours).st_mode) or stat.S_ISSOCK(os.fstat(ours).st_mode):
                outputs.append(ours)
                continue
            out, into = os.pipe()
            held.callback(os.close, into)
            outputs.append(into)
            self._copies.append(threading.Thread(target=_copy, args=(out, ours, os.isatty(ours)), daemon=True))
        return outputs

    # -- while it runs -------------------------------------------------------------------------------------------------

    async def _ended(self) -> int:
        for copy in self._copies:
            copy.start()
        code = await asyncio.to_thread(self._bwrap.wait)
        return BY_SIGNAL - code if code > BY_SIGNAL else code

    async def _relay(self) -> None:
        """Receive the handles from inside the sandbox, then forward connections."""
        self._channel.setblocking(False)
        ready = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(self._channel, ready.set)
        await ready.wait()
        loop.remove_reader(self._channel)
        _, handles, _, _ = socket.recv_fds(self._channel, 1, 2)
        self._channel.close()
        if handles:
            self._bot = handles[0]
        if len(handles) > 1:
            host, port = self._job["address"]
            server = await relayed(socket.socket(fileno=handles[1]), host, port)
            await server.serve_forever()

    async def _look(self) -> None:
        """Check at intervals how much the bot uses, and end it if that is too much."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            inside = descendants(self._bwrap.pid)
            if inside:
                self._note_in(self._over(inside))

    def _over(self, inside: list[int]) -> list[str]:
        """Return the limits that the bot has reached. Memory above the limit is measured a second time, exactly."""
        place = inside[0]
        if self._cgroup is not None:
            seen = usage(inside, place, in_group=True)._replace(processes=0, cpu_s=self._cgroup.cpu_s())
            return [*seen.over(self._limits), *self._cgroup.hits()]
        hit = usage(inside, place).over(self._limits)
        if "memory_mb" in hit and exact_memory(inside, place) <= self._limits.memory_mb * MIB:
            hit.remove("memory_mb")
        return hit

    def _note_in(self, hit: Sequence[str]) -> None:
        for limit in hit:
            if limit not in self._reported:
                self._reported.add(limit)
                self._report(limit, getattr(self._limits, limit))
            if limit in DEADLY:
                self._kill()

    def _end_gently(self) -> None:
        if self._bot is None:
            self._kill()
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._bot, signal.SIGTERM)

    def _kill(self) -> None:
        """End bubblewrap, and what it has started: until the sandbox is made, that does not end with it."""
        for process in descendants(self._bwrap.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._bwrap.kill()


def _held(held: contextlib.ExitStack, data: bytes) -> int:
    """Return an in-memory file that holds the data, positioned at its beginning."""
    handle = os.memfd_create("arbiter")
    held.callback(os.close, handle)
    with os.fdopen(handle, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


def _copy(out: int, to: int, terminal: bool) -> None:
    """Copy the bot's output. If the target is a terminal, remove escape sequences."""
    with contextlib.suppress(OSError):  # nobody reads the output any more; the bot continues
        while data := os.read(out, PIECE):
            left = memoryview(data.translate(SAFE) if terminal else data)
            while left:
                left = left[os.write(to, left) :]
    while os.read(out, PIECE):
        pass


def _reporter(to: int | None) -> Callable[[str, int], None]:
    """Return a callback that reports a reached limit."""

    def report(limit: str, value: int) -> None:
        with contextlib.suppress(OSError):
            if to is None:
                os.write(2, f"[arbiter] the bot {in_words(limit, value)}\n".encode())
            else:
                os.write(to, json.dumps({"limit": limit, "value": value}).encode() + b"\n")

    return report


def main() -> None:
    """Guard the bot of the job that is named on the command line."""
    tie()
    job = json.loads(Path(sys.argv[1]).read_bytes())
    report = int(sys.argv[2]) if len(sys.argv) > 2 else None
    if report is not None:
        os.set_inheritable(report, False)
    try:
        code = asyncio.run(Guard(job, _reporter(report)).run())
    except OSError as error:
        sys.stderr.write(f"the sandbox can't be started: {error}\n")
        code = FAILED
    if code < 0:  # end by the same signal as the bot, but without a core dump
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(-code, signal.SIG_DFL) if -code not in (signal.SIGKILL, signal.SIGSTOP) else None
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    main()
