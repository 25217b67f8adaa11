"""The clauses quote the protocol and its pages literally."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from arbiter.conformance.catalogue import chosen, clauses
from arbiter.conformance.clauses import CHAPTERS, Clause
from arbiter.errors import OperatorError

ROOT = Path(__file__).parents[2]


def words(text: str) -> str:
    """Return the text of a proto file or page with its lines joined and without comment marks."""
    return " ".join(re.sub(r"(?m)^\s*//", "", text).split())


@pytest.mark.parametrize("item", clauses(), ids=lambda item: item.id)
def test_a_clause_quotes_a_sentence_of_the_protocol(item: Clause) -> None:
    assert words(item.quote) in words((ROOT / item.source).read_text())


@pytest.mark.parametrize("item", clauses(), ids=lambda item: item.id)
def test_a_clause_has_a_question_and_a_procedure(item: Clause) -> None:
    assert re.fullmatch(r"[a-z]+\.[a-z-]+", item.id)
    assert item.title
    assert item.about.endswith(".")


def test_every_chapter_is_named_in_the_order_of_the_report() -> None:
    assert list(CHAPTERS) == list(dict.fromkeys(item.chapter for item in clauses()))


def test_patterns_choose_clauses() -> None:
    assert {item.chapter for item in chosen(["reconnect.*"])} == {"reconnect"}
    assert [item.id for item in chosen(["hello.first"])] == ["hello.first"]
    assert chosen([]) == clauses()


def test_a_pattern_without_clauses_is_a_mistake() -> None:
    with pytest.raises(OperatorError, match="no clause matches never"):
        chosen(["never.*"])
