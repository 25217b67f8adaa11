"""The metrics as a port. The use cases report what only they can measure. No method waits or fails."""

from __future__ import annotations

from typing import Final, Protocol

from arbiter.errors import Refusal


class Meter(Protocol):
    """Takes measurements of a running server. All methods are called on the event loop."""

    def refused(self, refusal: Refusal) -> None:
        """Count a refusal: the end of a call or stream, or the answer to an act or a move on a stream."""

    def loop_late(self, seconds: float) -> None:
        """Record how much later than planned the event loop ran something."""

    def job_done(self, job: str, seconds: float) -> None:
        """Record how long a job in a worker process took, from the request to its answer. job: its kind."""


class _NoMeter:
    def refused(self, refusal: Refusal) -> None:
        pass

    def loop_late(self, seconds: float) -> None:
        pass

    def job_done(self, job: str, seconds: float) -> None:
        pass


NO_METER: Final[Meter] = _NoMeter()
"""Ignores all measurements."""
