"""What takes the place of a function in a test takes the arguments of that function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from inspect import Parameter
from typing import Any

import pytest

VARIABLE = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def check_arguments(patch: pytest.MonkeyPatch) -> None:
    """Assert that each function that was replaced can still be called as its callers call it.

    Otherwise a test of an injected fault finds that they can't, and not the fault.
    """
    for owner, name, before in patch._setattr:
        after = inspect.getattr_static(owner, name)
        if inspect.isfunction(before) and inspect.isfunction(after):
            assert takes(after, before), f"{name}{inspect.signature(before)} was replaced by {inspect.signature(after)}"


def takes(after: Callable[..., Any], before: Callable[..., Any]) -> bool:
    """Return whether a function takes all arguments of another one, and those that this needs alone."""
    every = [each for each in inspect.signature(before).parameters.values() if each.kind not in VARIABLE]
    needed = [each for each in every if each.default is Parameter.empty]
    try:
        for given in (every, needed):
            named = [each.name for each in given if each.kind is Parameter.KEYWORD_ONLY]
            inspect.signature(after).bind(*given[: len(given) - len(named)], **dict.fromkeys(named))
    except TypeError:
        return False
    return True
