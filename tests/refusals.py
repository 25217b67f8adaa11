"""The refusal that a call has to end with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from arbiter.errors import Reason, Refusal


@contextmanager
def refusing(reason: Reason) -> Iterator[pytest.ExceptionInfo[Refusal]]:
    """Expect the block to be refused for a reason."""
    with pytest.raises(Refusal) as caught:
        yield caught
    assert caught.value.reason is reason


def refused(call: Callable[..., Any], *arguments: Any) -> Refusal:
    """Return the refusal of a call."""
    with pytest.raises(Refusal) as caught:
        call(*arguments)
    return caught.value
