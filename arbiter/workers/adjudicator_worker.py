"""The installed adjudicator plug-ins, and Syzygy tables, in a worker process: a fault in one cannot harm the server."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Final

from arbiter.service.tournaments.adjudicators import (
    NO_TABLES,
    AdjudicatedEnd,
    Adjudicator,
    AdjudicatorFailed,
    Case,
    checked,
)
from arbiter.workers import syzygy
from arbiter.workers.pool import JobProcess
from arbiter.workers.process import Jobs

GROUP: Final = "arbiter.adjudicators"
LONGEST_S: Final = 5.0  #: time limit for one case; a plug-in process that takes longer is killed


def installed() -> dict[str, EntryPoint]:
    """Return the location of each plug-in, by name."""
    return {entry.name: entry for entry in entry_points(group=GROUP)}


class AdjudicatorProcess(JobProcess):
    """A worker process behind the port `arbiter.service.tournaments.adjudicators.Adjudicators`."""

    def __init__(self, longest_s: float = LONGEST_S, tables: Path | None = None) -> None:
        """Take the folder of Syzygy tables."""
        super().__init__("arbiter.workers.adjudicator_worker", "judges", longest_s, AdjudicatorFailed)
        self.names: Final = frozenset(installed())
        self._tables = tables

    @property
    def has_tables(self) -> bool:
        """Whether there are tables."""
        return self._tables is not None

    async def judge(self, name: str, case: Case) -> AdjudicatedEnd | None:
        verdict: Any = await self.ask("judge", (name, tuple(case)))
        return None if verdict is None else AdjudicatedEnd(*verdict)

    async def by_tables(self, position: str, ignore_50: bool) -> AdjudicatedEnd | None:
        if self._tables is None:
            raise AdjudicatorFailed(NO_TABLES)
        verdict: Any = await self.ask("tables", (self._tables, position, ignore_50))
        return None if verdict is None else AdjudicatedEnd(*verdict)


@cache
def _load(name: str) -> Adjudicator:
    plugin: Adjudicator = installed()[name].load()
    return plugin


def _judge(name: str, case: tuple[Any, ...]) -> tuple[int, str] | None:
    """Return a plug-in's verdict on a case, as plain values. The plug-in's own objects stay in this process."""
    verdict = checked(_load(name)(Case(*case)))
    return None if verdict is None else (verdict.winner, verdict.note)


def jobs() -> Jobs:
    """Return the job handlers, by kind."""
    return {"judge": _judge, "tables": syzygy.verdict}
