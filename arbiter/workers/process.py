"""A worker process, and what is said on the pipes to it: `python -m arbiter.workers.process MODULE NICE [MEMORY]`.

The module's function `jobs` returns the handlers of the jobs by kind; a dictionary that a handler needs stays in this
process from job to job. The process reads jobs from standard input and writes answers to standard output as frames. A
frame is a header (see HEAD) and a pickled value. Once the module is loaded it sends ("done", None). Then it takes jobs.
A job is (kind, arguments). Its answer is any number of chunk frames, if the handler is a generator, and one last frame:
("done", value), ("refused", refusal), or ("failed", traceback) for an error in the handler's code. The parent kills the
process when a job takes too long. It exits at the end of its input. Both ends are this program, so pickle is safe here.
"""

from __future__ import annotations

import importlib
import os
import pickle
import resource
import struct
import sys
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import suppress
from typing import Any, BinaryIO

from arbiter.errors import Reason, Refusal

HEAD = struct.Struct(">?I")  #: whether a frame is the last one of its answer, and its length in bytes

Jobs = Mapping[str, Callable[..., object]]
"""The job handlers of a worker, by kind."""


def frame(value: object, last: bool) -> bytes:
    """Encode a value as a frame."""
    body = pickle.dumps(value)
    return HEAD.pack(last, len(body)) + body


def answer(jobs: Jobs, kind: str, arguments: tuple[Any, ...]) -> Iterator[bytes]:
    """Yield the frames that answer a job. Refusals, exhausted memory and failures are answers too."""
    try:
        found = jobs[kind](*arguments)
        if isinstance(found, Generator):
            held: list[object] = []
            for item in found:
                if held:
                    yield frame(held.pop(), last=False)
                held.append(item)
            found = held[0]
        yield frame(("done", found), last=True)
    except Refusal as refusal:
        yield frame(("refused", refusal), last=True)
    except (MemoryError, SystemError):  # the interpreter raises SystemError where it runs out of memory itself
        yield frame(("refused", spent("more memory than a request may take")), last=True)
    except Exception:
        yield frame(("failed", traceback.format_exc(limit=-8)), last=True)


def spent(what: str) -> Refusal:
    """Return the refusal of a request that costs too much. `what` names the resource."""
    return Refusal(Reason.BUDGET_SPENT, f"the answer takes {what}: ask for less at once", limit=what, retry_after_ms=0)


def serve(jobs: Jobs, asked: BinaryIO, answers: BinaryIO) -> None:
    """Announce that the worker is ready, and answer jobs until the stream ends."""
    answers.write(frame(("done", None), last=True))
    answers.flush()
    while head := asked.read(HEAD.size):
        _, length = HEAD.unpack(head)
        for part in answer(jobs, *pickle.loads(asked.read(length))):
            answers.write(part)
        answers.flush()


def main() -> None:
    """Serve jobs on standard input and output, within a memory limit and at a lower priority than live matches."""
    module, nice, *memory = sys.argv[1:]
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (int(memory[0]), int(memory[0])))
    os.nice(int(nice))
    # All matrices here are small. Threads that share one would spend more time waiting for each other than they save,
    # and would take processors away from live matches. This must be set before numpy is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a game's print must not mix with the answers
    jobs: Jobs = importlib.import_module(module).jobs()
    with suppress(BrokenPipeError):  # the parent process has ended
        serve(jobs, sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
