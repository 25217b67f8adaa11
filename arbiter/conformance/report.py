"""The results of a run for programs (JSON and JUnit), and the list of known failures."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from arbiter.conformance.catalogue import clauses
from arbiter.conformance.kit import ClauseResult, ClauseVerdict
from arbiter.errors import OperatorError


@dataclass(frozen=True, slots=True)
class Report:
    """One run. bot and software: what the bot and its client declare. known: reasons of known failures by clause id.

    seconds: the run's duration.
    """

    command: str
    bot: str
    software: str
    outcomes: tuple[ClauseResult, ...]
    known: Mapping[str, str]
    seconds: float

    @property
    def counts(self) -> Counter[ClauseVerdict]:
        """The number of clauses by verdict."""
        return Counter(outcome.verdict for outcome in self.outcomes)

    @property
    def failures(self) -> list[ClauseResult]:
        """The outcomes that count against the bot: failed or not judged, and not known to fail."""
        return [outcome for outcome in self.outcomes if is_bad(outcome) and outcome.clause.id not in self.known]

    @property
    def mended(self) -> list[ClauseResult]:
        """The outcomes of clauses that were known to fail and no longer do: remove them from the list."""
        return [outcome for outcome in self.outcomes if not is_bad(outcome) and outcome.clause.id in self.known]

    @property
    def passed(self) -> bool:
        """Whether every clause passed, apart from known failures; these must all have failed."""
        return not self.failures and not self.mended

    def json(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return {
            "command": self.command,
            "bot": self.bot,
            "software": self.software,
            "passed": self.passed,
            "seconds": round(self.seconds, 1),
            "counts": {verdict.value: self.counts[verdict] for verdict in ClauseVerdict},
            "clauses": [_clause(outcome, self.known) for outcome in self.outcomes],
        }

    def junit(self) -> str:
        """Return the report as JUnit XML with one test case for each clause; a known failure is a skipped case."""
        root = ElementTree.Element(
            "testsuite",
            name=f"arbiter conformance {self.software}".strip(),
            tests=str(len(self.outcomes)),
            failures=str(len(self.failures) + len(self.mended)),
            time=f"{self.seconds:.1f}",
        )
        for outcome in self.outcomes:
            item = outcome.clause
            case = ElementTree.SubElement(
                root, "testcase", classname=item.chapter, name=item.id, time=f"{outcome.seconds:.3f}"
            )
            if outcome in self.failures or outcome in self.mended:
                failure = ElementTree.SubElement(case, "failure", message=_plain(self.words(outcome)))
                failure.text = _plain(f"{item.source}: {item.quote}\n\n{shown_trace(outcome)}\n\n{outcome.last_words}")
            elif outcome.verdict is not ClauseVerdict.PASSED:
                ElementTree.SubElement(case, "skipped", message=_plain(self.words(outcome)))
        ElementTree.indent(root)
        return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"

    def words(self, outcome: ClauseResult) -> str:
        """Return a sentence about a clause's outcome."""
        name = outcome.clause.id
        if outcome in self.mended:
            return f"it passes, though it is known to fail ({self.known[name]}): take it off the list"
        if name in self.known:
            return f"known to fail ({self.known[name]}): {outcome.why}"
        return outcome.why


def is_bad(outcome: ClauseResult) -> bool:
    """Return whether an outcome counts against a bot."""
    return outcome.verdict in (ClauseVerdict.FAILED, ClauseVerdict.NOT_JUDGED)


def shown_trace(outcome: ClauseResult) -> str:
    """Return a trace as lines."""
    return "\n".join(f"{entry.at_s:8.3f} s  {entry.who:8} {entry.text}" for entry in outcome.trace)


def _clause(outcome: ClauseResult, known: Mapping[str, str]) -> dict[str, Any]:
    item = outcome.clause
    return {
        "id": item.id,
        "title": item.title,
        "quote": item.quote,
        "source": item.source,
        "situation": item.about,
        "verdict": outcome.verdict.value,
        "why": outcome.why,
        "known_to_fail": known.get(item.id, ""),
        "seconds": round(outcome.seconds, 3),
        "trace": [{"at_s": round(entry.at_s, 4), "who": entry.who, "text": entry.text} for entry in outcome.trace],
        "last_words": outcome.last_words,
    }


def _plain(text: str) -> str:
    """Return a text without characters that XML does not allow."""
    return "".join(letter for letter in text if letter >= " " or letter in "\t\n")


def write(report: Report, html: str, html_file: Path | None, json_file: Path | None, junit_file: Path | None) -> None:
    """Write reports to the given files. Raises OperatorError if a file cannot be written."""
    texts = (
        (html_file, html),
        (json_file, json.dumps(report.json(), ensure_ascii=False, indent=2) + "\n"),
        (junit_file, report.junit()),
    )
    for file, text in texts:
        if file is not None:
            try:
                file.write_text(text, encoding="utf-8")
            except OSError as error:
                raise OperatorError(f"can't write {file}: {error.strerror or error}") from None


def known_failures(file: Path | None) -> dict[str, str]:
    """Return the reasons of known failures by clause id, from a TOML file of `"id" = "reason"`.

    Raises OperatorError for an unreadable file, an unknown id, or an empty reason.
    """
    if file is None:
        return {}
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise OperatorError(f"can't read the known failures in {file}: {error}") from None
    there: Sequence[str] = [item.id for item in clauses()]
    for name, reason in content.items():
        if name not in there:
            raise OperatorError(f"{file}: there is no clause {name!r}: `arbiter conformance --list` names them all")
        if not isinstance(reason, str) or not reason.strip():
            raise OperatorError(f"{file}: say why {name} fails, as a text")
    return content
