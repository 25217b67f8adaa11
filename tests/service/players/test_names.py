"""Which names look alike."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbiter.plain_text import PLAYER_NAME
from arbiter.service.ports.directory import likeness

MARKS = "_.-"
LETTERS = string.ascii_lowercase + string.digits
PARTS = st.lists(st.tuples(st.sampled_from(MARKS), st.text(LETTERS, min_size=1, max_size=8)), min_size=1, max_size=8)
NAMES = PARTS.map(lambda parts: "".join(map("".join, parts))[1:41].rstrip(MARKS))


@given(NAMES)
def test_these_are_names(name: str) -> None:
    assert PLAYER_NAME.fullmatch(name)


@pytest.mark.parametrize(
    ("one", "other"),
    [("alice", "alice."), ("a-b", "a_b"), ("a.b", "a--b"), ("bot-10", "bot-lo"), ("modern", "rnodem"), ("o", "0")],
)
def test_names_that_look_alike(one: str, other: str) -> None:
    assert likeness(one) == likeness(other)


@pytest.mark.parametrize(("one", "other"), [("a-b", "ab"), ("bot-1.1", "bot-11"), ("ian", "lan"), ("bot-1", "bot-2")])
def test_names_that_do_not_look_alike(one: str, other: str) -> None:
    assert likeness(one) != likeness(other)


@given(NAMES, st.sampled_from(MARKS), st.integers(0, 3))
def test_marks_make_no_different_name(name: str, mark: str, more: int) -> None:
    changed = "".join(mark * (1 + more) if letter in MARKS else letter for letter in name)
    assert likeness(changed) == likeness(name)
    assert likeness(name + mark * more) == likeness(name)


@given(NAMES)
def test_the_likeness_of_a_likeness_is_itself_and_fits_its_column(name: str) -> None:
    assert likeness(likeness(name)) == likeness(name)
    assert len(likeness(name)) <= 80
