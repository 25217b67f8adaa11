"""The clauses quote the contract as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from arbiter.conformance.catalogue import chosen, clauses
from arbiter.conformance.clauses import CHAPTERS, Clause
from arbiter.errors import OperatorError

ROOT = Path(__file__).parents[2]


def words(text: str) -> str:
    """Return a text of a proto file or a page with its lines joined, without the marks of comments."""
    return " ".join(re.sub(r"(?m)^\s*//", "", text).split())


@pytest.mark.parametrize("item", clauses(), ids=lambda item: item.id)
def test_a_clause_quotes_a_sentence_that_is_there(item: Clause):
    assert words(item.quote) in words((ROOT / item.source).read_text())


@pytest.mark.parametrize("item", clauses(), ids=lambda item: item.id)
def test_a_clause_says_what_is_asked_and_what_is_done(item: Clause):
    assert re.fullmatch(r"[a-z]+\.[a-z-]+", item.id)
    assert item.title
    assert item.about.endswith(".")


def test_every_chapter_is_named_in_the_order_of_the_report():
    assert list(CHAPTERS) == list(dict.fromkeys(item.chapter for item in clauses()))


def test_patterns_choose_clauses():
    assert {item.chapter for item in chosen(["reconnect.*"])} == {"reconnect"}
    assert [item.id for item in chosen(["hello.first"])] == ["hello.first"]
    assert chosen([]) == clauses()


def test_a_pattern_that_chooses_nothing_is_a_mistake():
    with pytest.raises(OperatorError, match="no clause matches never"):
        chosen(["never.*"])
