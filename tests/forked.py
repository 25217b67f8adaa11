"""Work that kills its process, in one that is forked from a process which has imported the arbiter: that takes long."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from multiprocessing import get_context

from tests.cli.command import clean_environment

FORKING = get_context("forkserver")
FORKING.set_forkserver_preload(
    ["arbiter.cli.app", "arbiter.bootstrap.archiving", "arbiter.bootstrap.backup", "arbiter.bootstrap.store"]
)


def exit_code(work: Callable[..., object], *arguments: object) -> int:
    """Call a function of a module in another process; return the exit code, below 0 for a signal."""
    process = FORKING.Process(target=work, args=arguments)
    process.start()
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def run_script(script: str, *words: str) -> int:
    """Execute the text of a program with the words of its command line; return the exit code."""
    return exit_code(_execute, script, words, clean_environment())


def _execute(script: str, words: tuple[str, ...], environment: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[1:] = words
    exec(script, {"__name__": "__main__"})
