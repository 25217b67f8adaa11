"""`arbiter conformance`: whether a bot does what the contract asks of it."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter, validators

from arbiter.cli import boxed
from arbiter.cli.connection import Connection, connected
from arbiter.cli.failure import FAILED, Failure
from arbiter.cli.terminal import on_terminal, say, table
from arbiter.errors import OperatorError

if TYPE_CHECKING:
    from arbiter.conformance.clauses import Clause
    from arbiter.conformance.kit import Kit, Outcome
    from arbiter.conformance.report import Report

STYLES: Final = {"passed": "green", "failed": "red", "not judged": "red", "not applicable": "dim"}
TRACE_LINES: Final = 12  #: of a failure on the terminal; reports have them all


def conformance(
    *,
    bot: str = "",
    only: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    list_: Annotated[bool, Parameter(name="--list", negative="")] = False,
    html: Path | None = None,
    json: Path | None = None,
    junit: Path | None = None,
    known_failing: Path | None = None,
    timeout_scale: Annotated[float, Parameter(validator=validators.Number(gte=0.1, lte=100))] = 1.0,
    fresh: Annotated[bool, Parameter(negative="")] = False,
    stages: Annotated[int, Parameter(validator=validators.Number(gte=1, lte=64))] = 4,
    folder: Path | None = None,
    badge: str = "",
    sandbox: boxed.Wanted = "auto",
    see: Annotated[tuple[Path, ...], Parameter(negative=())] = (),
    limit: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    connection: Connection | None = None,
) -> int:
    """Play a bot through situations that go wrong, and say which sentences of the contract it does not keep.

    The bot is any program that plays on the arbiter named by its environment (ARBITER_SERVER, ARBITER_TOKEN,
    ARBITER_NAME, and ARBITER_ROOT_CERTIFICATE where TLS is spoken) and ends on SIGTERM. It is started several times.
    The exit code is 0 if every clause passed, or failed as it was known to.

    :param bot: The command that starts the bot, such as "python first_move.py". It is run without a shell.
    :param only: Only clauses whose id matches this pattern, such as "reconnect.*"; may be given more than once.
    :param list_: List the clauses, each with the sentence of the contract that it stands for, and run none.
    :param html: Write a page for people to this file.
    :param json: Write everything that was found, with traces, to this file.
    :param junit: Write a report as JUnit does to this file.
    :param known_failing: A TOML file of clauses that are known to fail: "id" = "why". They are run, and must fail.
    :param timeout_scale: Stretch all limits by this factor, for a slow machine or a slow bot.
    :param fresh: Start a bot of its own for each clause.
    :param stages: How many bots to play with at a time.
    :param folder: Where the command is run, if not here.
    :param badge: Tell a server that this player's bot, in the version that was run, has passed; tournaments can ask for
        that. Needs a token with scope admin: whoever runs the server answers for the result.
    :param sandbox: Whether it runs in a sandbox: where there is one, or not without, or never.
    :param see: A folder or file that it sees in its sandbox beside its own; may be given more than once.
    :param limit: A limit of its sandbox, such as memory_mb=512; may be given more than once.
    """
    # What gRPC says of connections that are cut is no news here; it reads this as it is loaded.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from arbiter.cli.logs import configure
    from arbiter.conformance.bot import words_of
    from arbiter.conformance.catalogue import chosen
    from arbiter.conformance.kit import Kit
    from arbiter.conformance.page import page
    from arbiter.conformance.report import known_failures, write

    clauses = chosen(list(only))
    if list_:
        _list(clauses)
        return 0
    words_of(bot, folder)
    if badge and (only or known_failing):
        raise OperatorError("a badge is for a bot that passes all clauses: leave out --only and --known-failing")
    configure("error")
    logging.getLogger("grpc").setLevel(logging.CRITICAL)  # connections that are cut are meant to be
    box, remark = boxed.chosen(sandbox, boxed.limits_of(limit))
    print(remark, file=sys.stderr)
    kit = Kit(bot, timeout_scale, fresh, stages, folder, box, tuple(path.absolute() for path in see))
    report = _played(kit, clauses, known_failures(known_failing))
    _say(report)
    if kit.absent_words:
        say(f"The bot did not come to play. What it wrote last:\n{kit.absent_words}")
    write(report, page(report), html, json, junit)
    if badge and report.passed:
        _grant(badge, kit.bot_version, connection)
    return 0 if report.passed else FAILED


def _played(kit: Kit, clauses: Sequence[Clause], known: Mapping[str, str]) -> Report:
    """Play a bot through clauses, with progress; return the report. known: failures that are, by clause."""
    from arbiter.conformance.report import Report

    began = time.monotonic()
    outcomes = asyncio.run(kit.run(clauses, _Progress(len(clauses))))
    names = {item.id for item in clauses}
    asked = {name: why for name, why in known.items() if name in names}
    return Report(kit.command, kit.bot, kit.software, tuple(outcomes), asked, time.monotonic() - began)


def _grant(player: str, version: str, connection: Connection | None) -> None:
    """Tell the server that a version of a player's bot has passed. Raises Failure."""
    if not version:
        raise Failure("the bot says no version in its hello: a badge is for one version, and not for those to come")
    with connected(connection) as client:
        client.grant_badge(player, version)
    say(f"{player} has a badge for version {version}.")


def _list(clauses: Sequence[Clause]) -> None:
    rows = [(item.id, item.title, item.quote, item.source) for item in clauses]
    table(("clause", "the bot", "the contract", "where"), rows, "")


class _Progress:
    """Shows each outcome as it comes, on standard error."""

    def __init__(self, clauses: int) -> None:
        self._clauses = clauses
        self._done = 0

    def __call__(self, outcome: Outcome) -> None:
        self._done += 1
        line = f"{self._done}/{self._clauses} {outcome.clause.id}: {outcome.verdict.value} ({outcome.seconds:.1f} s)"
        print(line, file=sys.stderr, flush=True)


def _say(report: Report) -> None:
    rows = [(outcome.clause.id, outcome.verdict.value, report.words(outcome)) for outcome in report.outcomes]
    table(("clause", "verdict", ""), rows, "")
    for outcome in (*report.failures, *report.mended) if on_terminal() else ():
        say(f"\n{outcome.clause.id}: {report.words(outcome)}", "bold red")
        say(f"“{outcome.clause.quote}” ({outcome.clause.source})", "italic")
        say(outcome.clause.about)
        for entry in outcome.trace[-TRACE_LINES:]:
            say(f"  {entry.at_s:8.3f} s  {entry.who:8} {entry.text}", "dim")
        if outcome.last_words:
            say(f"what the bot wrote last:\n{outcome.last_words}", "dim")
    counts = ", ".join(f"{number} {verdict.value}" for verdict, number in report.counts.items())
    who = f"{report.bot or 'the bot'} ({report.software or 'unknown client'})"
    say(f"{who}: {counts}, in {report.seconds:.0f} s.", STYLES["passed" if report.passed else "failed"])
