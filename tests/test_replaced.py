"""A function that takes other arguments than the one that it replaces is found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.replaced import check_arguments


class Replaceable:
    def act(self, one: int, other: int = 0, *, named: str = "") -> None:
        """Be replaced."""


@pytest.mark.parametrize(
    "by",
    [
        lambda self, first, second=1, *, named: None,
        lambda self, first, *, named="": None,
        lambda self, first, second, third, *, named="": None,
        lambda self, first, second=1: None,
        lambda self, first, second, *, named="": None,
    ],
)
def test_other_arguments_are_found(by: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Replaceable, "act", by)
    with pytest.raises(AssertionError, match="was replaced by"):
        check_arguments(monkeypatch)


@pytest.mark.parametrize(
    "by", [lambda *_, **__: None, lambda self, first, second=1, third=2, *, named="", more="": None]
)
def test_the_same_arguments_are_not_and_more_may_be_possible(
    by: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Replaceable, "act", by)
    check_arguments(monkeypatch)
