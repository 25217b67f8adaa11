"""A NATS server of a benchmark's own: the bus between its servers, whose processor time can be measured."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from arbiter.bench.processes import BenchError, spent_s
from arbiter.runtime.loopback import HOST, free_port

PROGRAM: Final = "nats-server"
SYSTEM: Final = "/usr/sbin:/usr/local/sbin"  #: where Debian has it, which is not on every user's path
READY: Final = "Server is ready"
READY_S: Final = 60.0  #: the longest time to start
LOOK_S: Final = 0.02  #: time between two looks whether it is ready
STOP_S: Final = 20.0  #: the longest time for an orderly stop


@dataclass(frozen=True, slots=True)
class NatsProcess:
    """A NATS server that runs: its URL, and the id of its process."""

    url: str
    process: int

    def cpu_s(self) -> float:
        """Return the processor time that it has used so far."""
        return spent_s(self.process)


@contextmanager
def nats() -> Iterator[NatsProcess]:
    """Run a NATS server on a free port of the loopback interface. Raises BenchError if there is none."""
    program = shutil.which(PROGRAM) or shutil.which(PROGRAM, path=SYSTEM)
    if program is None:
        raise BenchError(
            f"there is no program {PROGRAM}: install it (Debian: apt-get install nats-server), or measure without a "
            "bus, with --no-bus"
        )
    port = free_port()
    with TemporaryDirectory(prefix="arbiter-bench-nats-") as folder:
        log = Path(folder) / "log"
        server = subprocess.Popen([program, "--addr", HOST, "--port", str(port), "--log", str(log)])
        try:
            _wait_until_ready(server, log)
            yield NatsProcess(f"nats://{HOST}:{port}", server.pid)
        finally:
            server.terminate()
            try:
                server.wait(STOP_S)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _wait_until_ready(server: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a NATS server accepts connections. Raises BenchError if it ends instead, or takes too long."""
    last = time.monotonic() + READY_S
    while not (log.exists() and READY in log.read_text(encoding="utf-8", errors="replace")):
        if server.poll() is not None or time.monotonic() > last:
            raise BenchError(f"{PROGRAM} does not start, or takes longer than {READY_S:.0f} s")
        time.sleep(LOOK_S)
