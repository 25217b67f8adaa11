"""Validators of options are kept: the command line makes them in each call, which takes a third of a test's time.

A real command is called once in its process.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, TypeVar

import pydantic
import pytest
from pydantic import TypeAdapter

T = TypeVar("T")
_made = cache(TypeAdapter)


class Kept(TypeAdapter[T]):  # type: ignore[misc]  # it is final
    """Stands for pydantic's class; makes the validator of a type once."""

    def __new__(cls, *given: Any, **more: Any) -> Any:
        """Return the validator that was made for the same type."""
        return _made(*given, **more)


@pytest.fixture(scope="session", autouse=True)
def _validators_are_kept() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pydantic, "TypeAdapter", Kept)
        yield
