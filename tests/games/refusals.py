"""What a game refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from arbiter.errors import Refusal


def refused(call: Callable[..., Any], *arguments: Any) -> Refusal:
    """Return the refusal of a call."""
    with pytest.raises(Refusal) as caught:
        call(*arguments)
    return caught.value
