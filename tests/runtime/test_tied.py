"""Processes that end with the one that started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

STUBBORN = """
import signal
from arbiter.runtime.tied import tie

signal.signal(signal.SIGTERM, signal.SIG_IGN)
tie(grace_s=0)
print("here", flush=True)
while True:
    signal.pause()
"""


def start(*arguments: str, folder: Path | None = None) -> subprocess.Popen[str]:
    """Start Python, and return it once it has reported its start."""
    environment = {**os.environ, "PYTHONPATH": str(folder or "")}
    process = subprocess.Popen(
        [sys.executable, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    assert process.poll() is None
    return process


def end_of(process: subprocess.Popen[str]) -> int:
    """Do to a process what the end of its starter does; return its status."""
    process.communicate(timeout=240)
    return process.returncode


def test_a_module_runs_as_it_would_alone_and_gets_the_signal_to_end(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import signal, sys\n"
        "assert __name__ == '__main__' and sys.argv[1:] == ['--one', 'two'], sys.argv\n"
        "print('here', flush=True)\n"
        "signal.pause()\n"
    )
    process = start("-m", "arbiter.runtime.tied", "program", "--one", "two", folder=tmp_path)
    assert end_of(process) == -signal.SIGTERM


def test_a_process_that_ignores_the_signal_is_killed() -> None:
    assert end_of(start("-c", STUBBORN)) == -signal.SIGKILL
