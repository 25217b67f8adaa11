"""Sentences that the README of every client has."""

from __future__ import annotations

import pytest

from tests.clients.packages import block
from tests.clients.toolchains import CLIENTS

ILLEGAL = "The fourth illegal or malformed move of a player in a match loses the match"


@pytest.mark.parametrize("client", ["python", "typescript", "go", "rust", "java", "cpp", "lines"])
def test_it_says_what_illegal_moves_cost(client: str) -> None:
    assert ILLEGAL in " ".join((CLIENTS / client / "README.md").read_text(encoding="utf-8").split())


@pytest.mark.parametrize(
    ("client", "language", "call", "test"),
    [
        ("go", "go", "arbiter.LocalMatch(", "readme_test.go"),
        ("typescript", "ts", "localMatch(", "tests/local_match.test.ts"),
        ("rust", "rust", "local_match(", "tests/all/local_match.rs"),
        ("java", "java", "localMatch(", "src/test/java/arbiter/client/LocalMatchTest.java"),
        ("cpp", "cpp", "arbiter::local_match(", "tests/test_local_match.cpp"),
    ],
)
def test_it_shows_a_local_match_that_a_test_of_the_client_plays(
    client: str, language: str, call: str, test: str
) -> None:
    shown = block(client, language, call).split()
    tested = (CLIENTS / client / test).read_text(encoding="utf-8").split()
    places = range(len(tested) - len(shown) + 1)
    assert any(tested[place : place + len(shown)] == shown for place in places), f"{test} does not have {shown}"
