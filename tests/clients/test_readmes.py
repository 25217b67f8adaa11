"""Sentences that the README of every client has."""

from __future__ import annotations

import pytest

from tests.clients.toolchains import CLIENTS

ILLEGAL = "The fourth illegal or malformed move of a player in a match loses the match"


@pytest.mark.parametrize("client", ["python", "typescript", "go", "rust", "java", "cpp", "lines"])
def test_it_says_what_illegal_moves_cost(client: str) -> None:
    assert ILLEGAL in " ".join((CLIENTS / client / "README.md").read_text(encoding="utf-8").split())
