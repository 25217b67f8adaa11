"""`arbiter conformance`: checks whether a bot follows the contract for bots."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter, validators

from arbiter.cli import boxed
from arbiter.cli.connection import Connection, connected
from arbiter.cli.failure import FAILED, Failure
from arbiter.cli.table_options import TableOptions
from arbiter.cli.terminal import for_people, remark, say, say_lines, table, tell
from arbiter.errors import OperatorError

if TYPE_CHECKING:
    from arbiter.conformance.clauses import Clause
    from arbiter.conformance.kit import ClauseResult, Kit
    from arbiter.conformance.report import Report

STYLES: Final = {"passed": "green", "failed": "red", "not judged": "red", "not applicable": "dim"}
TRACE_LINES: Final = 12  #: of a failure on the terminal; reports have all of them


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
    output: TableOptions | None = None,
    connection: Connection | None = None,
) -> int:
    """Test a bot with faults and unusual situations, and report which sentences of the contract it breaks.

    The bot is any program that plays on the arbiter named by its environment (ARBITER_SERVER, ARBITER_TOKEN,
    ARBITER_NAME, and ARBITER_ROOT_CERTIFICATE if the server uses TLS) and ends on SIGTERM. It is started several times.
    The exit code is 0 if every clause passed, or failed as it was known to.

    :param bot: The command that starts the bot, such as "python first_move.py". It is run without a shell.
    :param only: Only clauses whose id matches this pattern, such as "reconnect.*"; may be given more than once.
    :param list_: List the clauses, each with its sentence of the contract, and run none.
    :param html: Write an HTML report to this file.
    :param json: Write the complete results, with traces, to this file as JSON.
    :param junit: Write a report in JUnit format to this file.
    :param known_failing: A TOML file of clauses that are known to fail: "id" = "why". They are run, and must fail.
    :param timeout_scale: Multiply all timeouts by this factor, for a slow machine or a slow bot.
    :param fresh: Start a new bot process for each clause.
    :param stages: Number of bots to test at the same time.
    :param folder: The folder in which the command is run. [default: the current one]
    :param badge: Tell a server that this player's bot, in the version that was run, has passed; tournaments can require
        that. Needs a token with scope admin: whoever runs the server answers for the result.
    :param sandbox: Whether to use a sandbox: if one is available, always (refuse to run without one), or never.
    :param see: A folder or file that the bot can read in its sandbox besides its own; may be given more than once.
    :param limit: A limit of its sandbox, such as memory_mb=512; may be given more than once.
    """
    _expect_cut_connections()
    from arbiter.conformance.catalogue import chosen
    from arbiter.conformance.kit import Kit

    clauses = chosen(list(only))
    if list_:
        return _list(clauses, output)
    _check(bot, folder, badge, partial=bool(only or known_failing))
    box, remark = boxed.chosen(sandbox, boxed.limits_of(limit))
    tell(remark)
    kit = Kit(bot, timeout_scale, fresh, stages, folder, box, tuple(path.absolute() for path in see))
    report = _run_clauses(kit, clauses, known_failing)
    _print_report(report, kit.absent_words, output)
    _write_report(report, html, json, junit)
    if badge and report.passed:
        _grant(badge, kit.bot_version, connection)
    return 0 if report.passed else FAILED


def _expect_cut_connections() -> None:
    """Log errors only, and none of gRPC's, which are expected here. gRPC reads the variable when it is imported."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from arbiter.cli.logs import configure

    configure("error")
    logging.getLogger("grpc").setLevel(logging.CRITICAL)


def _check(bot: str, folder: Path | None, badge: str, partial: bool) -> None:
    """Raise OperatorError for a command that is not one, and for a badge if not all clauses have to pass."""
    from arbiter.conformance.bot_under_test import words_of

    words_of(bot, folder)
    if badge and partial:
        raise OperatorError("a badge is for a bot that passes all clauses: leave out --only and --known-failing")


def _run_clauses(kit: Kit, clauses: Sequence[Clause], known_failing: Path | None) -> Report:
    """Run the clauses against a bot, with progress; return the report. known_failing: the file of known failures."""
    from arbiter.conformance.report import Report, known_failures

    known = known_failures(known_failing)
    began = time.monotonic()
    outcomes = asyncio.run(kit.run(clauses, _Progress(len(clauses))))
    names = {item.id for item in clauses}
    asked = {name: why for name, why in known.items() if name in names}
    return Report(kit.command, kit.bot, kit.software, tuple(outcomes), asked, time.monotonic() - began)


def _grant(player: str, version: str, connection: Connection | None) -> None:
    """Tell the server that a version of a player's bot has passed. Raises Failure."""
    if not version:
        raise Failure("the bot's hello names no version: a badge is for one version of a bot")
    with connected(connection) as client:
        client.grant_badge(player, version)
    say(f"{player} has a badge for version {version}.")


def _list(clauses: Sequence[Clause], output: TableOptions | None) -> int:
    rows = [(item.id, item.title, item.quote, item.source) for item in clauses]
    table(("clause", "the bot", "the contract", "where"), rows, "", output)
    return 0


class _Progress:
    """Shows each outcome on standard error as soon as it is known."""

    def __init__(self, clauses: int) -> None:
        self._clauses = clauses
        self._done = 0

    def __call__(self, outcome: ClauseResult) -> None:
        self._done += 1
        line = f"{self._done}/{self._clauses} {outcome.clause.id}: {outcome.verdict.value} ({outcome.seconds:.1f} s)"
        tell(line)


def _write_report(report: Report, html: Path | None, json: Path | None, junit: Path | None) -> None:
    from arbiter.conformance.page import page
    from arbiter.conformance.report import write

    write(report, page(report), html, json, junit)


def _print_report(report: Report, absent_words: str, output: TableOptions | None) -> None:
    """Print the report. absent_words: the last output of a bot that did not connect, or ''."""
    rows = [(outcome.clause.id, outcome.verdict.value, report.words(outcome)) for outcome in report.outcomes]
    table(("clause", "verdict", "why"), rows, "", output)
    for outcome in (*report.failures, *report.mended) if for_people(output) else ():
        say_lines(f"\n{outcome.clause.id}: {report.words(outcome)}", "bold red")
        say(f"“{outcome.clause.quote}” ({outcome.clause.source})", "italic")
        say(outcome.clause.about)
        for entry in outcome.trace[-TRACE_LINES:]:
            say(f"  {entry.at_s:8.3f} s  {entry.who:8} {entry.text}", "dim")
        if outcome.last_words:
            say_lines(f"the last output of the bot:\n{outcome.last_words}", "dim")
    counts = ", ".join(f"{number} {verdict.value}" for verdict, number in report.counts.items())
    who = f"{report.bot or 'the bot'} ({report.software or 'unknown client'})"
    remark(f"{who}: {counts}, in {report.seconds:.0f} s.", output, STYLES["passed" if report.passed else "failed"])
    if absent_words:
        remark(f"The bot did not connect. Its last output:\n{absent_words}", output)
