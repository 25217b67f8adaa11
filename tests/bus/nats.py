"""A real NATS for the tests."""

from __future__ import annotations

import subprocess
from typing import Self

from arbiter.runtime.loopback import free_port

WAIT_S = 240


class Nats:
    """A NATS server that can be killed and started again; a context manager, inside which it runs."""

    def __init__(self, *options: str) -> None:
        self.address = f"127.0.0.1:{free_port()}"
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"nats://{self.address}"

    @property
    def runs(self) -> bool:
        return self._process is not None

    def start(self) -> None:
        """Start it, and wait until it accepts connections."""
        host, _, port = self.address.partition(":")
        self._process = subprocess.Popen(
            ["nats-server", "--addr", host, "--port", port, *self._options], stderr=subprocess.PIPE
        )
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if b"Server is ready" in line:
                break
        else:
            raise AssertionError("nats-server has ended")

    def kill(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        self._process.kill()
        self._process.wait(WAIT_S)
        self._process.stderr.close()
        self._process = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.runs:
            self.kill()
