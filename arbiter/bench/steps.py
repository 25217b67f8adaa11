"""The longest step of the event loop: one call of what is scheduled, in which nothing else happens."""

from __future__ import annotations

import asyncio
from time import thread_time
from typing import Final

SHOWN: Final = 200  #: characters of what a step was


class LongestStep:
    """Notes the longest step of `asyncio`'s own event loop; another one has no steps of this kind."""

    def __init__(self) -> None:
        self._ms, self._what = 0.0, ""

    def install(self) -> None:
        """Measure all steps from now on."""
        run = asyncio.Handle._run

        def measured(handle: asyncio.Handle) -> None:
            began = thread_time()
            run(handle)
            took_ms = (thread_time() - began) * 1_000
            if took_ms > self._ms:
                self._ms, self._what = took_ms, repr(handle)[:SHOWN]

        asyncio.Handle._run = measured  # type: ignore[assignment, method-assign]

    def take(self) -> tuple[float, str]:
        """Return the processor time of the longest step, in milliseconds, and what it was; begin anew."""
        found = self._ms, self._what
        self._ms, self._what = 0.0, ""
        return found
