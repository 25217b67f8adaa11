"""All faults: each module registers its own in `FAULTS` when it is imported."""

from __future__ import annotations

from tests.conformance.faulty_bot import beginning, connections, ends, newer, refusals, turns  # noqa: F401
from tests.conformance.faulty_bot.fault import FAULTS

__all__ = ["FAULTS"]
