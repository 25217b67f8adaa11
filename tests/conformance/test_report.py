"""Reports of a run: verdicts, known failures, and their formats for people and programs."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from arbiter.conformance.catalogue import clauses
from arbiter.conformance.kit import ClauseResult, ClauseVerdict
from arbiter.conformance.page import page
from arbiter.conformance.report import Report, known_failures, write
from arbiter.conformance.trace import TraceLine
from arbiter.errors import OperatorError

FIRST, SECOND, THIRD = clauses()[:3]
TRACE = (TraceLine(0.1, "bot", "says <hello> & \x00more"), TraceLine(0.2, "referee", "cuts the connection"))


def report(*verdicts: ClauseVerdict, **known: str) -> Report:
    """Return a report in which the first clauses have these verdicts; `known` gives reasons by `c0`, `c1`, …"""
    outcomes = tuple(
        ClauseResult(item, verdict, "it did not" if verdict is ClauseVerdict.FAILED else "", TRACE, "last words", 1.5)
        for item, verdict in zip(clauses(), verdicts, strict=False)
    )
    reasons = {clauses()[int(name[1:])].id: why for name, why in known.items()}
    return Report("./bot --fast", "bot 1", "client 2", outcomes, reasons, 3.0)


@pytest.mark.parametrize(
    ("found", "passed"),
    [
        (report(ClauseVerdict.PASSED, ClauseVerdict.NOT_APPLICABLE), True),
        (report(ClauseVerdict.PASSED, ClauseVerdict.FAILED), False),
        (report(ClauseVerdict.PASSED, ClauseVerdict.NOT_JUDGED), False),
        (report(ClauseVerdict.PASSED, ClauseVerdict.FAILED, c1="a reason"), True),
        (report(ClauseVerdict.PASSED, ClauseVerdict.PASSED, c1="a reason"), False),
        (report(ClauseVerdict.FAILED, ClauseVerdict.FAILED, c1="a reason"), False),
    ],
    ids=["sound", "failed", "not judged", "known", "mended", "another"],
)
def test_a_bot_passes_if_only_known_failures_fail(found: Report, passed: bool) -> None:
    assert found.passed is passed
    assert found.json()["passed"] is passed
    suite = ElementTree.fromstring(found.junit())
    assert (suite.attrib["failures"] == "0") is passed
    assert len(suite.findall("testcase")) == len(found.outcomes)
    assert ("does not conform" in page(found)) is not passed


def test_a_known_failure_that_passes_has_to_leave_the_list() -> None:
    found = report(ClauseVerdict.PASSED, c0="slow")
    assert "take it off the list" in found.words(found.outcomes[0])
    assert "take it off the list" in found.junit()


def test_the_page_shows_quote_trace_and_last_words_and_escapes_them() -> None:
    text = page(report(ClauseVerdict.FAILED))
    assert FIRST.quote.replace("'", "&#x27;") in text
    assert "says &lt;hello&gt; &amp;" in text
    assert "last words" in text
    assert "<hello>" not in text
    assert "http" not in text  # the page loads nothing from elsewhere


def test_reports_are_written_to_the_paths_that_are_given(tmp_path: Path) -> None:
    found = report(ClauseVerdict.PASSED, ClauseVerdict.FAILED)
    write(found, page(found), tmp_path / "r.html", tmp_path / "r.json", tmp_path / "r.xml")
    read = json.loads((tmp_path / "r.json").read_text())
    assert [item["verdict"] for item in read["clauses"]] == ["passed", "failed"]
    assert read["clauses"][1]["trace"][0]["who"] == "bot"
    assert read["counts"]["failed"] == 1
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
    with pytest.raises(OperatorError, match="can't write"):
        write(found, "", tmp_path / "no" / "r.html", None, None)


def test_known_failures_name_clauses_and_say_why(tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    file.write_text(f'"{THIRD.id}" = "the library is being mended"\n')
    assert known_failures(file) == {THIRD.id: "the library is being mended"}
    assert known_failures(None) == {}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('"no.such" = "why"', "no clause 'no.such'"),
        (f'"{SECOND.id}" = ""', "say why"),
        (f'"{SECOND.id}" = 5', "say why"),
        ("= =", "can't read"),
    ],
)
def test_an_invalid_list_of_known_failures_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "known.toml"
    file.write_text(text)
    with pytest.raises(OperatorError, match=complaint):
        known_failures(file)
