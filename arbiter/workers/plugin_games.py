"""Plug-in games in a server: the games of each package run in a process of their own, which may hang or die.

A thread keeps these processes. Whoever asks on an event loop waits only for `rules_wait_ms`, gets RulesAwaited, and
asks again when there is an answer. While a process is late, or starts again, the loop does not wait for it at all: so a
plug-in that hangs stops it once. Other threads wait. A call for which a process takes longer than `rules_ms`, or in
which it dies, has failed (RulesFailed) for good; all other calls wait for the next process.

A job is a call. What is asked ahead is several jobs, for which the process is asked once, or a few times if they take
long; jobs in which something goes wrong together are done again one by one.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import pickle
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from itertools import zip_longest
from typing import Any, Final, NamedTuple

from arbiter.config import Limits
from arbiter.errors import Refusal, RulesAwaited, RulesFailed, shortened
from arbiter.games import registry
from arbiter.games.contract import AnyGame
from arbiter.games.remote import BEFORE, Call, Line, RemoteGame, remote_class
from arbiter.games.remote_answers import nonsense, refusal_of
from arbiter.plain_text import plain
from arbiter.runtime.supervision import AGAIN_S, MOST_AGAIN_S, again_and_again
from arbiter.service.ports.log import Logger
from arbiter.workers.plugin_worker import ANSWERED, FORGOTTEN
from arbiter.workers.process import frame
from arbiter.workers.worker import STARTING_S, Worker

WORKER: Final = "arbiter.workers.plugin_worker"
SEVERAL_S: Final = 0.01  #: for which a process does several calls at once: a move of a match may wait this long
ANSWERS: Final = 512  #: that are kept of each package: whoever had to wait for one asks again
MOST_SHOWN: Final = 300  #: characters of an error that rules have raised
STOPPING: Final = "the server is stopping"
SHADOWED: Final = "a game of this name comes with the arbiter"


class _Job(NamedTuple):
    """A job under way: its kind and arguments, and the line of the position that it is about.

    made: the number of the position that it makes, if it makes one. answered: the answer's text, or RulesFailed.
    """

    game: str
    limit_s: float
    kind: str
    arguments: tuple[object, ...]
    line: Line | None
    made: int
    answered: Future[str]

    @property
    def position(self) -> Any:
        """The number of the position that an `ask` is about."""
        return self.arguments[2]

    def framed(self, line: Line | None = None) -> bytes:
        """Return the job for the process; with a line, if it has forgotten the position."""
        played = () if line is None else ((line.method, line.arguments, line.played()),)
        return frame((self.kind, (*self.arguments, *played)), last=True)

    def fail(self, why: str) -> None:
        """Answer that the rules have failed."""
        if not self.answered.done():
            self.answered.set_exception(RulesFailed(self.game, why))


class PackageProcess:
    """The process of a package's games, behind the port `arbiter.games.remote.Rules`. All threads may ask."""

    def __init__(self, package: str, limits: Limits, loop: asyncio.AbstractEventLoop, log: Logger | None) -> None:
        self._package = package
        self._limits = limits
        self._loop = loop
        self._jobs: asyncio.Queue[Sequence[_Job]] = asyncio.Queue()
        self._calls: OrderedDict[Call, _Job] = OrderedDict()
        self._lock = threading.Lock()
        self._made = itertools.count(1)
        self._prompt = False  # there is a process, and it is not late with an answer
        self._current: Sequence[_Job] = ()  # in the process, or to be the first ones in the next process
        self._again = False  # a process has ended during the current job
        self._log = log

    def ask(self, call: Call) -> tuple[Any, int]:
        (job, is_new), on_loop = self._job(call), _on_loop()
        if is_new:
            self._put([job])
        if not job.answered.done() and not self._prompt and on_loop:
            raise RulesAwaited(call.variant, self._then(job))
        wait_s = self._limits.rules_wait_ms / 1_000 if on_loop else 2 * job.limit_s  # after another one that hangs
        try:
            answer = job.answered.result(wait_s)
        except TimeoutError:
            self._prompt = False
            if not job.answered.done():
                raise RulesAwaited(call.variant, self._then(job)) from None
            answer = job.answered.result()
        return _read(call, answer), job.made

    def ask_ahead(self, calls: Sequence[Call]) -> None:
        jobs, made = list[_Job](), 0
        for call in calls:
            job, is_new = self._job(call._replace(position=made) if call.position == BEFORE else call)
            made = job.made
            if is_new:
                jobs.append(job)
        if jobs:
            self._put(jobs)

    async def describe(self, name: str) -> type[RemoteGame] | str:
        """Return the stand-in of a game, or the reason why its rules can't be used."""
        limit_s = self._limits.plugin_start_ms / 1_000
        job = _Job(name, limit_s, "describe", (name,), None, 0, Future())
        self._put([job])
        try:
            async with asyncio.timeout(STARTING_S + 2 * limit_s):
                answer = await asyncio.wrap_future(job.answered)
            return remote_class(name, self, _read(Call(name, "describe"), answer))
        except RulesFailed as failure:
            return failure.why
        except Refusal as refusal:
            return refusal.message
        except TimeoutError:
            return "no process for them could be started"

    async def keep(self) -> None:
        """Keep the process running until this is cancelled. It runs in the loop of the thread."""
        try:
            await again_and_again(self._live, self._ended, AGAIN_S, MOST_AGAIN_S)
        finally:
            waiting = [*self._current]
            while not self._jobs.empty():
                waiting += self._jobs.get_nowait()
            for job in waiting:
                job.fail(STOPPING)

    def _job(self, call: Call) -> tuple[_Job, bool]:
        """Return the job of a call, and whether it is new: the same call has the same one while it is kept."""
        key = call._replace(line=None)
        with self._lock:
            known = self._calls.get(key)
            if known is not None:
                self._calls.move_to_end(key)
                return known, False
            made = next(self._made)
            limit_s, arguments = self._limits.rules_ms / 1_000, (*key[:4], made)
            job = self._calls[key] = _Job(call.variant, limit_s, "ask", arguments, call.line, made, Future())
            if len(self._calls) > ANSWERS:
                self._calls.popitem(last=False)
        return job, True

    def _put(self, jobs: Sequence[_Job]) -> None:
        try:
            self._loop.call_soon_threadsafe(self._jobs.put_nowait, jobs)
        except RuntimeError:  # the loop is closed
            for job in jobs:
                job.fail(STOPPING)

    def _then(self, job: _Job) -> Callable[[Callable[[], object]], object]:
        return lambda callback: job.answered.add_done_callback(lambda _: callback())

    async def _live(self) -> str:
        """Do jobs in a new process until it has to be replaced; return why."""
        try:
            worker = await Worker.start(WORKER, "0", str(self._limits.rules_memory_bytes))
        except OSError as error:
            return f"no process could be started: {error.strerror}"
        try:
            await worker.ready()
            while True:
                self._prompt = True
                if not self._current:
                    self._current, self._again = await self._jobs.get(), False
                if worker.gone:
                    return "it ended between two calls"
                job, *more = self._current
                why = await (self._several(worker, self._current) if more else self._done(worker, job))
                self._prompt = False
                if why:
                    return why
                self._current = ()
        except (OSError, EOFError, TimeoutError):
            return "it ended before it was ready"
        finally:
            self._prompt = False
            await worker.end()

    async def _done(self, worker: Worker, job: _Job) -> str:
        """Do a job; return why the process has to be replaced, or ''.

        A job during which a process has ended, or run out of memory, is done once more, in a new process: the fault may
        have been an earlier one's. A job that has taken too long is not.
        """
        try:
            async with asyncio.timeout(job.limit_s):
                said, answer = await _exchange(worker, job.framed())
                if answer == FORGOTTEN and job.line is not None:
                    said, answer = await _exchange(worker, job.framed(job.line))
        except TimeoutError:
            why = f"no answer within {job.limit_s * 1_000:.0f} ms"
            self._again = True
        except (OSError, EOFError):
            why = "their process ended during the call"
        except Exception as error:  # the rules wrote to the pipe themselves: whatever came out of it
            why = f"their process can't be understood: {shortened(repr(error))}"
        else:
            if said == "done" and isinstance(answer, str):
                job.answered.set_result(answer)
                return ""
            why = f"they take more memory than {self._limits.rules_memory_bytes:,} bytes"
            if said != "refused":
                why = shortened(plain(str(answer)), MOST_SHOWN)
        if self._again:
            job.fail(why)
            self._current = ()
        self._again = True
        return why

    async def _several(self, worker: Worker, jobs: Sequence[_Job]) -> str:
        """Do several jobs in one exchange; return why the process has to be replaced, or ''.

        Those that the process has left wait again, behind all others: a move of a match does not wait for a page.
        """
        asked = frame(("ask_several", ([job.arguments for job in jobs], SEVERAL_S)), last=True)
        answers: Any = ()
        try:
            async with asyncio.timeout(SEVERAL_S + jobs[0].limit_s):
                said, answers = await _exchange(worker, asked)
            if said != "done" or not isinstance(answers, list) or not all(isinstance(text, str) for text in answers):
                raise ValueError(shortened(repr(answers), MOST_SHOWN))
        except Exception as error:  # which of the jobs it is shows when each is done alone
            for job in jobs:
                self._jobs.put_nowait([job])
            self._current = ()
            return f"several calls at once: {shortened(repr(error), MOST_SHOWN)}"
        never = set[int]()  # the positions to which nothing has led: what was asked about them has no answer
        left = list[_Job]()
        for job, text in zip_longest(jobs, answers):
            if job.position in never:
                text = FORGOTTEN
            if text is None:
                left.append(job)
                continue
            job.answered.set_result(text)
            if not text.startswith(ANSWERED):
                never.add(job.made)
        alone = 0 if answers else 1  # the position of the first one is forgotten: it is asked for with its line
        for waiting in (left[:alone], left[alone:]):
            if waiting:
                self._jobs.put_nowait(waiting)
        return ""

    def _ended(self, why: str, again_in_s: float) -> None:
        if self._log is not None:
            self._log.warning("plugin_process_ended", package=self._package, why=why, again_in_s=again_in_s)


