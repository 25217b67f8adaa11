"""Worker process for adjudicator plug-ins: `python -m arbiter.runtime.adjudicator_worker` (`arbiter.runtime.jobs`)."""

from __future__ import annotations

from functools import cache
from typing import Any

from arbiter.runtime.adjudicators import installed
from arbiter.runtime.jobs import work
from arbiter.service.tournaments.adjudicators import Adjudicator, Case, checked


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
