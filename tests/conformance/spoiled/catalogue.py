"""All faults: `FAULTS`, in which each is entered as its module is imported."""

from __future__ import annotations

from tests.conformance.spoiled import beginning, connections, ends, newer, refusals, turns  # noqa: F401
from tests.conformance.spoiled.fault import FAULTS

__all__ = ["FAULTS"]
