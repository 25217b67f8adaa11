"""The message of a failing test of a language: which clause did not pass, and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from arbiter.conformance.catalogue import clauses
from arbiter.conformance.kit import ClauseResult, ClauseVerdict
from arbiter.conformance.trace import TraceLine
from tests.clients.table import BEGIN, END, column, differences, everything, failures, part, table

OUTCOMES = tuple(ClauseResult(clause, ClauseVerdict.PASSED, "", (), "", 1.0) for clause in clauses())
PAGE = f"{BEGIN}{table({'go': column(OUTCOMES)})}{END}"


def failing(clause: str, verdict: ClauseVerdict, why: str) -> tuple[ClauseResult, ...]:
    trace = (TraceLine(0.5, "bot", "opens stream 1"),)

    def fails(one: ClauseResult) -> ClauseResult:
        return replace(one, verdict=verdict, why=why, trace=trace, last_words="panic: no")

    return tuple(fails(one) if one.clause.id == clause else one for one in OUTCOMES)


def test_a_bot_that_passes_gets_no_message() -> None:
    assert failures(OUTCOMES) == differences("go", OUTCOMES, PAGE) == []


def test_every_clause_is_in_the_part_of_one_language_at_least() -> None:
    tried = Counter(clause.id for name in everything() for clause in part(name))
    assert {clause.id for clause in clauses()} == tried.keys()
    assert min(tried.values()) >= 1


def test_a_clause_that_did_not_pass_is_named_with_its_reason_its_trace_and_the_bots_last_words() -> None:
    for verdict in (ClauseVerdict.FAILED, ClauseVerdict.NOT_JUDGED):
        (said,) = failures(failing("turns.gap", verdict, "waited for the move"))
        assert said.splitlines() == [
            f"turns.gap {verdict.value} after 1.0 s: waited for the move",
            "     0.500 bot      opens stream 1",
            "  the bot wrote: panic: no",
        ]


def test_a_cell_of_the_table_that_differs_is_named_with_the_command_that_measures_it() -> None:
    (said,) = differences("go", OUTCOMES, PAGE.replace("9 of 9", "8 of 9", 1))
    assert "8 of 9" in said
    assert "9 of 9" in said
    assert "python -m tests.clients.table go" in said
