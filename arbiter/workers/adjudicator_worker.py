"""Worker process for adjudicator plug-ins: `python -m arbiter.workers.adjudicator_worker` (`arbiter.workers.jobs`)."""

from __future__ import annotations

from functools import cache
from typing import Any

from arbiter.service.tournaments.adjudicators import Adjudicator, Case, checked
from arbiter.workers.adjudicators import installed
from arbiter.workers.jobs import work


@cache
def _load(name: str) -> Adjudicator:
    plugin: Adjudicator = installed()[name].load()
    return plugin


def judge(name: str, case: tuple[Any, ...]) -> tuple[int, str] | None:
    """Return a plug-in's verdict on a case, as plain values. The plug-in's own objects stay in this process."""
    verdict = checked(_load(name)(Case(*case)))
    return None if verdict is None else (verdict.winner, verdict.note)


if __name__ == "__main__":
    work({"judge": judge})