def _on_loop() -> bool:
    """Return whether this thread runs an event loop, which others wait for."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def _exchange(worker: Worker, job: bytes) -> tuple[str, Any]:
    [body] = await worker.exchange(job)
    said, answer = pickle.loads(body)  # written by our own code in that process: a word and a text, or a refusal
    return said, answer


def _read(call: Call, text: str) -> Any:
    """Return an answer as JSON values. Raises the refusal or the failure that it is."""
    envelope = json.loads(text)
    if "answer" in envelope:
        return envelope["answer"]
    if "refused" in envelope:
        raise refusal_of(call.variant, call.method, envelope["refused"])
    if "failed" in envelope:
        raise RulesFailed(call.variant, f"{call.method}() raised {shortened(plain(envelope['failed']), MOST_SHOWN)}")
    raise nonsense(call.variant, call.method, "its position can't be reached")


class _Thread:
    """A thread with an event loop of its own, in which the processes are kept."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._tasks: list[Future[Any]] = []
        self._thread = threading.Thread(target=self.loop.run_forever, name="plug-in games", daemon=True)
        self._thread.start()

    def run(self, kept: Coroutine[Any, Any, None]) -> None:
        """Run something until `stop`."""
        self._tasks.append(asyncio.run_coroutine_threadsafe(kept, self.loop))

    async def stop(self) -> None:
        """End everything that runs, and the thread."""
        for task in self._tasks:
            task.cancel()
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_others_done(), self.loop))
        self.loop.call_soon_threadsafe(self.loop.stop)
        await asyncio.to_thread(self._thread.join)
        self.loop.close()


