"""What operators measure, as a port. The use cases report what only they know; nothing here waits or fails."""

from __future__ import annotations

from typing import Final, Protocol

from arbiter.errors import Refusal


class Meter(Protocol):
    """Takes measurements of a running server. All methods are called on the event loop."""

    def refused(self, refusal: Refusal) -> None:
        """Count a refusal: the end of a call or stream, or the answer to an act or a move on a stream."""

    def loop_late(self, seconds: float) -> None:
        """Note how much later than it was due the event loop ran something."""

    def job_done(self, job: str, seconds: float) -> None:
        """Note how long a job in a worker process took, from the request to its answer, by the kind of the job."""


class _NoMeter:
    def refused(self, refusal: Refusal) -> None:
        pass

    def loop_late(self, seconds: float) -> None:
        pass

    def job_done(self, job: str, seconds: float) -> None:
        pass


NO_METER: Final[Meter] = _NoMeter()
"""Where nobody measures."""
