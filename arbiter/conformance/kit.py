"""The kit: runs clauses against a bot and returns the outcomes.

A few testbeds work in parallel; each takes the next clause.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

import grpc
import structlog

from arbiter.conformance.bot_under_test import Launch, TestedBot
from arbiter.conformance.clauses import Clause
from arbiter.conformance.failures import Failed, NotApplicable
from arbiter.conformance.loopback_certificates import certificates
from arbiter.conformance.running_arbiter import RunningArbiter, running_arbiter
from arbiter.conformance.testbed import Testbed
from arbiter.conformance.trace import TraceLine
from arbiter.plain_text import plain
from arbiter.sandbox.bubblewrap import Sandbox

STAGES: Final = 4  #: bots that run in parallel
MOST_ABSENCES: Final = 2  #: successive bots that do not connect, before the kit gives up


class ClauseVerdict(StrEnum):
    """The verdict on a clause."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"  #: the clause does not apply to this bot
    NOT_JUDGED = "not judged"  #: the bot did not connect, so there is no result


@dataclass(frozen=True, slots=True)
class ClauseResult:
    """The outcome of a clause: verdict, reason, trace, last output of a failed bot, and duration in seconds."""

    clause: Clause
    verdict: ClauseVerdict
    why: str
    trace: tuple[TraceLine, ...]
    last_words: str
    seconds: float


Progress = Callable[[ClauseResult], None]


class Kit:
    """One run.

    command: starts the bot, in a folder if one is given. scale: multiplies all time limits; a function gives it for
    each clause. fresh: a new bot process for each clause. stages: how many bots to test in parallel.
    """

    def __init__(
        self,
        command: str,
        scale: float | Callable[[Clause], float] = 1.0,
        fresh: bool = False,
        stages: int = STAGES,
        folder: Path | None = None,
        sandbox: Sandbox | None = None,
        sees: tuple[Path, ...] = (),
    ) -> None:
        self.command = command
        self.folder = folder
        self._sandbox = sandbox
        self._sees = sees
        self._scale = scale if callable(scale) else lambda clause: scale
        self._patience = 1.0
        self.fresh = fresh
        self.stages = stages
        self.software = ""  #: the bot's client software, such as `arbiter-client-python 0.5.0`
        self.bot = ""  #: the bot's own name and version, such as `first-move 1`
        self.bot_version = ""
        self._waiting: deque[Clause] = deque()
        self.absent_words = ""  #: the last output of a bot that did not connect
        self._absences = 0

    async def run(
        self, clauses: Sequence[Clause], progress: Progress = lambda outcome: None, place: RunningArbiter | None = None
    ) -> list[ClauseResult]:
        """Run clauses, on a new arbiter if none is given; return the outcomes in the clauses' order.

        Raises OperatorError if the bot's program does not exist, or a sandbox can't show the bot what it needs.
        """
        TestedBot(self._launch(Path("bot.log")), {}).check_visible()
        self._patience = max(map(self._scale, clauses), default=1.0)
        outcomes: dict[str, ClauseResult] = {}

        def done(outcome: ClauseResult) -> None:
            outcomes[outcome.clause.id] = outcome
            progress(outcome)

        self._waiting = deque(sorted((item for item in clauses if not item.tls), key=lambda item: not item.slow))
        secured = deque(item for item in clauses if item.tls)
        async with AsyncExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="arbiter-conformance-")))
            there = place if place is not None else await stack.enter_async_context(running_arbiter())
            async with asyncio.TaskGroup() as tasks:
                for _ in range(min(self.stages, len(self._waiting))):
                    tasks.create_task(self._work(there, folder, self._waiting, done))
                if secured:
                    tasks.create_task(self._work(there, folder, secured, done, tls=True))
        return [outcomes[item.id] for item in clauses]

    def _launch(self, log: Path) -> Launch:
        return Launch(self.command, log, self.folder, self._sandbox, self._sees)

    async def _work(
        self, place: RunningArbiter, folder: Path, waiting: deque[Clause], done: Progress, tls: bool = False
    ) -> None:
        player = place.new_player()
        token = await place.token(player)
        launch = self._launch(folder / f"{player}.log")
        credentials: grpc.ServerCredentials | None = None
        root: Path | None = None
        if tls:
            made, root = certificates(), folder / "root.pem"
            root.write_bytes(made.root)
            credentials = grpc.ssl_server_credentials([(made.key, made.certificate)])
        async with Testbed(place, player, token, launch, self._patience, credentials, root) as testbed:
            while waiting:
                done(await self._judge(testbed, waiting.popleft()))

    async def _judge(self, testbed: Testbed, clause: Clause) -> ClauseResult:
        testbed.begin(self._scale(clause))
        began = time.monotonic()
        verdict, why = await self._verdict(testbed, clause)
        trace = tuple(testbed.trace.entries)
        sound = verdict is not ClauseVerdict.NOT_JUDGED and await testbed.tidy()
        last_words = ""
        if verdict in (ClauseVerdict.FAILED, ClauseVerdict.NOT_JUDGED) or not sound or self.fresh:
            last_words = testbed.bot.last_words() if testbed.bot is not None else ""
            if verdict is ClauseVerdict.NOT_JUDGED and last_words:
                self.absent_words = last_words
            await testbed.stop()
        return ClauseResult(clause, verdict, why, trace, last_words, time.monotonic() - began)

    async def _verdict(self, testbed: Testbed, clause: Clause) -> tuple[ClauseVerdict, str]:
        if self._absences >= MOST_ABSENCES:
            return ClauseVerdict.NOT_JUDGED, f"the bot did not connect {MOST_ABSENCES} times"
        if clause.cold:
            await testbed.stop()
        else:
            try:
                await testbed.ready()
            except Failed as failure:
                if clause.tls:  # the clause requires that the bot connects
                    return ClauseVerdict.FAILED, str(failure)
                self._absences += 1
                return ClauseVerdict.NOT_JUDGED, str(failure)
        try:
            await clause.situation(testbed)
        except Failed as failure:
            return ClauseVerdict.FAILED, str(failure)
        except NotApplicable as reason:
            return ClauseVerdict.NOT_APPLICABLE, str(reason)
        except Exception as error:  # an error of the kit is no verdict on the bot, and must not end the run
            structlog.get_logger("arbiter.conformance").exception("situation_failed", clause=clause.id)
            return ClauseVerdict.NOT_JUDGED, f"the kit itself failed: {type(error).__name__}: {error}"
        finally:
            self._note_hello(testbed)
        if not clause.cold:  # some cold clauses require that a bot ends before it connects
            self._absences = 0
        return ClauseVerdict.PASSED, ""

    def _note_hello(self, testbed: Testbed) -> None:
        hello = testbed.hello
        if hello is not None and not self.software:
            self.software = plain(f"{hello.software} {hello.software_version}".strip())
            self.bot = plain(f"{hello.bot_name} {hello.bot_version}".strip())
            self.bot_version = hello.bot_version