async def _others_done() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*others, return_exceptions=True)


_users = 0  # how many servers of this process have the games kept apart: the registry is one for all
_thread: _Thread | None = None  # of the first of them, for all


@asynccontextmanager
async def plugins_apart(limits: Limits, log: Logger | None = None) -> AsyncIterator[None]:
    """Run the rules of all games that are not the arbiter's own in other processes, during the context.

    It begins once each of them is loaded, has failed to, or has taken `plugin_start_ms`. The log says which can't be
    loaded, and that a process has ended. Servers in one process share these processes, with the limits of the first.
    """
    global _users, _thread
    packages = registry.plugins()
    for game, package in registry.shadowed().items():
        if log is not None:
            log.error("plugin_not_loaded", package=package, game=game, why=SHADOWED)
    if not packages:
        yield
        return
    _users += 1
    try:
        if _thread is None:
            _thread = _Thread()
            await _load(packages, limits, log, _thread)
        yield
    finally:
        _users -= 1
        if not _users and _thread is not None:
            ended, _thread = _thread, None
            registry.keep_apart({})
            await ended.stop()


async def _load(packages: Mapping[str, Sequence[str]], limits: Limits, log: Logger | None, thread: _Thread) -> None:
    processes = {package: PackageProcess(package, limits, thread.loop, log) for package in packages}
    for process in processes.values():
        thread.run(process.keep())
    found = await asyncio.gather(*(_loaded(processes[package], games) for package, games in packages.items()))
    registry.keep_apart({name: game for games in found for name, game in games.items()})
    for package, games in zip(packages, found, strict=True):
        for name, game in games.items():
            if isinstance(game, str) and log is not None:
                log.error("plugin_not_loaded", package=package, game=name, why=game)


async def loaded_apart(limits: Limits) -> tuple[dict[str, type[AnyGame]], dict[str, str]]:
    """Return the classes of all games, and why others can't be loaded; none of them harms this process."""
    async with plugins_apart(limits):
        return registry.classes(), registry.faults()


async def _loaded(process: PackageProcess, games: Sequence[str]) -> dict[str, type[RemoteGame] | str]:
    return {name: await process.describe(name) for name in games}
